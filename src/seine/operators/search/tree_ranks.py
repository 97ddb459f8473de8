"""Which trees are better: fewer tuples, then a later start, then the text of the row.

Rows of trees have the columns TAG, COUNT (how many are wanted), PER, and the three texts of a record. The
texts are compared one after the other, which is the order of the whole text: no array begins another one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.rows.delta import data_names

TAG, COUNT, PER, TUPLES, EDGES, MATCHES = DATA = tuple(data_names(6))
TEXTS = (TUPLES, EDGES, MATCHES)


def sizes_of(edges: pa.Array) -> pa.Array:
    """How many tuples trees have: one more than edges, and an edge is a pair in brackets.

    >>> sizes_of(pa.array(["[]", "[[0, 1], [1, 2]]"])).to_pylist()
    [1, 3]
    """
    return pc.count_substring(edges, "[")


def best_first(rows: pa.RecordBatch, groups: Sequence[str]) -> tuple[IntArray, IntArray]:
    """The order of rows by group, the better ones of a group first, and the rank of each in its group."""
    starts = pc.negate(rows["_s"])
    table = pa.table(
        {
            **{name: rows[name] for name in groups},
            "size": sizes_of(rows[EDGES]),
            "start": starts,
            **{name: rows[name] for name in TEXTS},
        }
    )
    keys = [(name, "ascending") for name in (*groups, "size", "start", *TEXTS)]
    order: IntArray = pc.sort_indices(table, sort_keys=keys).to_numpy().astype(np.int64)
    first = np.zeros(len(order), bool)
    first[:1] = True
    for name in groups:
        values = rows[name].to_numpy()[order]
        first[1:] |= values[1:] != values[:-1]
    begins = np.flatnonzero(first)
    ranks: IntArray = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return order, ranks
