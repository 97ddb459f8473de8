"""Punctuations that UNIQUE columns imply: a tuple says that none of its values comes again.

    CREATE STREAM item (itemid BIGINT, ...) ... UNIQUE (itemid)

    line 7: {"itemid": 1, ...}   implies, behind it, {"@punctuate": {"itemid": 1}}

So a bid is freed as soon as its item has come, with nothing said by the source.

Cites: SAFETY 1 (Example 1: each itemid is unique in the item stream)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.intake.parsed import ParsedLines, null_places
from seine.intake.record_layout import RecordLayout


def with_implied(
    layout: RecordLayout, unique: Sequence[int], tuples: ParsedLines, punctuations: ParsedLines
) -> ParsedLines:
    """Punctuations and those that tuples imply by the schemes `unique`, in the order of lines."""
    parts = [punctuations, *(_implied(layout, scheme, tuples) for scheme in unique)]
    numbers = np.concatenate([part.numbers for part in parts])
    whole = ParsedLines(
        pa.concat_batches([part.rows for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.time for part in parts]),
        numbers,
    )
    return whole.take(np.argsort(numbers, kind="stable"))


def _implied(layout: RecordLayout, scheme: int, tuples: ParsedLines) -> ParsedLines:
    bound = layout.schemes[scheme].columns
    tuples = tuples.take(all_given([tuples.rows.column(index) for index in bound]))
    columns = [
        tuples.rows.column(index) if index in bound else _nulls(layout, index, len(tuples))
        for index in layout.punctuated
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=layout.punctuated_schema)
    return ParsedLines(rows, np.full(len(tuples), scheme, np.int16), tuples.time, tuples.numbers)


def _nulls(layout: RecordLayout, index: int, count: int) -> pa.Array:
    return pa.nulls(count, layout.fields[index].type.arrow())


def all_given(columns: Sequence[pa.Array]) -> BoolArray:
    """A mask of the rows without NULL: a row with one repeats nothing and claims nothing, as in SQL."""
    missing: BoolArray = np.logical_or.reduce([null_places(column) for column in columns])
    return ~missing


def exceeded_before(codes: IntArray, limits: IntArray, values: IntArray) -> BoolArray:
    """Which rows have a value below the largest limit of an earlier row with the same code.

    >>> codes, limits = np.array([1, 2, 1, 1]), np.array([9, 9, 5, 9])
    >>> exceeded_before(codes, limits, np.array([0, 0, 4, 9])).tolist()
    [False, False, True, False]
    """
    order = np.argsort(codes, kind="stable")
    grouped, ranks = codes[order], np.unique(limits, return_inverse=True)
    # Codes are dense and ascend, so adding a multiple of them makes one running maximum restart at each.
    numbers = np.unique(grouped, return_inverse=True)[1].reshape(-1) * len(ranks[0])
    running = np.maximum.accumulate(numbers + ranks[1].reshape(-1)[order])
    exceeded = np.zeros(len(codes), bool)
    same = grouped[1:] == grouped[:-1]
    before = ranks[0][running[:-1] - numbers[:-1]]
    exceeded[order[1:]] = same & (values[order[1:]] < before)
    return exceeded
