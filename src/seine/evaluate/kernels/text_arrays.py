"""Kernels of arrays of texts, which SPLIT, REGEXP_EXTRACT_ALL, JSON_OBJECT_KEYS and ARRAY make.

Arrays of texts as flat columns: for each item the row that it is in and the rank of its text.

rows     ["b", "a", "b"]  NULL  ["c"]
items    b a b c          parents 0 0 0 2     codes 1 0 1 2 (ranks; -1 is NULL)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    as_array,
    build,
    byte_lengths,
    row_count,
    valid,
    values,
)
from seine.evaluate.kernels.spending import spend
from seine.rows.column_arrays import as_lists
from seine.rows.json_values import json_strings

_ITEM_BYTES = 24  # of an item beside its text: its place, its row, and its offset
TEXTS = pa.list_(pa.string())


def _columns(args: Sequence[Datum]) -> list[pa.Array]:
    size = row_count(args)
    return [as_array(arg, size) for arg in args]


def _any_of(lists: TextLists, mask: BoolArray) -> BoolArray:
    """The rows of which an item is in the mask."""
    rows = np.zeros(len(lists.known), bool)
    rows[lists.parents[mask]] = True
    return rows


def _array(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY(a, b, ...)."""
    columns = _columns(args)
    size = len(columns[0])
    order = np.arange(size * len(columns)).reshape(len(columns), size).T.ravel()
    items = pa.concat_arrays(columns).take(pa.array(order))
    return TextLists(np.ones(size, bool), np.repeat(np.arange(size), len(columns)), items).lists()


