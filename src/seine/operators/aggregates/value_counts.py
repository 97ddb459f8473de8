"""How often each value is alive in each group, and when it appears and vanishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.rows.cheap_columns import arrow, pick, unless_all
from seine.rows.grouping import Groups, group_rows
from seine.rows.hashing import hash_columns

_LOW = np.int64(2**32 - 1)
_HIGH = np.int64(2**31 - 1)


@dataclass(frozen=True)
class ValueStep:
    """The distinct (group, value) pairs that a step touched.

    `values`, `owner` (the group) and `before` (how often it was alive) are per pair; pair `moved`
    appears or vanishes (`moved_by` +1 or -1) at place `moved_at`, ascending; pair `present` is alive at
    places [since, until); pairs of `steady` are alive at every place of their group.
    """

    values: list[pa.Array]
    owner: IntArray
    before: IntArray
    steady: BoolArray
    moved: IntArray
    moved_at: IntArray
    moved_by: IntArray
    present: BoolArray
    since: IntArray
    until: IntArray
    scan: Callable[[IntArray], tuple[IntArray, pa.Array]]


class ValueTable:
    """Counts of live (group, value) pairs, kept by the group's number and the value's hash."""

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
        """Count the changes in; `numbers` are the groups' numbers, unique for ever."""
        group = layout.group[places]
        number = numbers[group]
        hashes = _hash(number, hash_columns(values, len(places)))
        pairs = group_rows(hashes, [number, *values])
        firsts = pairs.firsts
        hashes, number, kept = hashes.take(firsts), number.take(firsts), [pick(v, firsts) for v in values]
        before = self._table.find(hashes, [number, *kept]).numbers("_n")
        entries = _entries(pairs, places, weights, before)
        changed = (entries.final != before).nonzero()[0]
        if len(changed):
            columns = [hashes, number, entries.final, *kept]
            arrays = [arrow(pick(column, unless_all(changed, len(hashes)))) for column in columns]
            self._table.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        scan = self._scanner(numbers)
        return _value_step(layout, kept, group.take(firsts), before, entries, scan)

    def forget(self, numbers: IntArray) -> None:
        """Forget all values of some groups."""
        low = np.unique((numbers & _HIGH) << 32)
        rows = self._table.scan(low, low | _LOW)
        gone = rows.take(pa.array(np.flatnonzero(np.isin(rows["_g"].to_numpy(), numbers))))
        place = self._schema.get_field_index("_n")
        self._table.write(gone.set_column(place, "_n", pa.array(np.zeros(gone.num_rows, np.int64))))

    def _scanner(self, numbers: IntArray) -> Callable[[IntArray], tuple[IntArray, pa.Array]]:
        def scan(groups: IntArray) -> tuple[IntArray, pa.Array]:
            """All live values of some groups: the group of each, and the last column of the value."""
            if not len(groups):
                return groups, pa.nulls(0, self._schema.field(self._last).type)
            wanted = groups[np.argsort(numbers[groups])]
            low = np.unique((numbers[wanted] & _HIGH) << 32)
            rows = self._table.scan(low, low | _LOW)
            found = rows["_g"].to_numpy()
            at = np.minimum(np.searchsorted(numbers[wanted], found), len(wanted) - 1)
            ours = numbers[wanted][at] == found
            return wanted[at][ours], rows[self._last].filter(pa.array(ours))

        return scan


@dataclass(frozen=True)
class _Entries:
    """The count of a pair after each place at which it changed."""

    pair: IntArray
    place: IntArray
    alive: BoolArray
    was_alive: BoolArray
    final: IntArray


def _hash(number: IntArray, hashes: IntArray) -> IntArray:
    """Half of each, so that the values of a group lie side by side."""
    return ((number & _HIGH) << 32) | (hashes & _LOW)


def _entries(pairs: Groups, places: IntArray, weights: IntArray, before: IntArray) -> _Entries:
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
    return _Entries(pair, place, alive, np.where(opens, (before > 0)[pair], was), counts[closes])


def _value_step(
    layout: ChangeLayout,
    values: list[pa.Array],
    owner: IntArray,
    before: IntArray,
    entries: _Entries,
    scan: Callable[[IntArray], tuple[IntArray, pa.Array]],
) -> ValueStep:
    was_alive = before > 0
    flips = np.flatnonzero(entries.alive != entries.was_alive)
    pair, place, up = entries.pair[flips], entries.place[flips], entries.alive[flips]
    old, kept = was_alive.nonzero()[0], np.flatnonzero(entries.final > 0)
    starts = _by_pair(np.append(old, pair[up]), np.append(layout.first[owner[old]], place[up]))
    ends = _by_pair(np.append(pair[~up], kept), np.append(place[~up], layout.last[owner[kept]] + 1))
    steady = was_alive.copy()
    steady[pair[~up]] = False
    order = np.argsort(place, kind="stable")
    by = np.where(up, 1, -1)[order]
    return ValueStep(
        values, owner, before, steady, pair[order], place[order], by, starts[0], starts[1], ends[1], scan
    )


def _by_pair(pair: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort((place, pair))
    return pair[order], place[order]
