"""However a safe query is joined, two by two with promises between or all at once, it answers the same.

Random safe queries over streams that keep random promises, cut into random micro-batches: the answers of
the tree, of the join at once and of brute force are equal; and when all is promised no join holds a row.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from seine.network.joins.join_trees import tree_plan
from seine.network.network import Network
from seine.network.plan.strategy import AT_ONCE, TWO_BY_TWO, Strategy
from seine.operators.join.derived_punctuations import WAITING, DerivedPunctuationsNode
from seine.operators.join.join import JoinNode
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.rows.delta import FOREVER
from seine.safety.verdict import verdict
from tests.support.freed_runs import FAR, LARGEST_BATCH, LATE, joined_starts, query_of, write_lines
from tests.support.live_runs import Pipeline, read_story
from tests.support.seeds import seed_range, seeds

COLUMNS = "abc"
TREES = Strategy(plans=TWO_BY_TWO)
WAYS = {
    "tree": TREES,
    "lazy": replace(TREES, lazy=True, fewest_schemes=True),
    "any": TREES,  # by costs that are drawn: bushy, or with a join of several above others
    "at once": Strategy(plans=AT_ONCE),
}
Column = tuple[int, str]  # of an alias


@dataclass(frozen=True)
class Drawn:
    """A query over some aliases of streams, each with a window or none and with schemes."""

    streams: tuple[str, ...]  # of each alias
    windows: dict[str, int | None]
    schemes: dict[str, list[tuple[str, ...]]]
    equal: tuple[tuple[Column, Column], ...]
    bounds: tuple[tuple[int, int, int], ...]  # one alias begins at most so much later than another

    @property
    def text(self) -> str:
        chosen = ", ".join(f"t{i}.v AS v{i}" for i in range(len(self.streams)))
        tables = ", ".join(f"{stream} AS t{i}" for i, stream in enumerate(self.streams))
        parts = [f"t{i}.{one} = t{j}.{other}" for (i, one), (j, other) in self.equal]
        parts += [f"t{i}.ts <= t{j}.ts + {more}" for i, j, more in self.bounds]
        return f"SELECT {chosen} FROM {tables} WHERE {' AND '.join(parts)}"

    def script(self) -> str:
        lines = []
        for name, stream_schemes in self.schemes.items():
            window = f" WINDOW {self.windows[name]}" if self.windows[name] else ""
            clauses = "".join(f" PUNCTUATED ON ({', '.join(columns)})" for columns in stream_schemes)
            lines.append(
                f"CREATE STREAM {name} (a BIGINT, b BIGINT, c STRING, v BIGINT, ts BIGINT)"
                f" TIMESTAMP BY ts{window}{clauses} FROM '{name}.jsonl';"
            )
        return "\n".join([*lines, f"CREATE QUERY q WITH (unbounded = true) AS {self.text};"])

    def answers(self, rows: dict[str, list[dict[str, Any]]]) -> Counter[tuple[int, ...]]:
        """By brute force: one alias after the other."""
        chains: list[tuple[dict[str, Any], ...]] = [()]
        for alias, stream in enumerate(self.streams):
            chains = [
                (*chain, row) for chain in chains for row in rows[stream] if self._fits((*chain, row), alias)
            ]
        return Counter(tuple(row["v"] for row in chain) for chain in chains if self._alive(chain))

    def _fits(self, chain: tuple[dict[str, Any], ...], last: int) -> bool:
        for (i, one), (j, other) in self.equal:
            if max(i, j) == last and chain[i][one] != chain[j][other]:
                return False
        return all(chain[i]["ts"] <= chain[j]["ts"] + m for i, j, m in self.bounds if max(i, j) == last)

    def _alive(self, chain: tuple[dict[str, Any], ...]) -> bool:
        lives = [(row["ts"], self.windows[name]) for row, name in zip(chain, self.streams, strict=True)]
        ends = [start + window for start, window in lives if window is not None]
        return not ends or max(start for start, _ in lives) < min(ends)


def draw_ring(rng: Random) -> Drawn:
    """Three streams that only together free one another, and one or two more that hang on them."""
    equal: list[tuple[Column, Column]] = [((i, "b"), ((i + 1) % 3, "a")) for i in range(3)]
    names = list("sxyzw"[: rng.choice([4, 4, 5])])
    equal += [((i, "c"), (rng.randrange(3), "c")) for i in range(3, len(names))]
    schemes = {name: [("a",), ("c",)] if i < 3 else [("c",)] for i, name in enumerate(names)}
    windows = {name: rng.choice([None, None, None, 6]) for name in names}
    return Drawn(tuple(names), windows, schemes, tuple(equal), ())


def draw_pairs(rng: Random) -> Drawn:
    """Two pairs of streams, each of which frees its own rows; only the pairs, joined, free one another."""
    equal = (((0, "a"), (1, "a")), ((2, "a"), (3, "a")), ((0, "b"), (2, "b")), ((1, "c"), (3, "c")))
    schemes = {"s": [("a",), ("b",)], "x": [("a",)], "y": [("a",)], "z": [("a",), ("c",)]}
    windows = {name: rng.choice([None, None, None, 6]) for name in schemes}
    return Drawn(tuple(schemes), windows, schemes, equal, ())


def draw(rng: Random) -> Drawn:
    if rng.random() < 0.15:
        return draw_pairs(rng)
    if rng.random() < 0.35:
        return draw_ring(rng)
    count = rng.choice([3, 3, 4, 4, 5])
    names = list("sxyzw"[:count])
    streams = [*names[:-1], names[0]] if rng.random() < 0.2 else names
    shape = rng.choice(["chain", "star", "any"])
    equal: list[tuple[Column, Column]] = []
    for i in range(1, count):
        parent = {"chain": i - 1, "star": 0, "any": rng.randrange(i)}[shape]
        for _ in range(rng.choice([1, 1, 1, 2])):
            equal.append(rng.choice([((i, "c"), (parent, "c")), *_numbers(rng, i, parent)]))
    if rng.random() < 0.2:
        i, j = sorted(rng.sample(range(count), 2))
        equal += [((j, rng.choice("ab")), (i, rng.choice("ab")))]
    joined: dict[str, set[str]] = {name: set() for name in streams}
    for side in itertools.chain(*equal):
        joined[streams[side[0]]].add(side[1])
    schemes = {name: sorted(_schemes(rng, sorted(columns))) for name, columns in joined.items()}
    windows = {name: rng.choice([None, None, None, None, 6]) for name in joined}
    bounds = []
    if rng.random() < 0.25:
        i, j = rng.sample(range(count), 2)
        bounds = [(i, j, rng.randrange(4))] + ([(j, i, rng.randrange(4))] if rng.random() < 0.5 else [])
    return Drawn(tuple(streams), windows, schemes, tuple(dict.fromkeys(equal)), tuple(bounds))


def _numbers(rng: Random, one: int, other: int) -> list[tuple[Column, Column]]:
    return [((one, rng.choice("ab")), (other, rng.choice("ab"))) for _ in range(4)]


def _schemes(rng: Random, joined: list[str]) -> Iterator[tuple[str, ...]]:
    """Mostly each column that is joined; sometimes several together."""
    schemes = {(column,) for column in joined if rng.random() < 0.85}
    if len(joined) > 1 and rng.random() < 0.4:
        schemes.add(tuple(sorted(rng.sample(joined, 2))))  # type: ignore[arg-type]
    if rng.random() < 0.2:
        schemes.add((rng.choice(COLUMNS),))
    yield from schemes or {(joined[0],)}


def safe_query(rng: Random, folder: Path) -> Drawn:
    """A query that the check calls safe; its script is written."""
    while True:
        drawn = draw(rng)
        for name in drawn.schemes:
            (folder / f"{name}.jsonl").touch()
        (folder / "script.sql").write_text(drawn.script(), encoding="utf-8")
        query = query_of(folder / "script.sql")
        if verdict(query).safe:
            return drawn


def values(column: str) -> list[Any]:
    return ["p", "q", "r"] if column == "c" else [0, 1, 2]


def lines(rng: Random, schemes: list[tuple[str, ...]]) -> list[dict[str, Any]]:
    """Tuples and promises that they keep; at the end every promise."""
    wanted = [
        dict(zip(scheme, values_, strict=True))
        for scheme in schemes
        for values_ in itertools.product(*map(values, scheme))
    ]
    rng.shuffle(wanted)
    collected: list[dict[str, Any]] = []
    punctuated: list[dict[str, Any]] = []
    last = rng.choice([12, 16, 20])
    for time in range(last):
        if wanted and rng.random() < 0.4:
            punctuated.append(wanted.pop())
            collected.append({"@punctuate": punctuated[-1], "ts": time})
        row = {name: rng.choice(values(name)) for name in COLUMNS}
        if not any(p.items() <= row.items() for p in punctuated):
            collected.append({**row, "v": time, "ts": time})
    return [*collected, *({"@punctuate": one, "ts": last} for one in wanted)]


def with_strangers(fed: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """As many lines of every stream, so that all are open until the last tuples come, which join nothing."""
    longest = max(map(len, fed.values()))
    return {
        name: [*lines_, *(strangers(number, longest - len(lines_)))]
        for number, (name, lines_) in enumerate(fed.items())
    }


def strangers(number: int, more: int) -> list[dict[str, Any]]:
    collected = []
    for time in (*range(FAR, FAR + more), *range(LATE, LATE + 2 * LARGEST_BATCH)):
        a = 10_000 * (number + 1) + 2 * time
        collected.append({"a": a, "b": a + 1, "c": f"none {number} {time}", "v": -1, "ts": time})
    return collected


def answer(pipeline: Pipeline) -> Counter[tuple[int, ...]]:
    """What was reported; a stranger meets nobody but itself."""
    rows = [record["row"] for records in pipeline.records for record in records]
    bag = Counter(tuple(row[key] for key in sorted(row)) for row in rows)
    return Counter({values: count for values, count in bag.items() if -1 not in values})


@contextmanager
def drawn_costs(rng: Random) -> Iterator[None]:
    """Plans are chosen as if combinations of streams had sizes that are drawn."""
    sizes: dict[frozenset[int], float] = {}

    def rows(items: frozenset[int]) -> float:
        few = 0.01 if len(items) == 2 else 1.0  # so that pairs are joined first
        return sizes.setdefault(items, rng.uniform(1, 1000) * few)

    with mock.patch(
        "seine.network.joins.block_placing.tree_plan", lambda joined, *_: tree_plan(joined, rows)
    ):
        yield


def run(folder: Path, drawn: Drawn, plans: str, rng: Random) -> Pipeline:
    script = folder / "script.sql"
    query = query_of(script)
    story = read_story(script, folder / f"journal {plans}", rng.choice([7, 20, LARGEST_BATCH]))
    (folder / plans).mkdir()
    buckets = rng.choice([1, 2, 3])
    pipeline = Pipeline(folder / plans, story, live=False, strategy=WAYS[plans], buckets=buckets)
    with drawn_costs(rng) if plans == "any" else nullcontext():
        pipeline.network.add(query)
    for input_ in story.inputs:
        if max(input_.clock.watermarks.values()) < FOREVER:
            pipeline.feed(input_)
            latest = input_.clock
            if rng.random() < 0.05:
                pipeline.restart()
    assert min(latest.watermarks.values()) >= LATE
    return pipeline


def untold(pipeline: Pipeline) -> Iterator[str]:
    """Promises that joins have not told to those who listen, or not all of their buckets."""
    for store in pipeline.stores():
        yield from (name for name, held in store.head.items() if name.startswith(WAITING) and held)
        yield from (name for name, held in store.head.items() if name.endswith("_parts") and held)


def joins_beneath(network: Network, node: JoinNode | MultiJoinNode) -> Iterator[int]:
    """The inputs of a join that are joins themselves."""
    width = node.width if isinstance(node, MultiJoinNode) else 2
    for prefilter in node.inputs[:width]:
        below = network.nodes[network.nodes[prefilter].inputs[0]]
        if isinstance(below, JoinNode | MultiJoinNode):
            yield below.id


def is_tree(network: Network) -> bool:
    return any(isinstance(n, DerivedPunctuationsNode) for n in network)


@seeds(10)
def test_a_tree_answers_as_a_join_at_once_and_both_end_empty(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    drawn = safe_query(rng, tmp_path)
    fed = {name: lines(rng, schemes) for name, schemes in drawn.schemes.items()}
    for name, lines_ in with_strangers(fed).items():
        write_lines(tmp_path / f"{name}.jsonl", lines_)
    tuples = {name: [line for line in lines_ if "v" in line] for name, lines_ in fed.items()}
    expected = drawn.answers(tuples)
    for plans in WAYS:
        pipeline = run(tmp_path, drawn, plans, rng)
        assert answer(pipeline) == expected, (plans, drawn.text)
        assert not joined_starts(pipeline, FAR), (plans, drawn.text)
        assert not [*untold(pipeline)], (plans, drawn.text)


def test_many_of_them_are_trees_and_have_answers(tmp_path: Path) -> None:
    trees = wide = mixed = answered = bushy = above = 0
    for seed in seed_range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = Random(seed)
        drawn = safe_query(rng, folder)
        query = query_of(folder / "script.sql")
        network = Network(TREES, live=False)
        network.add(query)
        trees += is_tree(network)
        at_once = any(isinstance(node, MultiJoinNode) for node in network)
        wide += at_once and not is_tree(network)
        mixed += at_once and is_tree(network)
        assert any(isinstance(node, JoinNode | MultiJoinNode) for node in network)
        with drawn_costs(rng):
            network = Network(TREES, live=False)
            network.add(query)
        joined = [[*joins_beneath(network, node)] for node in network if isinstance(node, JoinNode)]
        bushy += any(len(sides) == 2 for sides in joined)
        above += any([*joins_beneath(network, n)] for n in network if isinstance(n, MultiJoinNode))
        fed = {name: lines(rng, schemes) for name, schemes in drawn.schemes.items()}
        answered += bool(drawn.answers({n: [x for x in lines_ if "v" in x] for n, lines_ in fed.items()}))
    counted = {
        "trees": trees,
        "wide": wide,
        "mixed": mixed,
        "answered": answered,
        "bushy": bushy,
        "above": above,
    }
    assert trees > 10 and wide > 2 and mixed > 2 and answered > 15 and bushy > 1 and above > 1, counted
