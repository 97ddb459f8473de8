"""A query counts from the moment it is registered, however much it shares with older ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from seine.algebra.plan_text import print_plan
from seine.network.plan.running_plan import restrict_to_arrivals, with_arrival
from seine.network.plan.strategy import CONFIGURATIONS
from tests.generators.scenario import related_scenario
from tests.support.live_runs import Pipeline, Story, alone, read_story
from tests.support.plan_interpreter import SOURCES
from tests.support.seeds import seeds

SCRIPT = """
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 's.jsonl';
CREATE STREAM w (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 RETRACTABLE FROM 'w.jsonl';
CREATE RELATION r (k BIGINT, name STRING) FROM 'r.jsonl';
"""
QUERIES = {
    "selection": "SELECT k, v FROM s WHERE v > 1",
    "columns": "SELECT a.k, b.ts AS seen FROM s a, s b WHERE a.k = b.k AND a.v < b.v",
    "self-join": "SELECT a.k, a.v AS x, b.v AS y FROM s a, s b WHERE a.k = b.k AND a.v < b.v",
    "three": "SELECT a.k, c.v FROM s a, s b, s c WHERE a.k = b.k AND b.k = c.k AND a.v < b.v AND b.v < c.v",
    "join": "SELECT s.k, s.v AS x, w.v AS y FROM s, w WHERE s.k = w.k",
    "relation": "SELECT s.v, r.name FROM s, r WHERE s.k = r.k",
    "all": "SELECT COUNT(*) AS n, SUM(v) AS total FROM s",
    "groups": "SELECT k, COUNT(*) AS n FROM s WHERE v > 0 GROUP BY k HAVING COUNT(*) > 1",
    "counts": "SELECT k, COUNT(*) AS n FROM s GROUP BY k",
    "least": "SELECT k, MIN(v) AS least, COUNT(v) AS n FROM s GROUP BY k",
    "above": "SELECT MAX(n) AS most FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) u",
    "joined groups": "SELECT s.v, u.n FROM s, (SELECT k, COUNT(*) AS n FROM w GROUP BY k) u WHERE s.k = u.k",
    "distinct": "SELECT DISTINCT v FROM s WHERE k < 3",
    "union": "SELECT v FROM s UNION SELECT v FROM w",
    "union all": "SELECT v FROM s UNION ALL SELECT v FROM w",
    "except": "SELECT v FROM s EXCEPT SELECT v FROM w",
    "retractable": "SELECT k, v FROM w WHERE v > 0",
    "retracted": "SELECT k, SUM(v) AS total FROM w GROUP BY k",
    "limited": "SELECT a.k, b.ts AS seen FROM s a, s b WHERE a.k = b.k AND a.v < b.v",
    "limited star": "SELECT a.ts, b.ts AS seen FROM s a, r, s b WHERE a.k = r.k AND r.k = b.k",
}
OPTIONS = {"limited": "WITH (memory = 6, shed = 'rand')", "limited star": "WITH (memory = 8, shed = 'dgl')"}


def story(folder: Path, seed: int) -> Story:
    rng = Random(seed)
    lines: dict[str, list[str]] = {"s": [], "w": [], "r": [f'{{"k": {k}, "name": "n{k}"}}' for k in range(3)]}
    held: list[str] = []
    for time in range(40):
        row = f'"k": {rng.randint(0, 2)}, "v": {rng.randint(0, 4)}'
        lines["s"].append(f'{{{row}, "ts": {time}}}')
        if held and rng.random() < 0.4:
            gone = held.pop(rng.randrange(len(held)))
            lines["w"].append(f'{{"@op": "-", {gone}, "ts": {time}}}')
        else:
            held.append(row)
            lines["w"].append(f'{{{row}, "ts": {time}}}')
    for name, texts in lines.items():
        (folder / f"{name}.jsonl").write_text("\n".join(texts) + "\n")
    queries = "".join(
        f'CREATE QUERY "{name}" {OPTIONS.get(name, "")} AS {text};\n' for name, text in QUERIES.items()
    )
    (folder / "script.sql").write_text(SCRIPT + queries)
    return read_story(folder / "script.sql", folder / "intake", 8)


def test_the_scan_of_a_live_query_asks_for_young_tuples() -> None:
    plan = SOURCES[0]
    assert restrict_to_arrivals(plan, 7).schema == plan.schema
    assert print_plan(restrict_to_arrivals(plan, 7)) == (
        "Project k, x, ts\n  Select arrival >= 7\n    Scan a AS a"
    )
    stream = plan.stream  # type: ignore[attr-defined]
    assert with_arrival(with_arrival(stream)) == with_arrival(stream) and with_arrival(stream).arrival == len(
        stream.fields
    )


@seeds(2)
def test_a_query_reports_what_arrives_after_its_birth(tmp_path: Path, seed: int) -> None:
    """Each query is registered in three copies, at different entries, among all the others."""
    rng, events = Random(seed), story(tmp_path, seed)
    queries = events.declarations.queries
    births = {f"{name} {copy}": rng.randint(0, 4) for name in queries for copy in range(3)}
    pipeline = Pipeline(tmp_path / "live", events, live=True)
    for number, input_ in enumerate(events.inputs):
        for name, born in births.items():
            if born == number:
                pipeline.add(replace(queries[name[:-2]], name=name))
        pipeline.feed(input_)
    answered = 0
    for number, name in enumerate(queries):
        for born in {births[f"{name} {copy}"] for copy in range(3)}:
            fresh = alone(tmp_path / f"{number}-{born}", events, queries[name], born)
            expected = fresh.answer(name, 0, len(fresh.records))
            for copy in range(3):
                if births[f"{name} {copy}"] == born:
                    assert pipeline.answer(f"{name} {copy}", 0, len(events.inputs)) == expected
            answered += bool(expected)
    assert answered > 25 and len(events.inputs) > 5


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 87])
def test_queries_that_come_and_go_do_not_disturb_each_other(tmp_path: Path, seed: int) -> None:
    """Random queries over random streams; the service restarts now and then."""
    rng = Random(seed)
    events = read_story(
        related_scenario(seed, 3, 3).write(tmp_path), tmp_path / "intake", rng.choice([8, 15])
    )
    queries = list(events.declarations.queries.values())
    strategy = rng.choice([*CONFIGURATIONS.values()])
    pipeline = Pipeline(tmp_path / "live", events, live=True, strategy=strategy, buckets=rng.choice([1, 3]))
    for stream in events.declarations.streams.values():
        if stream.retractable:  # deletions are resolved before anybody reads the stream
            pipeline.network.watch(stream)
    lives: dict[str, list[int]] = {}
    for number, input_ in enumerate(events.inputs):
        waiting = [query for query in queries if query.name not in lives]
        for query in rng.sample(waiting, min(len(waiting), rng.choice([0, 1, 3, 5]))):
            pipeline.add(query)
            lives[query.name] = [number, len(events.inputs)]
        alive = [name for name, (_, end) in lives.items() if end > number]
        if alive and rng.random() < 0.25:
            lives[gone := rng.choice(alive)][1] = number
            pipeline.remove(gone)
        if rng.random() < 0.2:
            pipeline.restart()
        pipeline.feed(input_)
    total = 0
    for query in queries:
        born, end = lives.get(query.name, (0, 0))
        if born < end:
            fresh = alone(tmp_path / query.name, events, query, born)
            expected = fresh.answer(query.name, 0, end - born)
            assert pipeline.answer(query.name, 0, len(events.inputs)) == expected, query.text
            total += expected.total()
    assert total
