"""Searches, streams and joins that come and go in a service: every search reports the trees that it should.

A tree counts for a search if all its stream tuples came after the search, and if its tables and joins stood
when its last one came. Tuples and deletions of a stream with deletions count when their instant is complete,
so of one that is dropped the last instant does not. The service is run by hand, and the trees are enumerated
by brute force.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from seine.operators.search.watch import WatchNode
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.reference.compare import difference
from tests.reference.lives import lives_of
from tests.reference.script import Edge, Script, read_script
from tests.reference.trees import Node, Trees
from tests.support.everywhere import EVERYWHERE
from tests.support.seeds import seeds

WORDS = ("amber", "basil", "cedar")
KEYS = "id BIGINT, k0 BIGINT, k1 BIGINT"
END = 1000  # a line of this time at the end of every stream makes all before it final
NEVER = 10**9


@dataclass
class Span:
    """From which step on something stands, and until which."""

    since: int
    until: int = NEVER

    def covers(self, step: int) -> bool:
        return self.since <= step < self.until


@dataclass
class SearchStory:
    """A service and all that happened to it, step by step; a step is what is fed between two changes."""

    folder: Path
    step: int = 0
    clock: int = 1
    script: Script = field(default_factory=Script)
    tables: dict[str, Span] = field(default_factory=dict)
    edges: dict[Edge, list[Span]] = field(default_factory=dict)
    queries: dict[str, Span] = field(default_factory=dict)
    arrived: dict[int, int] = field(default_factory=dict)  # the step of each tuple, by id
    written: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # the lines of each stream

    def __post_init__(self) -> None:
        self.service = Service(
            ServiceFolder(str(self.folder / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
        )
        self.host = LocalHost(self.service.deployment)

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def add_stream(self, rng: Random, deleting: bool = False) -> str:
        name = f"s{len(self.tables)}"
        self.written[name] = []
        (self.folder / f"{name}.jsonl").touch()
        words = ", t0 STRING" if rng.random() < 0.7 or not self.tables else ""
        clauses = f"WINDOW {rng.choice([4, 8, 15])} LATENESS {rng.choice([0, 0, 3])}"
        clauses += " RETRACTABLE" * deleting
        columns = f"({KEYS}{words}, ts BIGINT) TIMESTAMP BY ts"
        return self._declare(f"CREATE STREAM {name} {columns} {clauses} FROM '{name}.jsonl';")

    def add_relation(self, rng: Random) -> str:
        name = f"r{len(self.tables)}"
        rows = [self._row(rng, -i - 1) | {"since": rng.choice([None, self.clock])} for i in range(3)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (self.folder / f"{name}.jsonl").write_text(text)
        columns = f"({KEYS}, t0 STRING, since BIGINT, until BIGINT) VALID FROM since TO until"
        return self._declare(f"CREATE RELATION {name} {columns} FROM '{name}.jsonl';")

    def _declare(self, text: str) -> str:
        self.register(text)
        tables = read_script(text).tables
        self.script.tables |= tables
        (name,) = tables
        self.tables[name] = Span(self.step)
        return name

    def _standing(self, streams: bool = False) -> list[str]:
        standing = [name for name, span in self.tables.items() if span.covers(self.step)]
        return [name for name in standing if self.script.tables[name].is_stream or not streams]

    def add_edge(self, rng: Random, table: str = "") -> None:
        standing = self._standing()
        names = [table or rng.choice(standing), rng.choice(standing)]
        sides = [(name, rng.choice(["k0", "k1"])) for name in names]
        if any(frozenset(edge) == frozenset(sides) and self._stands(edge) for edge in self.edges):
            return
        self.register(f"CREATE JOIN {'.'.join(sides[0])} = {'.'.join(sides[1])};")
        edge = next((one for one in self.edges if frozenset(one) == frozenset(sides)), (sides[0], sides[1]))
        self.edges.setdefault(edge, []).append(Span(self.step))

    def _stands(self, edge: Edge) -> bool:
        return any(span.covers(self.step) for span in self.edges[edge])

    def drop_edge(self, rng: Random) -> None:
        standing = [edge for edge in self.edges if self._stands(edge)]
        if standing:
            self._drop(rng.choice(standing))

    def _drop(self, edge: Edge) -> None:
        self.register(f"DROP JOIN {'.'.join(edge[0])} = {'.'.join(edge[1])};")
        self.edges[edge][-1].until = self.step

    def drop_table(self, rng: Random) -> None:
        """Drop a table with its joins, if no OVER names it."""
        name = rng.choice(self._standing())
        worded = [one for one in self._standing(streams=True) if "t0" in self.script.tables[one].columns]
        if worded == [name] or any(name in self._over(query) for query in self.queries):
            return
        for edge in self.edges:
            if self._stands(edge) and name in (edge[0][0], edge[1][0]):
                self._drop(edge)
        table = self.script.tables[name]
        self.register(f"DROP {'STREAM' if table.is_stream else 'RELATION'} {name};")
        self.tables[name].until = self.step
        if table.retractable:
            complete = max((row["ts"] for row in self.written[name]), default=0) - table.lateness
            self.written[name] = [row for row in self.written[name] if row["ts"] < complete]

    def _over(self, query: str) -> list[str]:
        _, _, over = self.script.queries[query].partition(" OVER (")
        return over.partition(")")[0].split(", ")

    def add_query(self, rng: Random) -> None:
        name = f"q{len(self.queries)}"
        words = " ".join(rng.sample(WORDS, rng.choice([1, 2, 2, 3])))
        others = rng.sample(self._standing(), rng.randint(0, len(self._standing())))
        over = f" OVER ({', '.join({rng.choice(self._standing(streams=True)): 0} | dict.fromkeys(others))})"
        text = f"SEARCH '{words}'{over if rng.random() < 0.4 else ''} MAX {rng.randint(2, 4)} TUPLES"
        self.register(f"CREATE QUERY {name} AS {text};")
        self.script.queries[name] = text
        self.queries[name] = Span(self.step)

    def feed(self, rng: Random) -> None:
        for _ in range(rng.randint(1, 7)):
            self.clock += rng.randint(0, 2)
            name = rng.choice(self._standing(streams=True))
            table = self.script.tables[name]
            time = {"ts": self.clock - rng.randint(0, table.lateness)}
            lines = [row for row in self.written[name] if "@op" not in row]
            if table.retractable and lines and rng.random() < 0.3:
                self._write(name, rng.choice(lines) | {"@op": "-"} | time)
                continue
            number = len(self.arrived) + 1
            self.arrived[number] = self.step
            row = self._row(rng, number) | time
            self._write(name, {key: value for key, value in row.items() if key in table.columns})
        self._run()

    def _row(self, rng: Random, number: int) -> dict[str, Any]:
        words = " ".join(rng.sample(WORDS, rng.choice([0, 1, 1, 2])))
        return {"id": number, "k0": rng.randint(1, 3), "k1": rng.randint(1, 3), "t0": words}

    def _write(self, table: str, row: dict[str, Any]) -> None:
        self.written[table].append(row)
        with (self.folder / f"{table}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def _run(self) -> None:
        while self.service.driver.run_some(self.host.run):
            pass
        self.step += 1

    def end(self) -> None:
        for name in self._standing(streams=True):
            self._write(name, {"ts": END})
        self._run()

    def restart(self) -> None:
        """Open the service anew; the host stays, for it has the state of the pipeline."""
        self.service.close()
        self.service = Service(
            ServiceFolder(str(self.folder / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
        )

    def records(self, query: str) -> list[tuple[Any, ...]]:
        page = read_records(self.service.sink.index, query, 0, 1 << 30)
        parsed = [json.loads(line) for line in page.lines.splitlines()]
        return [(one["op"], one["t_start"], one["t_end"], one["row"]) for one in parsed]

    def expected(self, query: str) -> list[tuple[Any, ...]]:
        """By brute force over all tuples that ever came."""
        self.script.edges = list(self.edges)
        for name, lines in self.written.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (self.folder / f"{name}.jsonl").write_text(text)
        lives = {name: lives_of(self.script.tables[name], self.folder) for name in self.tables}
        for one in lives.values():
            one.tuples = [life for life in one.tuples if life.start < END]
        trees = Trees(self.script, lives).of(query, lambda nodes, edges: self._counts(query, nodes, edges))
        records = []
        for tree in trees:
            records.append(("+", tree.start, tree.natural, tree.row))
            if tree.end < tree.natural:
                records.append(("-", tree.start, tree.end, tree.row))
        return records

    def _counts(self, query: str, nodes: frozenset[Node], edges: list[Edge]) -> bool:
        steps = [self.arrived[node.life.row["id"]] for node in nodes if node.is_stream]
        last = max(steps)
        return (
            min(steps) >= self.queries[query].since
            and all(self.tables[node.table].covers(last) for node in nodes)
            and all(any(span.covers(last) for span in self.edges[edge]) for edge in edges)
        )


@dataclass
class Change:
    """What may happen in a story, besides searches and tuples that come, and how often, in percent."""

    percent: int
    happen: Callable[[SearchStory, Random], object]


def _add_joined(add: Callable[[SearchStory, Random], str]) -> Callable[[SearchStory, Random], None]:
    """Declare a table, with a join now or later."""

    def happen(story: SearchStory, rng: Random) -> None:
        if len(story.tables) < MOST_TABLES:
            name = add(story, rng)
            if rng.random() < 0.7:
                story.add_edge(rng, name)

    return happen


MOST_TABLES = 7  # in a story: brute force looks at all sets of tuples
CHANGES = [
    Change(8, lambda story, rng: story.add_edge(rng)),
    Change(5, lambda story, rng: story.drop_edge(rng)),
    Change(4, lambda story, rng: story.drop_table(rng)),
    Change(3, lambda story, rng: story.restart()),
    Change(4, _add_joined(lambda story, rng: story.add_stream(rng))),
]
DELETIONS = [*CHANGES, Change(8, _add_joined(lambda story, rng: story.add_stream(rng, deleting=True)))]
RELATIONS = [*CHANGES, Change(8, _add_joined(lambda story, rng: story.add_relation(rng)))]


def _check(rng: Random, changes: Sequence[Change]) -> Counter[str]:
    """Compare all searches of a random story; how many records there were, by kind and by tables."""
    with tempfile.TemporaryDirectory() as name:
        story = SearchStory(Path(name))
        for _ in range(3):
            story.add_stream(rng)
        for _ in range(3):
            story.add_edge(rng)
        for _ in range(rng.randint(20, 30)):
            _step(story, rng, changes)
        story.end()
        got = {query: story.records(query) for query in story.queries}
        story.service.close()
        expected = {query: story.expected(query) for query in story.queries}
    for query in got:
        what = f"{story.script.queries[query]} since {story.queries[query].since}"
        assert difference(expected[query], got[query]) == ([], []), what
    return _seen(story, [record for records in expected.values() for record in records])


def _seen(story: SearchStory, records: Sequence[tuple[Any, ...]]) -> Counter[str]:
    seen = Counter[str]()
    for op, _, _, row in records:
        tables = [story.script.tables[one["stream"]] for one in row["tuples"]]
        deleting, stored = any(one.retractable for one in tables), any(not one.is_stream for one in tables)
        seen += Counter({op: 1, "deleting": int(deleting), "stored": int(stored)})
    return seen


def _step(story: SearchStory, rng: Random, changes: Sequence[Change]) -> None:
    what = rng.random() * 100
    if what < 20 or not story.queries:
        story.add_query(rng)
        return
    what -= 20
    for change in changes:
        if what < change.percent:
            change.happen(story, rng)
            return
        what -= change.percent
    story.feed(rng)


@seeds(4)
def test_searches_count_from_their_registration(seed: int) -> None:
    seen = _check(Random(seed), [])
    if seed == 0:  # of the first story it is known that there are some
        assert seen["+"] > 10


@seeds(4)
def test_searches_follow_the_schema(seed: int) -> None:
    seen = _check(Random(1000 + seed), CHANGES)
    if seed == 0:
        assert seen["+"] > 10


@seeds(4)
def test_streams_with_deletions_enter_searches_that_are_there(seed: int) -> None:
    seen = _check(Random(2001 + seed), DELETIONS)
    if seed == 0:
        assert seen["deleting"] > 10 and seen["-"] > 0


@seeds(4)
def test_relations_enter_searches_that_are_there(seed: int) -> None:
    seen = _check(Random(3007 + seed), RELATIONS)
    if seed == 0:
        assert seen["stored"] > 10


def _waiting(folder: Path, *, joined: bool) -> SearchStory:
    """A search, and a pair of tuples of which the later one waits until its instant is complete."""
    story = SearchStory(folder)
    for name, clause in (("film", ""), ("review", " RETRACTABLE")):
        (folder / f"{name}.jsonl").touch()
        story.written[name] = []
        columns = "(k BIGINT, words STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10"
        story.register(f"CREATE STREAM {name} {columns}{clause} FROM '{name}.jsonl';")
    if joined:
        story.register("CREATE JOIN film.k = review.k;")
    story.register("CREATE QUERY q AS SEARCH 'amber basil';")
    story._write("film", {"k": 1, "words": "amber", "ts": 5})
    story._write("review", {"k": 1, "words": "basil", "ts": 5})
    story._run()
    return story


def _ended(story: SearchStory) -> list[tuple[Any, ...]]:
    for name in story.written:
        story._write(name, {"ts": END})
    story._run()
    records = story.records("q")
    story.service.close()
    return records


def test_join_counts_for_tuples_that_arrived_before_it_was_dropped(tmp_path: Path) -> None:
    story = _waiting(tmp_path, joined=True)
    assert story.records("q") == []
    story.register("DROP JOIN film.k = review.k;")
    assert [record[:3] for record in _ended(story)] == [("+", 5, 15)]


def test_join_does_not_count_for_tuples_that_arrived_before_it_was_created(tmp_path: Path) -> None:
    story = _waiting(tmp_path, joined=False)
    story.register("CREATE JOIN film.k = review.k;")
    assert _ended(story) == []


def test_dropped_join_is_forgotten_when_nothing_waits(tmp_path: Path) -> None:
    story = _waiting(tmp_path, joined=True)
    story.register("DROP JOIN film.k = review.k;")
    watch = next(node for node in story.service.registrar.network.nodes.values() if node.kind == "watch")
    assert isinstance(watch, WatchNode) and len(watch.edges) == 1
    _ = [story._write(name, {"ts": 50}) for name in story.written]
    story._run()
    story.register("CREATE JOIN film.words = review.words;")
    watch = story.service.registrar.network.nodes[watch.id]
    assert isinstance(watch, WatchNode) and [edge.left_column for edge in watch.edges] == [1]
    story.service.close()


def test_table_of_another_form_under_the_same_name_is_another(tmp_path: Path) -> None:
    story = _waiting(tmp_path, joined=True)
    (tmp_path / "again.jsonl").touch()
    story.register(
        "DROP JOIN film.k = review.k; DROP STREAM film; "
        "CREATE STREAM film (words STRING, k STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 10 "
        "FROM 'again.jsonl'; CREATE JOIN film.k = review.k;"
    )
    story.written = {"again": [], "review": []}
    story._write("again", {"k": "1", "words": "amber", "ts": 6})
    story._write("review", {"k": 1, "words": "basil", "ts": 6})
    texts = [json.dumps(record) for record in _ended(story)]
    assert sorted(text.count('"k": "1"') for text in texts) == [0, 1, 1], texts
