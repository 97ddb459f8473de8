"""One step of a search: the trees whose last tuple is new, as rows of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.data_graph import DataGraph
from seine.operators.search.distances import Distances
from seine.operators.search.growing_trees import TreeRows, grow, seeds_of
from seine.operators.search.known_tuples import ID, KnownTuples
from seine.operators.search.pruning import Pruning
from seine.operators.search.query_spending import QuerySpending
from seine.operators.search.reach import TermReach
from seine.operators.search.reindexing import reindexed
from seine.operators.search.search_state import NewTuples, SearchState, places_run
from seine.operators.search.searches import Searches
from seine.operators.search.seeding import Seeding
from seine.operators.search.static_tuples import StaticTuples
from seine.operators.search.tree_records import tree_columns
from seine.operators.search.tuple_columns import NUMBER, PLACES, TABLE, TEXT, list_values, side_code
from seine.operators.search.watched_schema import WatchedEdge, WatchedSchema
from seine.operators.state.sorted_run import SortedRun
from seine.rows.delta import FOREVER, NEVER, data_names

_TEXT_NAMES = ["_s", TABLE, NUMBER, TEXT]
_NUMBERS = np.zeros(0, np.int64)


class FoundTrees(NamedTuple):
    """Trees as rows (lives, tag, tuples, edges, matches), and their tuples: table and number, [row, size]."""

    rows: pa.RecordBatch
    tables: IntArray
    numbers: IntArray


class TreeSearch:
    """Finds trees for the queries of a table; it follows from the nodes, and keeps nothing of its input."""

    def __init__(
        self,
        schema: WatchedSchema,
        table: ParameterTable,
        buckets: int,
        static: StaticTuples | None = None,
    ) -> None:
        self._schema, self._static, self._table, self._buckets = schema, static, table, buckets
        self._static_places = [] if static is None else static.places
        names = {table.number: table.name for table in (*schema.tables, *schema.gone)}
        ranks = {name: rank for rank, name in enumerate(sorted(names.values()))}
        self._rank = {number: ranks[name] for number, name in names.items()}
        self.sides, self._spans = _sides(schema.edges), schema.edge_spans
        self._searches: dict[tuple[int, frozenset[int]], Searches] = {}
        self._static_reach: dict[Searches, tuple[list[SortedRun], IntArray]] = {}

    def searches(self, bucket: int, frequent: frozenset[int] = frozenset()) -> Searches:
        """The queries that a bucket works for."""
        none = frozenset[int]()
        if (bucket, none) not in self._searches:
            self._searches[bucket, none] = Searches(self._table, self._schema, bucket, self._buckets)
        if (bucket, frequent) not in self._searches:
            self._searches[bucket, frequent] = self._searches[bucket, none].with_frequent(frequent)
        return self._searches[bucket, frequent]

    def arrived(self, batch: pa.RecordBatch) -> NewTuples:
        """New tuples, of which those are held that may ever be joined."""
        return NewTuples(batch, hold_all=self._schema.may_change)

    def spending(self, bucket: int) -> QuerySpending:
        """The account of one step of a bucket."""
        return QuerySpending(self.searches(bucket))

    def trees(
        self,
        new: NewTuples,
        state: SearchState,
        bucket: int,
        spending: QuerySpending,
        passed: int = FOREVER,
    ) -> Iterator[FoundTrees]:
        """The trees whose last tuple is new; all tuples from before the instant `passed` had come already."""
        state.frequent_terms(new.batch)
        if state.lacks_places(self.sides):
            self._reindex(state, bucket)
        searches, of_relations = self._reach_of_relations(state, bucket)
        if not searches.count:
            return
        tuples = KnownTuples(searches, self._open_sides(passed))
        roots = tuples.numbers(new.batch)
        runs = [*state.places.overlapping(int(tuples.start.min())), *self._static_places]
        graph = DataGraph(tuples, runs + ([new.places] if new.places is not None else []))
        held = [*state.reach.overlapping(), *of_relations]
        searches, fresh = self._publish(TermReach(graph, searches, held), roots, state, bucket)
        distances = Distances(tuples, searches, held + fresh)
        seeding, pruning = Seeding(searches, graph, distances, spending), Pruning(searches, distances)
        here = tuples.id[roots] % self._buckets == bucket
        for chosen, queries in seeding.seeds(roots, here):
            for grown in grow(graph, searches, seeds_of(graph, chosen, queries), spending, pruning):
                trees = self._standing(grown, tuples)
                if len(trees.query):
                    results = self._as_rows(trees, searches, tuples, TupleTexts(new, state, self._static))
                    spending.emit(trees.query, _text_bytes(results.rows))
                    yield results

    def _open_sides(self, passed: int) -> IntArray:
        """The sides of edges that stand, or that tuples may still come for that arrived while they stood."""
        edges = self._schema.edges
        return _sides([edge for edge in edges if edge.stands or edge.latest >= passed])

    def _standing(self, trees: TreeRows, tuples: KnownTuples) -> TreeRows:
        """Those trees all of whose edges stood in the epoch in which their last tuple arrived."""
        if self._spans is None or trees.size == 1:
            return trees
        epochs = np.where(tuples.id < 0, NEVER, tuples.epoch)
        return trees.where(self._spans.cover(trees.edge, epochs[trees.node].max(1)))

    def _reindex(self, state: SearchState, bucket: int) -> None:
        """Let held tuples have the places of new edges, and publish the reach of all of them."""
        held = state.held()
        batches = [] if held is None else reindexed(held, self._schema)
        if not batches:
            state.index_anew(None)
            return
        whole = pa.concat_batches(batches)
        lengths, places = list_values(whole[PLACES])
        run = places_run(whole, lengths, places) if len(places) else None
        state.index_anew(run)
        searches, of_relations = self._reach_of_relations(state, bucket)
        if run is not None and searches.count:
            tuples = KnownTuples(searches, self.sides)
            numbers = tuples.numbers(whole)
            graph = DataGraph(tuples, [run, *self._static_places])
            self._publish(TermReach(graph, searches, of_relations), numbers, state, bucket)

    def _publish(
        self, reach: TermReach, tuples: IntArray, state: SearchState, bucket: int
    ) -> tuple[Searches, list[SortedRun]]:
        """Hold what tuples publish from now on; the queries, with no reach of terms that cost too much."""
        run = reach.run_of(tuples)
        if run is not None:
            state.reach.add(run)
        return self.searches(bucket, state.add_frequent(reach.exhausted)), [] if run is None else [run]

    def _reach_of_relations(self, state: SearchState, bucket: int) -> tuple[Searches, list[SortedRun]]:
        """The queries, and how near their terms are by tuples of relations alone."""
        searches = self.searches(bucket, state.add_frequent(_NUMBERS))
        if searches not in self._static_reach:
            run, exhausted = None, _NUMBERS
            if self._static is not None and self._static.batch is not None and self._static_places:
                tuples = KnownTuples(searches, self.sides)
                reach = TermReach(DataGraph(tuples, self._static_places), searches, [])
                run, exhausted = reach.run_of(tuples.numbers(self._static.batch)), reach.exhausted
            self._static_reach[searches] = [] if run is None else [run], exhausted
        runs, exhausted = self._static_reach[searches]
        return (self.searches(bucket, state.add_frequent(exhausted)) if len(exhausted) else searches), runs

    def _as_rows(
        self, trees: TreeRows, searches: Searches, tuples: KnownTuples, texts: TupleTexts
    ) -> FoundTrees:
        used = np.unique(trees.node)
        batch = texts.of(tuples.id[used])
        tables, numbers = batch[TABLE].to_numpy(), batch[NUMBER].to_numpy()
        by_name = np.array([self._rank.get(number, -1) for number in tables.tolist()], np.int64)
        order = np.lexsort((numbers, by_name, batch["_s"].to_numpy()))
        rank = np.zeros(len(tuples), np.int64)
        rank[used[order]] = np.arange(len(order))
        columns = tree_columns(trees, searches, rank, batch[TEXT].take(pa.array(order)))
        named = [("_s", pa.array(trees.start)), ("_e", pa.array(trees.end))]
        named += zip(data_names(len(columns)), columns, strict=True)
        rows = pa.RecordBatch.from_arrays([array for _, array in named], names=[name for name, _ in named])
        at = np.searchsorted(used, trees.node)
        return FoundTrees(rows, tables[at], numbers[at])


def _sides(edges: Iterable[WatchedEdge]) -> IntArray:
    codes = [side_code(edge.number, right) for edge in edges for right in (False, True)]
    return np.array(sorted(codes), np.int64)


def _text_bytes(rows: pa.RecordBatch) -> IntArray:
    """The bytes of the texts of each row."""
    texts = [column for column in rows.columns if pa.types.is_string(column.type)]
    sizes: IntArray = sum(pc.binary_length(text).to_numpy().astype(np.int64) for text in texts)
    return sizes


class TupleTexts:
    """The texts of tuples: of new ones, and of held ones by their ids."""

    def __init__(self, new: NewTuples, state: SearchState, static: StaticTuples | None) -> None:
        self._new, self._state, self._static = new, state, static

    def of(self, ids: IntArray) -> pa.RecordBatch:
        """The tuples with these ids, in their order."""
        first = int(self._new.batch[ID][0].as_py())
        fresh, older = np.flatnonzero(ids >= first), np.flatnonzero((ids < first) & (ids >= 0))
        places, batches = [fresh], [self._new.batch.select(_TEXT_NAMES).take(pa.array(ids[fresh] - first))]
        held = self._state.texts(ids[older])
        if held is not None:
            places.append(older[held[0]])
            batches.append(held[1].select(_TEXT_NAMES))
        stored = np.flatnonzero(ids < 0)
        if self._static is not None and len(stored):
            places.append(stored)
            batches.append(self._static.texts(ids[stored]))
        return pa.concat_batches(batches).take(pa.array(np.argsort(np.concatenate(places))))
