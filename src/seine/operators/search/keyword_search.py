"""The operator of keyword searches: trees of joined tuples, each found when its last tuple arrives.

    new tuples ──> probe places, grow trees from each new tuple ──> trees with tags
                         |
    store: window, places (log-structured, expired by the lowest watermark of the streams that edges connect)

Law: after every step the output so far is, for each query, every total and minimal tree of at most MAX tuples
of its tables over the input so far whose lives overlap, told apart by its edges, once. A tree with a tuple
that may be deleted waits (`retractable_trees.py`).

Cites: SKWS 3.1 (results of a keyword query over streams, Lemma 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.graph.parameter_table import ParameterTable
from seine.operators.search.retractable_trees import IDENTITY, MEMBERS, RetractableTrees, members_of
from seine.operators.search.schema_components import ComponentStates, components_of
from seine.operators.search.search_state import SearchState
from seine.operators.search.searches import searched_part
from seine.operators.search.static_tuples import StaticTuples
from seine.operators.search.tree_search import FoundTrees, TreeSearch
from seine.operators.search.tuple_columns import NUMBER, TABLE, TUPLE_NAMES
from seine.operators.search.watched_schema import WatchedSchema
from seine.operators.state.identified_rows import take_identities
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.coalesce import coalesce
from seine.rows.delta import FOREVER, Delta, concat_batches

if TYPE_CHECKING:
    from seine.operators.search.search_node import SearchNode


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
