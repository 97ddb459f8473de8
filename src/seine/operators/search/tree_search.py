"""One step of a search: the trees whose last tuple is new, as rows of text.

What a step of a search spends on each query: candidates, counted before they are formed, and bytes.

A query that goes over its budget does nothing more in the step, and the others go on: so one step finds all
queries that ask too much, and when it ends they fail, and nobody else.

    take([7, 7, 9], [100, 50_000_000, 3])    query 7 is over: [False, False, True]
    settle()                                 fails for query 7

Law: candidates are counted for the query whose trees they are to be in, and for nobody else. Whether a query
is over depends on tuples and queries, never on time.

Which partial trees may still become whole, by how far their tuples are from missing terms.

A term that is missing is added below the rightmost path, so it costs at least its distance from the nearest
node there. An open leaf without a term of its own, and a root with one child and none of its own, each need a
branch with a missing term; the two branches have no tuple in common.

Law: a tree that is given up cannot become a result with at most MAX tuples.

Cites: SKWS 3.2 (pruning)
Differs: by distances between tuples that are there, not by the number of nodes of a network alone.

Held tuples get the places of edges that came after them: their keys are read from their texts again.

It happens once after a change of the schema, in every bucket, and costs what the window holds.

Cites: SKWS 4.4 (changes of the schema)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.types import Kind, Type
from seine.evaluate.data_columns import DataColumns
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.data_graph import DataGraph
from seine.operators.search.distances import UNREACHED, Distances, TermReach
from seine.operators.search.growing_trees import TreeRows, grow, seeds_of, tree_columns
from seine.operators.search.known_tuples import CARRIED, ID, KnownTuples
from seine.operators.search.search_state import NewTuples, SearchState, StaticTuples, places_run
from seine.operators.search.searches import Searches
from seine.operators.search.seeding import Seeding
from seine.operators.search.watch import places_of, sides_of
from seine.operators.search.watched_schema import (
    KEYS,
    NUMBER,
    PLACES,
    SIDES,
    TABLE,
    TEXT,
    WatchedEdge,
    WatchedSchema,
    WatchedTable,
    list_values,
    side_code,
)
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.work_budget import NodeFault, budget_of_a_query
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
    sizes = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        if pa.types.is_string(column.type):
            sizes += pc.binary_length(column).to_numpy().astype(np.int64)
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


class QuerySpending:
    """Counts the candidates and bytes of each query in a step, whatever component of the schema they are in.

    Without a budget everything is affordable.
    """

    def __init__(self, searches: Searches) -> None:
        self._searches, self._budget = searches, budget_of_a_query()
        self._candidates = np.zeros(searches.count, np.int64)
        self._bytes = np.zeros(searches.count, np.int64)

    def take(self, queries: IntArray, candidates: IntArray) -> BoolArray:
        """Count candidates, row by row; the rows whose queries may form them."""
        np.add.at(self._candidates, queries, candidates)
        if self._budget is None:
            return np.ones(len(queries), bool)
        affordable: BoolArray = self._candidates[queries] <= self._budget.candidates
        affordable &= self._bytes[queries] <= self._budget.bytes
        return affordable

    def emit(self, queries: IntArray, sizes: IntArray) -> None:
        """Count the bytes of results, row by row."""
        np.add.at(self._bytes, queries, sizes)

    def settle(self) -> None:
        """Fail for the queries that are over their budget."""
        if self._budget is not None:
            self._blame(self._candidates > self._budget.candidates, self._budget.too_many_candidates)
            self._blame(self._bytes > self._budget.bytes, self._budget.too_many_bytes)

    def _blame(self, over: BoolArray, reason: str) -> None:
        names = {name for query in np.flatnonzero(over).tolist() for name in self._searches.names(query)}
        if names:
            raise NodeFault("budget", reason, queries=tuple(sorted(names)))


class Pruning:
    """The test of partial trees by distances."""

    def __init__(self, searches: Searches, distances: Distances) -> None:
        self._searches, self._distances = searches, distances

    def keep(self, trees: TreeRows, seen: IntArray, owns: BoolArray) -> BoolArray:
        """Whether trees may become results; `seen` are their terms, `owns` says which nodes own one."""
        count, last = len(trees.query), trees.size - 1
        needed = np.zeros(count, np.int64)
        from_root, from_last = np.full(count, UNREACHED), np.full(count, UNREACHED)
        for place in range(self._searches.words.shape[1]):
            missing = (place < self._searches.size[trees.query]) & (seen >> place & 1 == 0)
            rows = np.flatnonzero(missing)
            if len(rows):
                distance = self._from_path(trees, rows, place)
                needed[rows] = np.maximum(needed[rows], distance.min(1))
                from_root[rows] = np.minimum(from_root[rows], distance[:, 0])
                from_last[rows] = np.minimum(from_last[rows], distance[:, last])
        if last:
            bare_root = ~owns[:, 0] & (trees.children[:, 0] <= 1)
            branches = np.where(bare_root, from_root, 0) + np.where(owns[:, last], 0, from_last)
            needed = np.maximum(needed, branches)
        kept: BoolArray = needed <= self._searches.max_tuples[trees.query] - trees.size
        return kept

    def _from_path(self, trees: TreeRows, rows: IntArray, place: int) -> IntArray:
        """How far nodes of the rightmost path are from a query's term; UNREACHED off the path."""
        distance = np.full((len(rows), trees.size), UNREACHED)
        terms = self._searches.words[trees.query[rows], place]
        for node in range(trees.size):
            on_path = np.flatnonzero(trees.path[rows, node])
            chosen = rows[on_path]
            distance[on_path, node] = self._distances.of(
                trees.node[chosen, node], terms[on_path], trees.query[chosen]
            )
        return distance


