"""Small random streams with join conditions and words, the nodes of a search over them, its brute force."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from seine.algebra.expressions import Literal
from seine.algebra.types import BIGINT, STRING
from seine.evaluate.data_columns import DataColumns
from seine.graph.node import Port
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.keyword_search import SearchNode, SearchOperator
from seine.operators.search.searches import SearchRow, TableScope
from seine.operators.search.watch import WatchNode, WatchStep, term_code
from seine.operators.search.watched_schema import TUPLE_TYPES, WatchedEdge, WatchedTable
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.searched_words import word_term

WORDS = ("amber", "basil", "cedar", "delta")
NAMES = ("k", "j", "txt", "ts")
FIRST_EDGE = 100  # edges have larger numbers than tables


@dataclass(frozen=True)
class Tuple:
    """A tuple of a table: two keys (None: NULL), its words, its time."""

    table: int
    number: int
    k: int | None
    j: int | None
    words: tuple[str, ...]
    ts: int


@dataclass(frozen=True)
class AskedSearch:
    """A query: words, MAX, the tables it is over (None: all)."""

    words: tuple[str, ...]
    max_tuples: int
    over: tuple[int, ...] | None


@dataclass(frozen=True)
class SearchedGraph:
    """Tables with windows, edges (table, column, table, column), tuples in order of arrival, queries."""

    windows: tuple[int, ...]
    edges: tuple[tuple[int, int, int, int], ...]
    tuples: tuple[Tuple, ...]
    queries: tuple[AskedSearch, ...]


def random_graph(rng: random.Random, tuples: int = 14, most: int = 5) -> SearchedGraph:
    """A graph with cycles, self-edges and parallel edges now and then."""
    tables = rng.randint(1, 4)
    edges = {
        (rng.randrange(tables), rng.randrange(2), rng.randrange(tables), rng.randrange(2))
        for _ in range(rng.randint(1, tables + 2))
    }
    numbers = Counter[int]()
    rows, now, pause = [], 5, rng.choice((1, 5, 9))
    for _ in range(tuples):
        table = rng.randrange(tables)
        now += rng.choice((0, 1, 1, 2, pause))
        late = rng.choice((0, 0, 0, 4))
        keys = [rng.choice((None, *range(4))) for _ in range(2)]
        words = tuple(word for word in WORDS if rng.random() < 0.25)
        rows.append(Tuple(table, numbers[table], keys[0], keys[1], words, now - late))
        numbers[table] += 1
    queries = [
        AskedSearch(
            tuple(rng.sample(WORDS, rng.randint(2, 3))),
            rng.randint(2, most),
            None if rng.random() < 0.6 else tuple(sorted(rng.sample(range(tables), rng.randint(1, tables)))),
        )
        for _ in range(rng.randint(1, 4))
    ]
    windows = tuple(rng.choice((4, 8, 20)) for _ in range(tables))
    return SearchedGraph(windows, tuple(sorted(edges)), tuple(rows), tuple(dict.fromkeys(queries)))


# ---- brute force


def expected(graph: SearchedGraph) -> Counter[tuple[object, ...]]:
    """Every result: the query, the life, the tuples and the edges, by enumerating all trees of tuples."""
    rows = graph.tuples
    ends = [row.ts + graph.windows[row.table] for row in rows]
    edges = joined_pairs(graph)
    most = max(query.max_tuples for query in graph.queries)

    def alive(nodes: frozenset[int]) -> bool:
        return max(rows[i].ts for i in nodes) < min(ends[i] for i in nodes)

    level = {(frozenset([i]), frozenset[tuple[int, int, int]]()) for i in range(len(rows))}
    results: Counter[tuple[object, ...]] = Counter()
    for _ in range(most):
        for nodes, used in level:
            start, end = max(rows[i].ts for i in nodes), min(ends[i] for i in nodes)
            for number, query in enumerate(graph.queries):
                if len(nodes) <= query.max_tuples and _is_result(rows, query, nodes, used):
                    results[number, start, end, nodes, used] += 1
        level = {
            (nodes | {a, b}, used | {(a, b, e)})
            for nodes, used in level
            for a, b, e in edges
            if (a in nodes) != (b in nodes) and alive(nodes | {a, b})
        }
    return results


def joined_pairs(graph: SearchedGraph) -> set[tuple[int, int, int]]:
    """The edges of the data graph: two tuples, by their places, and the condition that joins them."""
    joined = {
        (a, b, e)
        for e, (left, left_key, right, right_key) in enumerate(graph.edges)
        for a, x in enumerate(graph.tuples)
        for b, y in enumerate(graph.tuples)
        if a != b
        and (x.table, y.table) == (left, right)
        and _key(x, left_key) == _key(y, right_key) is not None
    }
    return {(min(a, b), max(a, b), e) for a, b, e in joined}


def _key(row: Tuple, column: int) -> int | None:
    return (row.k, row.j)[column]


def _is_result(
    rows: Sequence[Tuple], query: AskedSearch, nodes: frozenset[int], edges: Iterable[tuple[int, int, int]]
) -> bool:
    if query.over is not None and any(rows[i].table not in query.over for i in nodes):
        return False
    having = {word: [i for i in nodes if word in rows[i].words] for word in query.words}
    if not all(having.values()):
        return False
    degree = Counter(i for a, b, _ in edges for i in (a, b))
    owners = {holders[0] for holders in having.values() if len(holders) == 1}
    return len(nodes) == 1 or all(i in owners for i in nodes if degree[i] == 1)


# ---- the nodes


class SearchedNodes:
    """The nodes of a graph's queries, fed in steps, one store for each bucket."""

    def __init__(self, graph: SearchedGraph, buckets: int = 1) -> None:
        self.graph, self._buckets = graph, buckets
        streams = tuple(f"s{i}" for i in range(len(graph.windows)))
        members = tuple(
            WatchedTable(i + 1, name, NAMES, (BIGINT, BIGINT, STRING, BIGINT), graph.windows[i])
            for i, name in enumerate(streams)
        )
        edges = tuple(
            WatchedEdge(FIRST_EDGE + i, streams[a], ca, streams[b], cb, BIGINT)
            for i, (a, ca, b, cb) in enumerate(graph.edges)
        )
        terms, searches = ParameterTable([STRING]), ParameterTable([c.type for c in _row(0, ()).constants()])
        numbers = {w: terms.claim([Literal(term_code(word_term(w)), STRING)], "q") for w in WORDS}
        for i, query in enumerate(graph.queries):
            over = None if query.over is None else TableScope.over(streams[t] for t in query.over)
            scope = (over or TableScope.everything()).text
            terms_of_query = tuple(numbers[w] for w in query.words)
            row = SearchRow(i, terms_of_query, json.dumps(query.words), query.max_tuples, scope, 0)
            searches.claim(row.constants(), f"q{i}")
        common = {"out": (), "streams": streams, "hold": (), "identities": 0, "owner": ""}
        watch = WatchNode(
            id=1, ports=(), types=TUPLE_TYPES, stage=0, domain="plain", members=members, edges=edges, **common
        )
        port = Port(1, TUPLE_TYPES, streams)
        node = SearchNode(id=2, ports=(port,), types=TUPLE_TYPES, stage=1, searches=9, **common)
        self._steps = [WatchStep(watch, i, terms) for i in range(len(members))]
        self.operators = [SearchOperator(node, watch.schema, searches, buckets) for _ in range(buckets)]
        self.stores = [MemoryStore(bucket) for bucket in range(buckets)]
        self._streams = streams

    def run(self, cuts: Sequence[int]) -> list[dict[str, object]]:
        """Feed all tuples, cut into steps, then the end; the rows that come out, with their bucket."""
        rows, out = self.graph.tuples, []
        for low, high in zip((0, *cuts), (*cuts, len(rows)), strict=True):
            clock = dict.fromkeys(self._streams, min((row.ts for row in rows[high:]), default=FOREVER))
            out += self.step(rows[low:high], Clock(clock))
        return out + self.step((), Clock(dict.fromkeys(self._streams, FOREVER), end=True))

    def step(self, rows: Sequence[Tuple], clock: Clock) -> list[dict[str, object]]:
        deltas = [Delta(self._searched(table, rows)) for table in range(len(self._steps))]
        out = []
        for bucket, operator in enumerate(self.operators):
            for delta in operator.step([deltas], clock, self.stores[bucket]):
                out += [{**row, "bucket": bucket} for row in delta.plus.to_pylist()]
        return out

    def _searched(self, table: int, rows: Sequence[Tuple]) -> pa.RecordBatch:
        mine = [row for row in rows if row.table == table]
        columns = {
            "_s": pa.array([row.ts for row in mine], pa.int64()),
            "_e": pa.array([row.ts + self.graph.windows[table] for row in mine], pa.int64()),
            "_q": pa.array([row.number for row in mine], pa.int64()),
            "c0": pa.array([row.k for row in mine], pa.int64()),
            "c1": pa.array([row.j for row in mine], pa.int64()),
            "c2": pa.array([" ".join(row.words) for row in mine], pa.string()),
            "c3": pa.array([row.ts for row in mine], pa.int64()),
        }
        batch = pa.record_batch(columns)
        return self._steps[table].searched(batch, DataColumns(batch))


