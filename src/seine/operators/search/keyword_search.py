"""The operator of keyword searches: trees of joined tuples, each found when its last tuple arrives.

    new tuples ──> probe places, grow trees from each new tuple ──> trees with tags
                         |
    store: window, places (log-structured, expired by the lowest watermark of the streams that edges connect)

Law: after every step the output so far is, for each query, every total and minimal tree of at most MAX tuples
of its tables over the input so far whose lives overlap, told apart by its edges, once. A tree with a tuple
that may be deleted waits (`retractable_trees.py`).

Cites: SKWS 3.1 (results of a keyword query over streams, Lemma 1)

Connected components of the schema of a search: no tree has tuples of two, so each has a state of its own.

    CREATE JOIN movie.did = director.did;          movie ── director       news
    CREATE STREAM news (...)                       expire by their two     expires by its own watermark
                                                   watermarks

A stream that is silent holds up nothing but what it may still be joined with. When edges come and go, held
tuples go to the components that there are then.

The node of keyword searches: trees of joined tuples that contain all terms of a query.

    SEARCH 'tarantino travolta' MAX 4 TUPLES          a row of its table: terms 3 and 5, MAX 4, all tables

                         ┌─ bucket 0: window, places ── trees of its queries
    watch ── broadcast ──┼─ bucket 1: window, places ── trees of its queries ──── deliver
                         └─ ..

All searches of one time domain are rows of one node, whatever their terms, MAX and tables are. Every bucket
holds the whole window, since a tree may connect tuples by any values; so it lives in eight buckets at most.
The work is divided: a query has a home bucket, and of the first queries every bucket grows the trees of its
part of the roots.

Cites: SKWS 4.1 (one plan for all networks of a query)
Differs: one operator for all networks of all queries; what the paper's operators are, values are here.

What a copy of the window of a search costs, in words: bytes for each tuple that lives, by stream.

    movie: its JSON text and about 320 bytes a tuple (2 joins)

A held tuple is a row of the window, with its text, and a row of the index for each of its places, which
carries all of them. Keys that are texts or decimals are kept besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.known_tuples import ID
from seine.operators.search.retractable_trees import IDENTITY, MEMBERS, RetractableTrees, members_of
from seine.operators.search.search_state import INDEXED, SearchState, StaticTuples
from seine.operators.search.searches import searched_part
from seine.operators.search.tree_search import FoundTrees, TreeSearch
from seine.operators.search.watch import WatchNode
from seine.operators.search.watched_schema import NUMBER, TABLE, TUPLE_NAMES, WatchedSchema, spread
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.store import Store, take_identities
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, coalesce, concat_batches

MOST_REPLICAS = 8  # buckets of a search: each holds the whole window, so more would cost memory for ever less


@dataclass(frozen=True)
class SearchNode(StatefulNode):
    """Trees of joined tuples, each with the tag of its query; `searches` is the table of queries.

    `schema` is another number whenever the tables and edges of the node beneath are others.
    """

    kind = "search"
    is_join = True
    is_metered = False  # what it emits is counted for each query
    most_buckets = MOST_REPLICAS
    searches: int
    schema: int = 0

    def make_operator(self, flow: HostFlow) -> SearchOperator:
        watch = flow.nodes[self.inputs[0]]
        assert isinstance(watch, WatchNode)
        static = StaticTuples(watch.schema, flow.tables[watch.terms], flow.relations.tuples)
        replicas = min(flow.buckets, MOST_REPLICAS)
        return SearchOperator(self, watch.schema, flow.tables[self.searches], replicas, static)

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.searches,)

    def signature(self, standing: NodesView) -> Signature:
        return search_signature(self.inputs[0])


def search_signature(watch: int) -> Signature:
    return ("search", watch)


class SearchOperator:
    """The operator of a `SearchNode`, with tuples that are never deleted or with some that may be."""

    def __init__(
        self,
        node: SearchNode,
        schema: WatchedSchema,
        table: ParameterTable,
        buckets: int,
        static: StaticTuples | None = None,
    ) -> None:
        searched = searched_part(schema, table)
        self._unsearched = len(searched.members) < len(schema.members)
        self._tables = np.array([member.number for member in searched.members], np.int64)
        self.search = search = TreeSearch(searched, table, buckets, static)
        self._variant: AppendSearch | RetractingSearch = (
            RetractingSearch(node, searched, search) if node.identities else AppendSearch(searched, search)
        )

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that tuples have to bring."""
        return TUPLE_NAMES

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        pieces = [*map(self._searched, inputs[0])] if self._unsearched else inputs[0]
        yield from coalesce(self._variant.step(pieces, clock, store))

    def state_rows(self, store: Store) -> int:
        return ComponentStates.rows(store)

    def _searched(self, delta: Delta) -> Delta:
        """The rows of tables that queries for trees are over: others come for single tuples alone."""
        return Delta(self._inside(delta.plus), None if delta.minus is None else self._inside(delta.minus))

    def _inside(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows.take(pa.array(np.flatnonzero(np.isin(rows[TABLE].to_numpy(), self._tables))))


class AppendSearch:
    """A search of tuples that are never deleted: trees leave at once."""

    def __init__(self, schema: WatchedSchema, search: TreeSearch) -> None:
        self._components, self._search = components_of(schema), search

    def step(self, pieces: list[Delta], clock: Clock, store: Store) -> Iterator[Delta]:
        states, spending = ComponentStates(store, self._components), self._search.spending(store.bucket)
        for component, state, arrived in states.parts([delta.plus for delta in pieces]):
            bound = component.bound(clock)
            if arrived is not None:
                new = self._search.arrived(arrived)
                for trees in self._search.trees(new, state, store.bucket, spending):
                    yield Delta(trees.rows)
                state.add(new, bound)
            state.settle(bound)
        spending.settle()


class RetractingSearch:
    """A search of tuples of which some may be deleted."""

    def __init__(self, node: SearchNode, schema: WatchedSchema, search: TreeSearch) -> None:
        self._hold, self._components, self._search = node.hold, components_of(schema), search
        self._names = {member.number: member.name for member in schema.members if member.retractable}
        retractable = [table.number for table in schema.streams if table.retractable]
        self._retractable = np.array(sorted(retractable), np.int64)

    def step(self, pieces: list[Delta], clock: Clock, store: Store) -> Iterator[Delta]:
        states, spending = ComponentStates(store, self._components), self._search.spending(store.bucket)
        pending = RetractableTrees(store, self._names)
        horizon = FOREVER if clock.end else clock.progress(self._hold)
        passed = SearchState(store).passed(horizon)
        minus = [delta.minus for delta in pieces if delta.minus is not None and delta.minus.num_rows]
        if minus:
            cuts = concat_batches(minus)
            pending.cut(cuts[TABLE].to_numpy(), cuts[NUMBER].to_numpy(), cuts)
        for component, state, arrived in states.parts([delta.plus for delta in pieces]):
            bound = component.bound(clock)
            if arrived is not None:
                new = self._search.arrived(arrived)
                for trees in self._search.trees(new, state, store.bucket, spending, passed):
                    yield from self._emitted(trees, pending, store)
                state.add(new, bound)
            state.settle(bound)
        spending.settle()
        yield from pending.release(clock)
        pending.settle(clock, {number: c.bound(clock) for c in self._components for number in c.tables})

    def _emitted(self, trees: FoundTrees, pending: RetractableTrees, store: Store) -> Iterator[Delta]:
        """Trees that nothing can end early leave; others wait, by the streams that they wait for."""
        identities = pa.array(take_identities(store, trees.rows.num_rows))
        rows = trees.rows.add_column(2, IDENTITY, identities)
        members = members_of(trees.tables, trees.numbers, self._retractable)
        rows = rows.append_column(MEMBERS, members)
        holds = np.sort(np.where(np.isin(trees.tables, self._retractable), trees.tables, -1), axis=1)
        sets, inverse = np.unique(holds, axis=0, return_inverse=True)
        for number, tables in enumerate(sets.tolist()):
            chosen = rows.take(pa.array(np.flatnonzero(inverse.reshape(-1) == number)))
            waited = {table for table in tables if table >= 0}
            if waited:
                pending.wait(sorted(waited), chosen)
            else:
                yield Delta(chosen.drop_columns([MEMBERS]))


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
