"""Values that are reused begin anew: a tuple joins none from before the last punctuation of its values ended.

Random joins over streams that reuse few values again and again, cut into random micro-batches, with restarts:
the answers are those of brute force, which reads each stream line by line; and when every value has been
punctuated once more and time has passed, no join holds a tuple or a punctuation, though nothing has a window.

Cites: SAFETY 5.1 (lifespans, and the reuse of identifiers)
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from seine.network.network import Network
from seine.network.plan.strategy import AT_ONCE, TWO_BY_TWO, Strategy
from seine.operators.join.join import JoinNode
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.state.runs import Runs
from seine.rows.delta import FOREVER
from seine.safety.held_punctuations import held_schemes
from seine.safety.verdict import verdict
from tests.support.freed_runs import LARGEST_BATCH, joined_starts, query_of, write_lines
from tests.support.live_runs import Pipeline, read_story
from tests.support.seeds import seed_range, seeds

Line = dict[str, Any]
Column = tuple[int, str]  # of an alias
NAMES = "stu"
LAST, OVER, LATE = 60, 200, 1000  # tuples that count; the last punctuations; strangers
WAYS = {
    "eager": Strategy(),
    "lazy": Strategy(lazy=True),
    "batches": Strategy(lazy=True, purge_batch=9),
    "two by two": Strategy(plans=TWO_BY_TWO),
    "unshared": replace(Strategy(plans=AT_ONCE), share=False, fewest_schemes=True),
}


@dataclass(frozen=True)
class Reusing:
    """A stream: after how long it reuses the values of a scheme, None if never, and how late it may be."""

    schemes: dict[tuple[str, ...], int | None]
    lateness: int

    def declared(self, name: str) -> str:
        clauses = "".join(
            f" PUNCTUATED ON ({', '.join(columns)})" + (f" REUSED AFTER {after}" if after else "")
            for columns, after in self.schemes.items()
        )
        return (
            f"CREATE STREAM {name} (a BIGINT, b STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts"
            f" LATENESS {self.lateness}{clauses} FROM '{name}.jsonl';"
        )

    def judged(self, lines: list[Line]) -> list[Line]:
        """The tuples that are let in, each with the instant since when its values are what they are."""
        clock, collected = -(10**9), []
        ends: defaultdict[tuple[tuple[str, ...], tuple[Any, ...]], int] = defaultdict(lambda: -(10**9))
        for line in lines:
            if "@punctuate" in line:
                columns = next(c for c in self.schemes if {*c} == {*line["@punctuate"]})
                key = columns, tuple(line["@punctuate"][c] for c in columns)
                after = self.schemes[columns]
                ends[key] = max(ends[key], line["ts"] + after if after else 10**9)
                continue
            since = {columns: ends[columns, tuple(line[c] for c in columns)] for columns in self.schemes}
            if line["ts"] >= clock - self.lateness and line["ts"] >= max(since.values()):
                clock = max(clock, line["ts"])
                collected.append({**line, "since": since})
        return collected


@dataclass(frozen=True)
class Drawn:
    """A join of some aliases of streams."""

    streams: dict[str, Reusing]
    aliases: tuple[str, ...]
    equal: tuple[tuple[Column, Column], ...]

    @property
    def text(self) -> str:
        chosen = ", ".join(f"t{i}.v AS v{i}" for i in range(len(self.aliases)))
        tables = ", ".join(f"{stream} t{i}" for i, stream in enumerate(self.aliases))
        parts = [f"t{i}.{one} = t{j}.{other}" for (i, one), (j, other) in self.equal]
        return f"SELECT {chosen} FROM {tables} WHERE {' AND '.join(parts)}"

    def script(self) -> str:
        declared = [stream.declared(name) for name, stream in self.streams.items()]
        return "\n".join([*declared, f"CREATE QUERY q WITH (unbounded = true) AS {self.text};"])

    def answers(self, rows: dict[str, list[Line]]) -> Counter[tuple[int, ...]]:
        chains = itertools.product(*(rows[stream] for stream in self.aliases))
        return Counter(tuple(row["v"] for row in chain) for chain in chains if self._fits(chain))

    def _fits(self, chain: tuple[Line, ...]) -> bool:
        if not all(chain[i][one] == chain[j][other] for (i, one), (j, other) in self.equal):
            return False
        pairs = itertools.permutations(range(len(chain)), 2)
        return all(self._meet(chain, i, j) for i, j in pairs)

    def _meet(self, chain: tuple[Line, ...], i: int, j: int) -> bool:
        """Whether a tuple has no values that began anew after another one that is compared in all of them."""
        reused = [c for c, after in self.streams[self.aliases[i]].schemes.items() if after]
        compared = [c for c in reused if all(self._are_equal((i, column), j) for column in c)]
        return all(chain[i]["since"][columns] <= chain[j]["ts"] for columns in compared)

    def _are_equal(self, column: Column, other: int) -> bool:
        """Whether equalities lead from a column to one of another alias."""
        reached, grown = {column}, True
        while grown:
            more = {side for pair in self.equal if reached & {*pair} for side in pair}
            grown = not more <= reached
            reached |= more
        return any(alias == other for alias, _ in reached)


def draw(rng: Random) -> Drawn:
    streams = {}
    for name in NAMES:
        schemes = rng.sample([("a",), ("b",), ("a", "b"), ("b", "a")][: rng.choice([1, 3])], 1)
        if rng.random() < 0.4:
            schemes += [s for s in [("a",), ("b",)] if s not in schemes]
        after = {columns: rng.choice([5, 12, 12, None]) for columns in schemes}
        streams[name] = Reusing(after, rng.choice([0, 0, 3]))
    count = rng.choice([2, 2, 3])
    aliases = tuple(rng.choice(NAMES) if rng.random() < 0.2 else NAMES[i] for i in range(count))
    equal: list[tuple[Column, Column]] = []
    for i in range(1, count):
        columns = rng.choice(["a", "a", "b", "ab"])
        equal += [((i, column), (rng.randrange(i), column)) for column in columns]
    return Drawn(streams, aliases, tuple(equal))


def lines(rng: Random, stream: Reusing) -> list[Line]:
    """Few values, punctuated again and again, truthfully or not; at the end all of them once more."""
    collected: list[Line] = []
    for number in range(LAST):
        time = number // 2 + rng.choice([0, 0, 0, -2, 3])
        values = {"a": rng.randrange(3), "b": rng.choice("pq")}
        if rng.random() < 0.3:
            columns = rng.choice([*stream.schemes])
            collected.append({"@punctuate": {c: values[c] for c in columns}, "ts": time})
        else:
            collected.append({**values, "v": number, "ts": time})
    for columns in stream.schemes:
        for key in itertools.product(*(range(3) if c == "a" else "pq" for c in columns)):
            collected.append({"@punctuate": dict(zip(columns, key, strict=True)), "ts": OVER})
    return collected


def strangers(number: int, more: int) -> list[Line]:
    """Tuples that join nothing, while every stream is open."""
    times = [*range(OVER + 100, OVER + 100 + more), *range(LATE, LATE + 2 * LARGEST_BATCH)]
    return [{"a": 10_000 * (number + 1) + t, "b": f"none {number} {t}", "v": -1, "ts": t} for t in times]


def run(folder: Path, plans: str, rng: Random) -> Pipeline:
    script = folder / "script.sql"
    story = read_story(script, folder / f"journal {plans}", rng.choice([3, 9, 20, LARGEST_BATCH]))
    (folder / plans).mkdir()
    pipeline = Pipeline(
        folder / plans, story, live=False, strategy=WAYS[plans], buckets=rng.choice([1, 2, 3])
    )
    pipeline.network.add(query_of(script))
    for input_ in story.inputs:
        if max(input_.clock.watermarks.values()) < FOREVER:
            pipeline.feed(input_)
            if rng.random() < 0.05:
                pipeline.restart()
    return pipeline


def punctuations_held(pipeline: Pipeline) -> int:
    names = [(store, name) for store in pipeline.stores() for name in store.head]
    return sum(Runs(store, name).rows for store, name in names if name.startswith("punctuations"))


def write(folder: Path, drawn: Drawn, rng: Random) -> dict[str, list[Line]]:
    """The script and its streams; the tuples that are let in."""
    fed = {name: lines(rng, stream) for name, stream in drawn.streams.items()}
    longest = max(map(len, fed.values()))
    for number, (name, lines_) in enumerate(fed.items()):
        write_lines(folder / f"{name}.jsonl", [*lines_, *strangers(number, longest - len(lines_))])
    (folder / "script.sql").write_text(drawn.script(), encoding="utf-8")
    return {name: drawn.streams[name].judged(lines_) for name, lines_ in fed.items()}


@seeds(5)
def test_answers_are_those_of_brute_force_and_safe_joins_end_empty(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    drawn = draw(rng)
    expected = drawn.answers(write(tmp_path, drawn, rng))
    query = query_of(tmp_path / "script.sql")
    for plans in rng.sample([*WAYS], 2):
        pipeline = run(tmp_path, plans, rng)
        rows = [record["row"] for records in pipeline.records for record in records]
        bag = Counter(tuple(row[key] for key in sorted(row)) for row in rows if -1 not in row.values())
        assert bag == expected, (plans, drawn.script())
        if verdict(query).safe and WAYS[plans].purge_batch == 0:
            assert not joined_starts(pipeline, OVER), (plans, drawn.script())
            if all(scheme.is_bounded for scheme in held_schemes(query.plan)):
                assert not punctuations_held(pipeline), (plans, drawn.script())


def test_they_are_joined_in_both_kinds_of_joins_and_old_tuples_would_have_joined(tmp_path: Path) -> None:
    two = many = safe = bounded = changed = 0
    for seed in seed_range(30):
        folder = tmp_path / str(seed)
        folder.mkdir()
        drawn = draw(Random(seed))
        rows = write(folder, drawn, Random(seed))
        query = query_of(folder / "script.sql")
        if verdict(query).safe:
            safe += 1
            bounded += all(scheme.is_bounded for scheme in held_schemes(query.plan))
            network = Network(Strategy(), live=False)
            network.add(query)
            two += any(isinstance(node, JoinNode) and any(p.reused for p in node.purges) for node in network)
            many += any(
                isinstance(n, MultiJoinNode) and any(p.partners for p in n.punctuated) for n in network
            )
        forgetful = {n: replace(one, schemes=dict.fromkeys(one.schemes)) for n, one in drawn.streams.items()}
        changed += drawn.answers(rows) != replace(drawn, streams=forgetful).answers(rows)
    assert min(safe, bounded, changed, two, many) > 3, (safe, bounded, changed, two, many)