def _row(tag: int, terms: tuple[int, ...]) -> SearchRow:
    return SearchRow(tag, terms, "[]", 2, "", 0)


def retractable_trees(rows: Iterable[dict[str, object]]) -> Counter[tuple[object, ...]]:
    """Rows of a search as what tells results apart: tag, life, texts of tuples and edges."""
    return Counter((row["c0"], row["_s"], row["_e"], row["c1"], row["c2"]) for row in rows)


def described(graph: SearchedGraph, results: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    """Results of brute force, in that form: tuples by time, table, number; edges by place."""
    texts: Counter[tuple[object, ...]] = Counter()
    for (query, start, end, nodes, edges), count in results.items():
        assert isinstance(nodes, frozenset) and isinstance(edges, frozenset)
        rows = graph.tuples
        order = sorted(nodes, key=lambda i: (rows[i].ts, rows[i].table, rows[i].number))
        place = {node: at for at, node in enumerate(order)}
        pairs = sorted(sorted((place[a], place[b])) for a, b, _ in edges)
        tuples = [{"stream": f"s{rows[i].table}", "row": _object(rows[i])} for i in order]
        texts[query, start, end, json.dumps(tuples), json.dumps(pairs)] += count
    return texts


def _object(row: Tuple) -> dict[str, object]:
    return dict(zip(NAMES, (row.k, row.j, " ".join(row.words), row.ts), strict=True))