_READ: dict[Kind, Callable[[Any], Any]] = {
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.DATE: lambda text: int(np.datetime64(text, "D").astype(np.int64)),
    Kind.TIMESTAMP: lambda text: int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64)),
}
_COUNTED = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64()}  # any year: Python's own dates end with 9999


def reindexed(rows: pa.RecordBatch, schema: WatchedSchema) -> list[pa.RecordBatch]:
    """Held tuples, table by table, with the places that they have by the edges of a schema."""
    tables = rows[TABLE].to_numpy()
    parts = [(table, np.flatnonzero(tables == table.number)) for table in schema.streams]
    return [_placed(rows.take(pa.array(chosen)), table, schema) for table, chosen in parts if len(chosen)]


def _placed(rows: pa.RecordBatch, table: WatchedTable, schema: WatchedSchema) -> pa.RecordBatch:
    sides = sides_of(schema.edges, table)
    keys = sorted({column for side in sides for column in side.key.columns})
    objects = [json.loads(text, parse_float=Decimal)["row"] for text in rows[TEXT].to_pylist()]
    values = {f"c{i}": values_of(objects, table.names[i], table.types[i]) for i in keys}
    batch = pa.record_batch(values) if values else rows.select([])
    found_places = places_of(sides, DataColumns(batch), rows.num_rows)
    places = dict(zip((PLACES, SIDES, KEYS), found_places, strict=True))
    arrays = [places[name] if name in places else rows[name] for name in CARRIED]
    return pa.RecordBatch.from_arrays(arrays, names=CARRIED)


def values_of(objects: Sequence[dict[str, Any]], name: str, type_: Type) -> pa.Array:
    """A column of tuples as they were before they became text.

    >>> from seine.algebra.types import DATE
    >>> values_of([{"day": "2024-02-29"}, {"day": None}], "day", DATE).to_pylist()
    [datetime.date(2024, 2, 29), None]
    >>> values_of([{"day": "12024-02-29"}], "day", DATE).cast("int32").to_pylist()
    [3672207]
    """
    read = _READ.get(type_.kind, lambda value: value)
    values = [row[name] for row in objects]
    known = [None if value is None else read(value) for value in values]
    return pa.array(known, _COUNTED.get(type_.kind, type_.arrow())).view(type_.arrow())
