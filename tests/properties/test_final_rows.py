"""Final rows are a stream: what is made of groups and set operators that the watermark makes final.

Streams have no windows, and arrive out of order. Each query is safe as it is written; its net result at any
instant is what DuckDB computes of the tuples up to then; with emit = 'final' each row of the result over all
tuples is told once, most of them long before input ends; and what is held does not grow with the streams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.operators.group import group_release
from seine.operators.join import settled_rows
from seine.operators.state import runs
from seine.safety.verdict import verdict
from tests.support.live_runs import Pipeline, Story, alone, read_story
from tests.support.seeds import seed_range, seeds
from tests.support.settled_streams import answer, net, random_tuples, write_streams

BUCKET = "ts - ts % 10"
TOPS = f"(SELECT k, {BUCKET} AS b, MAX(v) AS m FROM s GROUP BY k, {BUCKET})"
COUNTS = f"(SELECT {BUCKET} AS b, COUNT(*) AS n FROM t GROUP BY {BUCKET})"
FEW = f"(SELECT k, {BUCKET} AS b, COUNT(*) AS n FROM s GROUP BY k, {BUCKET} HAVING COUNT(*) < 3)"
QUERIES = {
    "groups of groups": f"SELECT b, COUNT(*) AS n, SUM(m) AS total FROM {TOPS} g GROUP BY b",
    "groups of groups that leave": f"SELECT b, COUNT(*) AS n, SUM(n) AS total FROM {FEW} g GROUP BY b",
    "coarser times": f"SELECT b - b % 30 AS c, SUM(n) AS n FROM {COUNTS} g GROUP BY b - b % 30",
    "the best of each bucket": (
        f"SELECT s.k, s.v, s.ts FROM s, (SELECT {BUCKET} AS b, MAX(v) AS m FROM s GROUP BY {BUCKET}) g"
        f" WHERE s.ts - s.ts % 10 = g.b AND s.v = g.m"
    ),
    "a stream with groups": f"SELECT t.v, g.m FROM t, {TOPS} g WHERE t.k = g.k AND g.b = t.ts - t.ts % 10",
    "a stream with groups, by a range": (
        f"SELECT t.v, t.ts, g.m FROM t, {TOPS} g WHERE t.k = g.k AND t.ts BETWEEN g.b AND g.b + 15"
    ),
    "groups with groups": f"SELECT g.k, g.m, h.n FROM {TOPS} g, {COUNTS} h WHERE g.b = h.b AND h.n > g.m",
    "three of one time": (
        f"SELECT g.k, h.n, f.n AS few FROM {TOPS} g, {COUNTS} h, {FEW} f"
        f" WHERE g.b = h.b AND f.b = h.b AND f.k = g.k"
    ),
    "groups of such pairs": (
        f"SELECT g.b, COUNT(*) AS n, MAX(h.n) AS most FROM {TOPS} g, {COUNTS} h WHERE g.b = h.b GROUP BY g.b"
    ),
    "DISTINCT beneath a join": (
        f"SELECT d.k, t.v FROM (SELECT DISTINCT k, {BUCKET} AS b FROM s WHERE v > 6) d, t"
        f" WHERE d.b = t.ts - t.ts % 10 AND d.k = t.k"
    ),
    "UNION beneath a join": (
        f"SELECT u.k, t.v FROM (SELECT k, {BUCKET} AS b FROM s WHERE v > 7"
        f" UNION SELECT k, {BUCKET} FROM t WHERE v < 2) u, t WHERE u.b = t.ts - t.ts % 10 AND u.k = t.k"
    ),
    "UNION ALL beneath groups": (
        f"SELECT b, COUNT(*) AS n FROM (SELECT b, m FROM {TOPS} g UNION ALL SELECT b, n FROM {COUNTS} h) u"
        f" GROUP BY b"
    ),
    "UNION ALL of groups": f"SELECT b, m FROM {TOPS} g UNION ALL SELECT b, n FROM {COUNTS} h",
    "EXCEPT of groups": f"SELECT k, b FROM {TOPS} g EXCEPT SELECT k, b FROM {FEW} f",
    "EXCEPT beneath a join": (
        f"SELECT d.k, t.v FROM (SELECT k, b FROM {TOPS} g EXCEPT SELECT k, b FROM {FEW} f) d, t"
        f" WHERE d.k = t.k AND d.b = t.ts - t.ts % 10"
    ),
    "DISTINCT of groups": f"SELECT DISTINCT b, m FROM {TOPS} g",
}


FINAL = " WITH (emit = 'final')"


def script(queries: dict[str, str]) -> str:
    return "\n".join(f"CREATE QUERY {name} AS {sql};" for name, sql in queries.items())


def both(names: Sequence[str]) -> dict[str, str]:
    """Each query as it is, and with its final rows."""
    made = {f"c{i}": QUERIES[name] for i, name in enumerate(names)}
    return made | {f"f{i}{FINAL}": QUERIES[name] for i, name in enumerate(names)}


def fed(folder: Path, story: Story, last: int | None = None, live: bool = False) -> Pipeline:
    """All queries of a story in one network, over its entries but the last ones."""
    (folder / "run").mkdir()
    pipeline = Pipeline(folder / "run", story, live=live)
    for query in story.declarations.queries.values():
        assert verdict(query).safe, verdict(query).reason
        pipeline.network.add(query)
    for input_ in story.inputs[:last]:
        pipeline.feed(input_)
    return pipeline


def records(pipeline: Pipeline, query: str, last: int | None = None) -> list[dict[str, Any]]:
    return [record for entry in pipeline.records[:last] for record in entry if record["query"] == query]


def held(pipeline: Pipeline) -> int:
    """How many rows joins, groups and what waits to be final hold."""
    names = ("left", "right", "rows", "groups")
    entries = [entry for store in pipeline.stores() for name in names for entry in store.head.get(name, ())]
    return sum(entry["rows"] for entry in entries)


@seeds(1)
def test_the_net_at_every_instant_and_the_final_rows(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    tuples = random_tuples(rng, 60)
    queries = both([*QUERIES])
    story = read_story(
        write_streams(tmp_path, tuples, query=script(queries)), tmp_path / "journal", rng.choice([5, 9])
    )
    pipeline = fed(tmp_path, story)
    instants = rng.sample(range(60), 3)
    for number, sql in enumerate(QUERIES.values()):
        changes, final = records(pipeline, f"c{number}"), records(pipeline, f"f{number}")
        whole = answer(sql, tuples)
        assert net(changes) == whole and len(whole) > 1, sql
        for instant in instants:
            assert net(changes, instant) == answer(sql, tuples, instant), (instant, sql)
        assert Counter(tuple(record["row"].values()) for record in final) == whole, sql
        assert {record["op"] for record in final} == {"+"}
        assert records(pipeline, f"f{number}", -2), sql


@seeds(1)
def test_times_of_final_rows_do_not_depend_on_batches(seed: int, tmp_path: Path) -> None:
    """Of groups by ten units of time a row is told as of their last instant, or of the end of input."""
    rng = Random(seed)
    tuples = random_tuples(rng, 60)
    queries = {name: sql for name, sql in both([*QUERIES]).items() if FINAL in name}
    by_batches = []
    for rows in (4, 11):
        folder = tmp_path / str(rows)
        story = read_story(write_streams(folder, tuples, query=script(queries)), folder / "journal", rows)
        pipeline = fed(folder, story)
        by_batches.append([sorted(map(str, records(pipeline, f"f{i}"))) for i in range(len(QUERIES))])
        counted = [record["t_start"] for record in records(pipeline, "f0")]
    assert by_batches[0] == by_batches[1]
    last = max(one["ts"] for rows_ in tuples.values() for one in rows_)
    assert set(counted) <= {*range(9, last, 10), last} and len(set(counted)) > 3


def test_what_is_held_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself: what one keeps does not hide behind others."""
    monkeypatch.setattr(group_release, "TUPLES_BETWEEN_RELEASES", 0)
    monkeypatch.setattr(settled_rows, "ROWS_LOOKED_AT_A_STEP", 0)
    monkeypatch.setattr(runs, "TOMBSTONES_BEFORE_SWEEP", 8)
    tuples = random_tuples(Random(1), 150)
    for name in Random(0).sample([*QUERIES], len(seed_range(6))):
        folder = tmp_path / name
        query = script({f"q{Random(name).choice(['', FINAL])}": QUERIES[name]})
        story = read_story(write_streams(folder, tuples, query=query), folder / "journal", 15)
        pipeline = fed(folder, story, 0)
        counts = []
        for input_ in story.inputs[:-2]:
            pipeline.feed(input_)
            counts.append(held(pipeline))
        half = len(counts) // 2
        assert 0 < max(counts[half:]) <= max(counts[:half]) * 1.5 + 10, (name, counts)


@seeds(1)
def test_births_and_restarts(seed: int, tmp_path: Path) -> None:
    """Registered while others run, and read back from disk, a query reports what it would alone."""
    rng = Random(seed)
    queries = both(rng.sample([*QUERIES], 3))
    path = write_streams(tmp_path, random_tuples(rng, 60), query=script(queries))
    story = read_story(path, tmp_path / "journal", 7)
    (tmp_path / "run").mkdir()
    pipeline = Pipeline(tmp_path / "run", story, live=True)
    births = {}
    for number, input_ in enumerate(story.inputs):
        if number < len(queries):
            query = [*story.declarations.queries.values()][number]
            births[query.name] = number
            pipeline.add(query)
        if number in (3, 6):
            pipeline.restart()
        pipeline.feed(input_)
    for name in rng.sample([*births], 3):
        expected = alone(tmp_path / name, story, story.declarations.queries[name], births[name])
        assert net(records(pipeline, name)) == net(records(expected, name)) != Counter()
