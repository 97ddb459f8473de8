"""Connected components of the schema of a search: no tree has tuples of two, so each has a state of its own.

    CREATE JOIN movie.did = director.did;          movie ── director       news
    CREATE STREAM news (...)                       expire by their two     expires by its own watermark
                                                   watermarks

A stream that is silent holds up nothing but what it may still be joined with. When edges come and go, held
tuples go to the components that there are then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.operators.search.known_tuples import ID
from seine.operators.search.search_state import INDEXED, SearchState
from seine.operators.search.tuple_columns import TABLE, spread
from seine.operators.search.watched_schema import WatchedSchema
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER

PARTS = "parts"  # head: the state of each component, by its number
GROUPED = "components"  # head: the streams of each component, as they were in the last step


@dataclass(frozen=True)
class SchemaComponent:
    """Streams that edges connect, directly or by way of relations; its number is the least of theirs."""

    tables: frozenset[int]
    streams: tuple[str, ...]  # those that there are
    retractable: tuple[str, ...]  # of these

    @property
    def number(self) -> int:
        return min(self.tables)

    def bound(self, clock: Clock) -> int:
        """The instant after which a tuple must last to be joined with one to come."""
        complete = FOREVER if clock.end else clock.progress(self.retractable)
        return min(clock.low(self.streams), complete)


def components_of(schema: WatchedSchema) -> list[SchemaComponent]:
    """The components of a schema, by number."""
    label = {table.number: table.number for table in (*schema.tables, *schema.gone)}
    for edge in schema.edges:
        tables = (*schema.tables, *schema.gone)
        ends = [t.number for t in tables if t.name in (edge.left, edge.right) and t.number < edge.number]
        joined = {label[end] for end in ends}
        label = {number: min(joined) if one in joined else one for number, one in label.items()}
    streams = {table.number: table for table in schema.streams}
    groups: dict[int, set[int]] = {}
    for number in streams:
        groups.setdefault(label[number], set()).add(number)
    there = {table.number for table in schema.members}
    return [
        SchemaComponent(
            frozenset(group),
            tuple(sorted(streams[number].name for number in group & there)),
            tuple(sorted(streams[n].name for n in group & there if streams[n].retractable)),
        )
        for group in sorted(groups.values(), key=min)
    ]


class PartStore:
    """The store of a part of an operator's state: runs are in the store of the whole."""

    def __init__(self, whole: Store, number: int) -> None:
        self._whole = whole
        self.head = whole.head.setdefault(PARTS, {}).setdefault(str(number), {})
        self.bucket = whole.bucket

    def put(self, batch: pa.RecordBatch) -> str:
        return self._whole.put(batch)

    def get(self, name: str) -> pa.RecordBatch:
        return self._whole.get(name)

    def drop(self, name: str) -> None:
        self._whole.drop(name)


class ComponentStates:
    """What a search holds in one bucket, component by component."""

    def __init__(self, store: Store, components: Sequence[SchemaComponent]) -> None:
        self._store, self._components = store, components
        grouped = [sorted(component.tables) for component in components]
        if store.head.get(GROUPED, grouped) != grouped:
            self._group_anew()
        store.head[GROUPED] = grouped

    def parts(
        self, batches: Sequence[pa.RecordBatch]
    ) -> Iterator[tuple[SchemaComponent, SearchState, pa.RecordBatch | None]]:
        """The state of each component that holds or gets tuples, with those that it gets, in their order."""
        arrived = [batch for batch in batches if batch.num_rows]
        tables = [batch[TABLE].to_numpy() for batch in arrived]
        coming = {*np.concatenate(tables).tolist()} if tables else set[int]()
        known = self._store.head.get(PARTS, {}).keys()
        for component in self._components:
            if component.tables & coming or str(component.number) in known:
                state, chosen = SearchState(PartStore(self._store, component.number)), [*component.tables]
                rows = [
                    batch.take(pa.array(np.flatnonzero(np.isin(table, chosen))))
                    for batch, table in zip(arrived, tables, strict=True)
                ]
                yield component, state, SearchState(self._store).numbered(rows)

    @staticmethod
    def rows(store: Store) -> int:
        """How many tuples are held."""
        return sum(state.window.rows for state in states_of(store))

    def _group_anew(self) -> None:
        """Give held tuples to the components that there are now; those of tables that are gone go."""
        states = states_of(self._store)
        held = [rows for rows in (state.held() for state in states) if rows is not None]
        for state in states:
            state.clear()
        for part in self._store.head.get(PARTS, {}).values():
            part[INDEXED] = []
        if not held:
            return
        rows = pa.concat_batches(held)
        tables = rows[TABLE].to_numpy()
        for component in self._components:
            chosen = rows.take(pa.array(np.flatnonzero(np.isin(tables, [*component.tables]))))
            if chosen.num_rows:
                part = PartStore(self._store, component.number)
                part.head[INDEXED] = []
                keys = pa.array(spread(chosen[ID].to_numpy()))
                names = [KEY, *chosen.schema.names]
                keyed = pa.RecordBatch.from_arrays([keys, *chosen.columns], names)
                SearchState(part).window.add(SortedRun.of(keyed, KEY))


def states_of(store: Store) -> list[SearchState]:
    """The states of all components that have one."""
    return [SearchState(PartStore(store, int(number))) for number in store.head.get(PARTS, {})]
