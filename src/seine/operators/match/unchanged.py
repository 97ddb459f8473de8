"""Retractions that cancel out: a group changed, but in no column that a query reads.

Queries that want different functions of the same groups share an aggregate. When a function
of another query changes, the row ends and begins anew at one instant; a query that reads only what is the
same before and after must get neither the end nor the beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.evaluate.data_columns import DataColumns
from seine.rows.grouping import group_rows
from seine.rows.hashing import hash_columns


class ChangedRows(NamedTuple):
    """Rows of a batch and the selections that they satisfy, with the instants of their change."""

    columns: DataColumns
    times: IntArray
    rows: IntArray
    picks: IntArray


def changed(plus: ChangedRows, minus: ChangedRows, read: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The places in both whose row does not end and begin at one instant, equal in all columns of `read`."""
    numbers = [_both(plus.times[plus.rows], minus.times[minus.rows]), _both(plus.picks, minus.picks)]
    columns = [
        pa.concat_arrays(
            [plus.columns[i].take(pa.array(plus.rows)), minus.columns[i].take(pa.array(minus.rows))]
        )
        for i in read
    ]
    count, begun = len(numbers[0]), len(plus.rows)
    everything = [*numbers, *columns]
    groups = group_rows(hash_columns(everything, count), everything)
    label = np.empty(count, np.int64)
    label[groups.order] = groups.labels()
    begins, ends = np.bincount(label[:begun]), np.bincount(label[begun:])
    size = max(len(begins), len(ends))
    void = np.minimum(_padded(begins, size), _padded(ends, size))
    return (
        np.flatnonzero(_rank(label[:begun]) >= void[label[:begun]]),
        np.flatnonzero(_rank(label[begun:]) >= void[label[begun:]]),
    )


def _both(one: IntArray, other: IntArray) -> pa.Array:
    return pa.array(np.concatenate([one, other]), pa.int64())


def _padded(counts: IntArray, size: int) -> IntArray:
    return np.pad(counts, (0, size - len(counts)))


def _rank(labels: IntArray) -> IntArray:
    """For each place, how many before it have the same label."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    first = np.searchsorted(ordered, ordered)
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - first
    return rank
