"""Searches, streams and joins that come and go in a service: every search reports the trees that it should.

A tree counts for a search if all its tuples came after the search, and if its streams and joins stood when
its last tuple came. The service is run by hand, and the trees are enumerated by brute force.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from seine.runtime.local_host import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.reference.compare import difference
from tests.reference.lives import lives_of
from tests.reference.script import Edge, Script, read_script
from tests.reference.trees import Node, Trees
from tests.support.seeds import seeds

WORDS = ("amber", "basil", "cedar")
COLUMNS = "(id BIGINT, k0 BIGINT, k1 BIGINT, t0 STRING, ts BIGINT) TIMESTAMP BY ts"
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

    def __post_init__(self) -> None:
        self.service = Service(ServiceFolder(str(self.folder / "state")), ServiceOptions(buckets=2, depth=3))
        self.host = LocalHost(self.service.deployment)

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def add_table(self, rng: Random) -> None:
        name = f"s{len(self.tables)}"
        (self.folder / f"{name}.jsonl").touch()
        text = f"CREATE STREAM {name} {COLUMNS} WINDOW {rng.choice([4, 8, 15])} FROM '{name}.jsonl';"
        self.register(text)
        self.script.tables |= read_script(text).tables
        self.tables[name] = Span(self.step)

    def add_edge(self, rng: Random) -> None:
        standing = [name for name, span in self.tables.items() if span.covers(self.step)]
        sides = [(rng.choice(standing), rng.choice(["k0", "k1"])) for _ in range(2)]
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
        """Drop a stream with its joins, if no OVER names it."""
        standing = [name for name, span in self.tables.items() if span.covers(self.step)]
        name = rng.choice(standing)
        if len(standing) < 2 or any(name in self._over(query) for query in self.queries):
            return
        for edge in self.edges:
            if self._stands(edge) and name in (edge[0][0], edge[1][0]):
                self._drop(edge)
        self.register(f"DROP STREAM {name};")
        self.tables[name].until = self.step

    def _over(self, query: str) -> list[str]:
        _, _, over = self.script.queries[query].partition(" OVER (")
        return over.partition(")")[0].split(", ")

    def add_query(self, rng: Random) -> None:
        name = f"q{len(self.queries)}"
        words = " ".join(rng.sample(WORDS, rng.choice([1, 2, 2, 3])))
        standing = [one for one, span in self.tables.items() if span.covers(self.step)]
        over = f" OVER ({', '.join(rng.sample(standing, rng.randint(1, len(standing))))})"
        text = f"SEARCH '{words}'{over if rng.random() < 0.4 else ''} MAX {rng.randint(2, 4)} TUPLES"
        self.register(f"CREATE QUERY {name} AS {text};")
        self.script.queries[name] = text
        self.queries[name] = Span(self.step)

    def feed(self, rng: Random) -> None:
        for _ in range(rng.randint(1, 7)):
            self.clock += rng.randint(0, 2)
            number = len(self.arrived) + 1
            self.arrived[number] = self.step
            row = {"id": number, "k0": rng.randint(1, 3), "k1": rng.randint(1, 3), "ts": self.clock}
            text = " ".join(rng.sample(WORDS, rng.choice([0, 1, 1, 2])))
            standing = [one for one, span in self.tables.items() if span.covers(self.step)]
            self._write(rng.choice(standing), row | {"t0": text})
        self._run()

    def _write(self, table: str, row: dict[str, Any]) -> None:
        with (self.folder / f"{table}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")

    def _run(self) -> None:
        while self.service.driver.run_some(self.host.run):
            pass
        self.step += 1

    def end(self) -> None:
        for name, span in self.tables.items():
            if span.covers(self.step):
                self._write(name, {"ts": END})
        self._run()

    def restart(self) -> None:
        """Open the service anew; the host stays, for it has the state of the pipeline."""
        self.service.close()
        self.service = Service(ServiceFolder(str(self.folder / "state")), ServiceOptions(buckets=2, depth=3))

    def records(self, query: str) -> list[tuple[Any, ...]]:
        page = read_records(self.service.sink.index, query, 0, 1 << 30)
        parsed = [json.loads(line) for line in page.lines.splitlines()]
        return [(one["op"], one["t_start"], one["t_end"], one["row"]) for one in parsed]

    def expected(self, query: str) -> list[tuple[Any, ...]]:
        """By brute force over all tuples that ever came."""
        self.script.edges = list(self.edges)
        lives = {name: lives_of(self.script.tables[name], self.folder) for name in self.tables}
        for one in lives.values():
            one.tuples = [life for life in one.tuples if life.start < END]
        trees = Trees(self.script, lives).of(query, lambda nodes, edges: self._counts(query, nodes, edges))
        return [("+", tree.start, tree.natural, tree.row) for tree in trees]

    def _counts(self, query: str, nodes: frozenset[Node], edges: list[Edge]) -> bool:
        steps = [self.arrived[node.life.row["id"]] for node in nodes]
        last = max(steps)
        return (
            min(steps) >= self.queries[query].since
            and all(self.tables[node.table].covers(last) for node in nodes)
            and all(any(span.covers(last) for span in self.edges[edge]) for edge in edges)
        )


def _check(rng: Random, changing: bool) -> int:
    """Compare all searches of a random story; how many trees there were."""
    with tempfile.TemporaryDirectory() as name:
        story = SearchStory(Path(name))
        for _ in range(3):
            story.add_table(rng)
        for _ in range(3):
            story.add_edge(rng)
        for _ in range(rng.randint(20, 30)):
            _step(story, rng, changing)
        story.end()
        got = {query: story.records(query) for query in story.queries}
        story.service.close()
        expected = {query: story.expected(query) for query in story.queries}
    for query in got:
        what = f"{story.script.queries[query]} since {story.queries[query].since}"
        assert difference(expected[query], got[query]) == ([], []), what
    return sum(map(len, expected.values()))


def _step(story: SearchStory, rng: Random, changing: bool) -> None:
    what = rng.random()
    if what < 0.2 or not story.queries:
        story.add_query(rng)
    elif what < 0.3 and changing:
        rng.choice([story.add_edge, story.add_edge, story.drop_edge])(rng)
    elif what < 0.34 and changing:
        story.drop_table(rng)
    elif what < 0.38 and changing:
        story.restart()
    elif what < 0.45 and changing and len(story.tables) < 6:
        story.add_table(rng)
        story.add_edge(rng)
    else:
        story.feed(rng)


@seeds(6)
def test_searches_count_from_their_registration(seed: int) -> None:
    trees = _check(Random(seed), changing=False)
    if seed == 0:  # of the first story it is known that there are some
        assert trees > 10


@seeds(6)
def test_searches_follow_the_schema(seed: int) -> None:
    trees = _check(Random(1000 + seed), changing=True)
    if seed == 0:  # of the first story it is known that there are some
        assert trees > 10
