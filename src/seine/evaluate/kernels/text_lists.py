"""Arrays of texts as flat columns: for each item the row that it is in and the rank of its text.

rows     ["b", "a", "b"]  NULL  ["c"]
items    b a b c          parents 0 0 0 2     codes 1 0 1 2 (ranks; -1 is NULL)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray

TEXTS = pa.list_(pa.string())


@dataclass(frozen=True)
class TextLists:
    """The items of a column of arrays: `known` are the rows that are not NULL."""

    known: BoolArray
    parents: IntArray
    items: pa.Array

    @staticmethod
    def of(array: pa.Array) -> TextLists:
        """The items of an array of lists."""
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        known = pc.is_valid(array).to_numpy(zero_copy_only=False)
        return TextLists(known, np.repeat(np.arange(len(array)), lengths), array.flatten())

    def where(self, kept: BoolArray) -> TextLists:
        """The items of a mask."""
        return TextLists(self.known, self.parents[kept], self.items.filter(pa.array(kept)))

    def taken(self, order: IntArray) -> TextLists:
        """Items in another order, some left out; those of a row stay together."""
        return TextLists(self.known, self.parents[order], self.items.take(pa.array(order)))

    @property
    def places(self) -> IntArray:
        """The place of each item in its row, from 0 on."""
        return np.arange(len(self.parents)) - self.starts[self.parents]

    @property
    def starts(self) -> IntArray:
        """Where the items of each row begin, and where the last ones end."""
        counts = np.bincount(self.parents, minlength=len(self.known))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def lists(self) -> pa.Array:
        """The column of arrays."""
        offsets = pa.array(self.starts.astype(np.int32))
        return pa.ListArray.from_arrays(offsets, self.items, mask=pa.array(~self.known))

    def codes(self, *others: pa.Array) -> list[IntArray]:
        """The ranks of the items, and of other texts, among all of them; of NULL -1."""
        everything = pa.concat_arrays([self.items, *others])
        encoded = pc.dictionary_encode(everything)
        ranks = np.empty(len(encoded.dictionary), np.int64)
        ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
        at = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        codes = np.where(at < 0, -1, np.append(ranks, -1)[at])
        return np.split(codes, np.cumsum([len(self.items), *map(len, others)])[:-1])


def together(lists: Sequence[TextLists]) -> TextLists:
    """The items of several columns, those of a row one after the other; NULL where one is."""
    known: BoolArray = np.logical_and.reduce([one.known for one in lists])
    parents = np.concatenate([one.parents for one in lists])
    order = np.argsort(parents, kind="stable")
    order = order[known[parents[order]]]
    items = pa.concat_arrays([one.items for one in lists]).take(pa.array(order))
    return TextLists(known, parents[order], items)


def first_of_each(parents: IntArray, codes: IntArray) -> BoolArray:
    """The mask of the items that are the first of their text in their row."""
    order = np.lexsort((codes, parents))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (parents[order][1:] != parents[order][:-1]) | (codes[order][1:] != codes[order][:-1])
    mask = np.zeros(len(order), bool)
    mask[order[is_new]] = True
    return mask