def _repeated(_: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_REPEAT(text, n): also of NULL; NULL without n."""
    texts, times = _columns(args)
    counts = np.maximum(values(times), 0).astype(np.int64)
    known = np.broadcast_to(valid(times), len(texts))
    sizes = np.where(known, byte_lengths(texts) + _ITEM_BYTES, 0)
    spend(size=sum(map(mul, counts.tolist(), sizes.tolist())))
    parents = np.repeat(np.arange(len(texts)), np.where(known, counts, 0))
    return TextLists(known, parents, texts.take(pa.array(parents))).lists()


def _size(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.list_value_length(argument(args))


def _contains(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_CONTAINS: NULL if the text is not there but a NULL is."""
    array, text = _columns(args)
    lists = TextLists.of(array)
    codes, wanted = lists.codes(text)
    has = _any_of(lists, codes == wanted[lists.parents])
    unsure = _any_of(lists, codes < 0) & ~has
    return build(call.type, has, all_valid([array, text]) & ~unsure, len(array))


def _position(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_POSITION: of the first equal item, from 1 on; 0 if there is none."""
    array, text = _columns(args)
    lists = TextLists.of(array)
    codes, wanted = lists.codes(text)
    equal = np.flatnonzero(codes == wanted[lists.parents])[::-1]
    positions = np.zeros(len(array), np.int64)
    positions[lists.parents[equal]] = lists.places[equal] + 1
    return build(call.type, positions, all_valid([array, text]), len(array))


def _item(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ELEMENT_AT, which counts from 1 or from the end, and GET, from 0; NULL where there is none."""
    array, position = _columns(args)
    lists = TextLists.of(array)
    starts, at = lists.starts, values(position).astype(np.int64)
    first, end = starts[:-1], starts[1:]
    if call.name == "get":
        place = first + at
    else:
        place = np.where(at > 0, first + at - 1, np.where(at < 0, end + at, -1))
    inside = (place >= first) & (place < end) & all_valid([array, position])
    return lists.items.take(pa.array(np.where(inside, place, 0), mask=~inside))


def _join(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_JOIN(array, separator [, instead of NULL]): NULLs are left out, or replaced."""
    array, separator, *instead = _columns(args)
    lists = TextLists.of(array)
    if instead:
        lacking = lists.items.is_null().to_numpy(zero_copy_only=False)
        parents = lists.parents[lacking]
        spend(size=int(byte_lengths(instead[0])[parents].sum()))
        items = pc.replace_with_mask(lists.items, pa.array(lacking), instead[0].take(pa.array(parents)))
        lists = TextLists(lists.known, lists.parents, items)
        lists = TextLists(
            lists.known & np.broadcast_to(valid(instead[0]), len(array)), lists.parents, lists.items
        )
    lists = lists.where(pc.is_valid(lists.items).to_numpy(zero_copy_only=False))
    spend(size=int((byte_lengths(separator) * np.diff(lists.starts)).sum()))
    return pc.binary_join(lists.lists(), separator)


def _changed(function: Callable[[TextLists], TextLists]) -> Kernel:
    return lambda _, args: function(TextLists.of(_columns(args)[0])).lists()


def _distinct(lists: TextLists) -> TextLists:
    return lists.where(first_of_each(lists.parents, lists.codes()[0]))


def _compact(lists: TextLists) -> TextLists:
    return lists.where(lists.items.is_valid().to_numpy(zero_copy_only=False))


def _reversed(lists: TextLists) -> TextLists:
    return lists.taken(np.lexsort((-lists.places, lists.parents)))


def _sorted(lists: TextLists) -> TextLists:
    """ARRAY_SORT: ascending, NULLs last."""
    codes = lists.codes()[0]
    return lists.taken(np.lexsort((np.where(codes < 0, len(codes), codes), lists.parents)))


def _sort_array(_: Call, args: Sequence[Datum]) -> pa.Array:
    """SORT_ARRAY(array [, ascending]): NULLs first if ascending, else last."""
    array, *ascending = _columns(args)
    lists = TextLists.of(array)
    up = values(ascending[0])[lists.parents] if ascending else np.ones(len(lists.parents), bool)
    known = lists.known & (np.broadcast_to(valid(ascending[0]), len(array)) if ascending else True)
    codes = lists.codes()[0]
    order = np.lexsort((np.where(up, codes, -codes), lists.parents))
    return TextLists(known, lists.parents, lists.taken(order).items).lists()


def _extreme(greatest: bool) -> Kernel:
    """ARRAY_MAX and ARRAY_MIN, which skip NULLs."""

    def kernel(_: Call, args: Sequence[Datum]) -> pa.Array:
        lists = _compact(TextLists.of(_columns(args)[0]))
        codes = lists.codes()[0]
        order = np.lexsort(
            (codes if greatest else -codes, lists.parents)
        )  # of a row the last is written last
        at = np.full(len(lists.known), -1, np.int64)
        at[lists.parents[order]] = order
        return lists.items.take(pa.array(np.maximum(at, 0), mask=at < 0))

    return kernel


def _remove(_: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_REMOVE: without the items that equal a text; NULLs stay."""
    array, text = _columns(args)
    lists = TextLists.of(array)
    codes, wanted = lists.codes(text)
    kept = lists.where(codes != wanted[lists.parents])
    return TextLists(all_valid([array, text]) & kept.known, kept.parents, kept.items).lists()


def _slice(_: Call, args: Sequence[Datum]) -> pa.Array:
    """SLICE(array, start, length): from 1 on, or from the end; NULL for start 0 or a negative length."""
    array, start, length = _columns(args)
    lists = TextLists.of(array)
    at, count = (values(arg).astype(np.int64) for arg in (start, length))
    sizes = np.diff(lists.starts)
    first = np.where(at > 0, at - 1, sizes + at)
    places, parents = lists.places, lists.parents
    inside = (places >= first[parents]) & (places < (first + count)[parents]) & (first >= 0)[parents]
    kept = lists.where(inside)
    known = all_valid([array, start, length]) & (at != 0) & (count >= 0)
    return TextLists(np.broadcast_to(known, len(array)), *_within(known, kept)).lists()


def _within(known: AnyArray, lists: TextLists) -> tuple[AnyArray, pa.Array]:
    """The items of known rows."""
    kept = np.broadcast_to(known, len(lists.known))[lists.parents]
    return lists.parents[kept], lists.items.filter(pa.array(kept))


def _with_item(at_end: bool) -> Kernel:
    """ARRAY_APPEND and ARRAY_PREPEND, also of NULL."""

    def kernel(_: Call, args: Sequence[Datum]) -> pa.Array:
        array, text = _columns(args)
        single = TextLists(np.ones(len(array), bool), np.arange(len(array)), text)
        lists = TextLists.of(array)
        return together([lists, single] if at_end else [single, lists]).lists()

    return kernel


def _concat(_: Call, args: Sequence[Datum]) -> pa.Array:
    return together([TextLists.of(array) for array in _columns(args)]).lists()


def _united(_: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAY_UNION: the distinct items of both."""
    return _distinct(together([TextLists.of(array) for array in _columns(args)])).lists()


def _compared(wanted: bool) -> Kernel:
    """ARRAY_INTERSECT and ARRAY_EXCEPT: distinct items of the first that are, or are not, in the second."""

    def kernel(_: Call, args: Sequence[Datum]) -> pa.Array:
        left, right = (TextLists.of(array) for array in _columns(args))
        mine, theirs = left.codes(right.items)
        kept = first_of_each(left.parents, mine) & (_in_both(left, mine, right, theirs) == wanted)
        known = left.known & right.known
        kept &= known[left.parents]
        chosen = left.where(kept)
        return TextLists(known, chosen.parents, chosen.items).lists()

    return kernel


def _in_both(left: TextLists, mine: AnyArray, right: TextLists, theirs: AnyArray) -> BoolArray:
    """The items of the left that are in the same row of the right."""
    width = max(mine.max(initial=-1), theirs.max(initial=-1)) + 2
    both: BoolArray = np.isin(left.parents * width + mine + 1, right.parents * width + theirs + 1)
    return both


def _overlap(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ARRAYS_OVERLAP: NULL if no item is common, both have items, and one has a NULL."""
    left, right = (TextLists.of(array) for array in _columns(args))
    mine, theirs = left.codes(right.items)
    common = _any_of(left, _in_both(left, mine, right, theirs) & (mine >= 0))
    filled = (np.diff(left.starts) > 0) & (np.diff(right.starts) > 0)
    unsure = ~common & filled & (_any_of(left, mine < 0) | _any_of(right, theirs < 0))
    return build(call.type, common, left.known & right.known & ~unsure, len(left.known))


def _json(call: Call, args: Sequence[Datum]) -> pa.Array:
    """An array as JSON, as records have it."""
    lists = TextLists.of(argument(args))
    texts = pc.fill_null(json_strings(lists.items), "null")
    separator = ", " if call.name == "array_record" else ","
    inner = pc.binary_join(TextLists(lists.known, lists.parents, texts).lists(), separator)
    return pc.binary_join_element_wise("[", inner, "]", "")


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
        return TextLists(known, np.repeat(np.arange(len(array)), lengths), as_lists(array).flatten())

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


KERNELS: dict[str, Kernel] = {
    "array": _array,
    "array_repeat": _repeated,
    "size": _size,
    "array_contains": _contains,
    "array_position": _position,
    "element_at": _item,
    "get": _item,
    "array_join": _join,
    "array_distinct": _changed(_distinct),
    "array_compact": _changed(_compact),
    "array_reverse": _changed(_reversed),
    "array_sort": _changed(_sorted),
    "sort_array": _sort_array,
    "array_max": _extreme(True),
    "array_min": _extreme(False),
    "array_remove": _remove,
    "slice": _slice,
    "array_append": _with_item(True),
    "array_prepend": _with_item(False),
    "array_concat": _concat,
    "array_union": _united,
    "array_intersect": _compared(True),
    "array_except": _compared(False),
    "arrays_overlap": _overlap,
    "array_record": _json,
    "array_json": _json,
}
