"""A multiset of values for each group, in keyed state: how often each value is alive.

DISTINCT and MIN/MAX need to know when a value appears in a group (its count leaves 0) and when it vanishes
(its count becomes 0 again). The counts are a keyed table by (group number, value); the hash is composed so
that the values of one group are neighbours and can be scanned.

    hash = group number (31 bits) | value hash (32 bits)      _g    _n   v0
                                                              17     2   'A'
                                                              17     1   'B'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.rows.column_arrays import ColumnArray, as_arrow, none_if_all, take_values
from seine.rows.grouping import Groups, group_rows
from seine.rows.hashing import hash_columns

_VALUE_BITS = np.int64(2**32 - 1)  # the mask of the value's part of a hash
_GROUP_BITS = np.int64(2**31 - 1)  # the mask of a group number before it is shifted into a hash


@dataclass(frozen=True)
class ValueStep:
    """The distinct (group, value) pairs that a step touches.

    Per pair: `values`, `owner` (the group), `before` (its count before the step), and `steady` (whether it is
    alive at every place of its group). Pair moved[i] appears or vanishes (moved_by[i] is +1 or -1) at place
    moved_at[i], ascending. Pair present[i] is alive at the places [since[i], until[i]). The count of pair
    changed[i] goes from count_before[i] to count[i] at changed_at[i]; places of a pair ascend. `scan` gives
    all live values of given groups after the step, touched or not: their groups, values and counts.
    """

    values: list[pa.Array]
    owner: IntArray
    before: IntArray
    steady: BoolArray
    moved: IntArray
    moved_at: IntArray
    moved_by: IntArray
    present: IntArray
    since: IntArray
    until: IntArray
    changed: IntArray
    changed_at: IntArray
    count_before: IntArray
    count: IntArray
    scan: Callable[[IntArray], tuple[IntArray, pa.Array, IntArray]]


class ValueTable:
    """The counts of live (group, value) pairs, kept under `store.head[name]`."""

    def __init__(self, store: Store, name: str, types: Sequence[pa.DataType]) -> None:
        names = [f"v{i}" for i in range(len(types))]
        fields = [(HASH, pa.int64()), ("_g", pa.int64()), ("_n", pa.int64()), *zip(names, types, strict=True)]
        self._schema = pa.schema(fields)
        self._last = names[-1]
        self._table = KeyedTable(store, name, self._schema, ["_g", *names], live="_n")

    def advance(
        self,
        layout: ChangeLayout,
        numbers: IntArray,
        places: IntArray,
        weights: IntArray,
        values: list[pa.Array],
    ) -> ValueStep:
        """Apply the changes of a step; `numbers` are the groups' numbers, which are never used twice."""
        group = layout.group[places]
        number = numbers[group]
        hashes = _hash(number, hash_columns(values, len(places)))
        pairs = group_rows(hashes, [number, *values])
        firsts = pairs.firsts
        hashes, number, kept = (
            hashes.take(firsts),
            number.take(firsts),
            [take_values(v, firsts) for v in values],
        )
        before = self._table.find(hashes, [number, *kept]).numbers("_n")
        counts = _counts(pairs, places, weights, before)
        changed = (counts.final != before).nonzero()[0]
        if len(changed):
            columns: list[ColumnArray] = [hashes, number, counts.final, *kept]
            arrays = [as_arrow(take_values(column, none_if_all(changed, len(hashes)))) for column in columns]
            self._table.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        scan = self._scanner(numbers)
        return _value_step(layout, kept, group.take(firsts), before, counts, scan)

    def forget(self, numbers: IntArray) -> None:
        """Delete all values of the given groups."""
        low = np.unique((numbers & _GROUP_BITS) << 32)
        rows = self._table.scan(low, low | _VALUE_BITS)
        gone = rows.take(pa.array(np.flatnonzero(np.isin(rows["_g"].to_numpy(), numbers))))
        place = self._schema.get_field_index("_n")
        self._table.write(gone.set_column(place, "_n", pa.array(np.zeros(gone.num_rows, np.int64))))

    def _scanner(self, numbers: IntArray) -> Callable[[IntArray], tuple[IntArray, pa.Array, IntArray]]:
        def scan(groups: IntArray) -> tuple[IntArray, pa.Array, IntArray]:
            """All live values of the given groups: group, last column of the value, how often it is there."""
            if not len(groups):
                return groups, pa.nulls(0, self._schema.field(self._last).type), groups
            wanted = groups[np.argsort(numbers[groups])]
            low = np.unique((numbers[wanted] & _GROUP_BITS) << 32)
            rows = self._table.scan(low, low | _VALUE_BITS)
            scanned = rows["_g"].to_numpy()
            at = np.minimum(np.searchsorted(numbers[wanted], scanned), len(wanted) - 1)
            wanted_row = numbers[wanted][at] == scanned
            counts = rows["_n"].to_numpy()[wanted_row]
            return wanted[at][wanted_row], rows[self._last].filter(pa.array(wanted_row)), counts

        return scan


