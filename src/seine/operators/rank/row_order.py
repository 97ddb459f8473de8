"""The order of rows in their partitions: the best first, and rows that are equal in everything are one.

Ties of ORDER BY go by event time, then by columns from left to right, NULL first; never by arrival.

    ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC)

    k  v  ts             partition   peers     entry
    a  9  1              0           0         0
    a  7  2  (twice)     0           1         1        two rows that nothing tells apart
    a  7  4              0           1         2
    b  9  1              1           2         3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.rank_plan import Ordering
from seine.rows.grouping import as_mask, dense_ranks, group_rows

_LAST = 2**62  # the code of a NULL that comes last


@dataclass(frozen=True)
class RowOrder:
    """Entries, different rows in order; `entry` is that of each given row, `firsts` a row of each entry.

    Of each entry there is its partition and its peers (those with equal values of ORDER BY), both ascending.
    """

    entry: IntArray
    firsts: IntArray
    partition: IntArray
    peers: IntArray


@dataclass(frozen=True)
class RowOrdering:
    """How rows are ordered: by the columns of ORDER BY, the start of their lives if `time` names it, ties."""

    partition: tuple[str, ...]
    order: tuple[Ordering, ...]
    time: str | None
    ties: tuple[str, ...]

    def of(self, rows: pa.RecordBatch, hashes: IntArray) -> RowOrder:
        """The order of rows, given the hashes of their partitions."""
        groups = group_rows(hashes, [rows[name] for name in self.partition])
        partition = np.empty(rows.num_rows, np.int64)
        partition[groups.order] = groups.labels()
        codes = [partition, *(_codes(rows[f"c{one.column}"], one) for one in self.order)]
        times = [] if self.time is None else [rows[self.time].to_numpy()]
        order = np.lexsort([*reversed([*codes, *times])])
        peers = _equal_neighbours(codes, order)
        same = peers & _equal_neighbours(times, order)
        if same.any():
            order, same = self._break_ties(rows, order, same)
        new = np.append(True, ~same)[: len(order)]
        entry = np.empty(len(order), np.int64)
        entry[order] = np.cumsum(new) - 1
        firsts = order[new]
        numbers = np.cumsum(np.append(True, ~peers)[: len(order)]) - 1
        return RowOrder(entry, firsts, partition[firsts], numbers[new])

    def _break_ties(
        self, rows: pa.RecordBatch, order: IntArray, same: BoolArray
    ) -> tuple[IntArray, BoolArray]:
        """The order with rows sorted that were equal so far, and who of neighbours stays equal."""
        run = np.append(0, np.cumsum(~same))
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        chosen = pa.array(order[tied])
        codes = [run[tied], *(_codes(rows[name].take(chosen), _PLAIN) for name in self.ties)]
        within = np.lexsort([*reversed(codes)])
        order = order.copy()
        order[tied] = order[tied[within]]
        equal = np.zeros(len(order), bool)
        equal[tied[1:]] = _equal_neighbours(codes, within) & (np.diff(tied) == 1)
        return order, same & equal[1:]


_PLAIN = Ordering(0, False, True)


def _codes(values: pa.Array, order: Ordering) -> IntArray:
    """Numbers in the order of values."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    codes = dense_ranks(values)[0]
    if order.descending:
        codes = -codes
    if values.null_count:
        codes[as_mask(values.is_null())] = -_LAST if order.nulls_first else _LAST
    return codes


def _equal_neighbours(columns: Sequence[AnyArray], order: IntArray) -> BoolArray:
    """Which rows, in an order, equal the next one in all columns."""
    same = np.ones(max(len(order) - 1, 0), bool)
    for column in columns:
        ordered = column.take(order)
        same &= ordered[1:] == ordered[:-1]
    return same