@dataclass(frozen=True)
class _PairCounts:
    """Whether a pair is alive before and after each place at which its count changes; `final` is per pair."""

    pair: IntArray
    place: IntArray
    alive: BoolArray
    was_alive: BoolArray
    count_before: IntArray
    count: IntArray
    final: IntArray


def _hash(number: IntArray, hashes: IntArray) -> IntArray:
    """The group number, then the value's hash: the values of a group are neighbours."""
    return ((number & _GROUP_BITS) << 32) | (hashes & _VALUE_BITS)


def _counts(pairs: Groups, places: IntArray, weights: IntArray, before: IntArray) -> _PairCounts:
    """The counts of all pairs along the places of the step: a segmented prefix sum of weights."""
    pair, place = pairs.labels(), places[pairs.order]
    sums = np.cumsum(weights[pairs.order])
    base = before - (sums - weights[pairs.order])[pairs.starts]
    ends = np.ones(len(pair), bool)
    ends[:-1] = (pair[1:] != pair[:-1]) | (place[1:] != place[:-1])
    pair, place, counts = pair[ends], place[ends], (sums + base[pair])[ends]
    alive = counts > 0
    opens = np.ones(len(pair), bool)
    opens[1:] = pair[1:] != pair[:-1]
    was = np.concatenate([np.zeros(1, bool), alive[:-1]]) if len(alive) else alive
    closes = np.append(opens[1:], True)[: len(pair)]
    previous = np.where(opens, before[pair], np.append(0, counts[:-1])[: len(pair)])
    return _PairCounts(
        pair, place, alive, np.where(opens, (before > 0)[pair], was), previous, counts, counts[closes]
    )


def _value_step(
    layout: ChangeLayout,
    values: list[pa.Array],
    owner: IntArray,
    before: IntArray,
    counts: _PairCounts,
    scan: Callable[[IntArray], tuple[IntArray, pa.Array, IntArray]],
) -> ValueStep:
    was_alive = before > 0
    flips = np.flatnonzero(counts.alive != counts.was_alive)
    pair, place, up = counts.pair[flips], counts.place[flips], counts.alive[flips]
    old, kept = was_alive.nonzero()[0], np.flatnonzero(counts.final > 0)
    starts = _by_pair(np.append(old, pair[up]), np.append(layout.first[owner[old]], place[up]))
    ends = _by_pair(np.append(pair[~up], kept), np.append(place[~up], layout.last[owner[kept]] + 1))
    steady = was_alive.copy()
    steady[pair[~up]] = False
    order = np.argsort(place, kind="stable")
    by = np.where(up, 1, -1)[order]
    return ValueStep(
        values,
        owner,
        before,
        steady,
        pair[order],
        place[order],
        by,
        starts[0],
        starts[1],
        ends[1],
        counts.pair,
        counts.place,
        counts.count_before,
        counts.count,
        scan,
    )


def _by_pair(pair: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort((place, pair))
    return pair[order], place[order]
