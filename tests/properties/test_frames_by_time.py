"""Frames by time alone over partitions that never end: DuckDB's answers, and state within their reach."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS
from seine.run import Options
from seine.run_local import carried_here, run_local
from tests.reference.answers import Answers
from tests.reference.compare import difference, net_of
from tests.support.seeds import seeds

LATENESS = 5
STREAM = f"""\
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts LATENESS {LATENESS} FROM 's.jsonl';
"""
FRAMES = [  # of one query, from .. to .., behind a row
    *((f"{reach} PRECEDING AND CURRENT ROW",) for reach in (0, 1, 4, 9, 30)),
    ("7 PRECEDING AND 3 PRECEDING",),
    ("4 PRECEDING AND CURRENT ROW", "12 PRECEDING AND 4 PRECEDING"),
]


def _query(rng: Random) -> str:
    """A query whose functions have frames by time alone; constants let queries share what is alike."""
    calls = ["SUM(v)", "COUNT(*)", "MAX(v)", "COUNT(DISTINCT v)", "AVG(v)"]
    by = rng.choice(["k", "k", "k, v", "k DIV 3"])
    functions = [
        f"{rng.choice(calls)} OVER (PARTITION BY {by} ORDER BY ts RANGE BETWEEN {frame}) AS f{number}"
        for number, frame in enumerate(rng.choice(FRAMES))
    ]
    return f"SELECT k, v, ts, {', '.join(functions)} FROM s WHERE v IS NULL OR v <> {rng.randint(0, 4)}"


def _lines(rng: Random, count: int) -> list[dict[str, Any]]:
    """Tuples of keys that mostly come once or twice, some at the last moment at which they are let in."""
    lines: list[dict[str, Any]] = []
    latest = LATENESS
    for _ in range(count):
        time = latest + rng.choice([-LATENESS, -LATENESS, rng.randint(-LATENESS, 0), 0, 1, 2, 9])
        latest = max(latest, time) if lines else time
        keys = {"k": rng.choice([rng.randint(0, 2), rng.randint(0, 100)]), "v": rng.randint(0, 4)}
        lines.append({name: value for name, value in keys.items() if rng.random() > 0.05} | {"ts": time})
    return lines


def _write(folder: Path, script: str, lines: list[dict[str, Any]]) -> str:
    (folder / "s.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (folder / "script.sql").write_text(script)
    return str(folder / "script.sql")


@seeds(4)
def test_frames_by_time_are_those_of_duckdb(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    queries = {f"q{i}": _query(rng) for i in range(8)}
    options = {name: rng.choice(["", "WITH (emit = 'final')"]) for name in queries}
    statements = [f"CREATE QUERY {name} {options[name]} AS {sql};" for name, sql in queries.items()]
    path = _write(tmp_path, STREAM + "\n".join(statements), _lines(rng, 80))
    answers = Answers(STREAM, tmp_path)
    shown = 0
    for batch_rows in (1, rng.choice([3, 11]), None):
        sharing = CONFIGURATIONS[rng.choice(["all", "all", "off"])]
        result = run_local(path, batch_rows=batch_rows, buckets=rng.choice([1, 2, 3]), sharing=sharing)
        assert not result.dead
        for name, sql in queries.items():
            answers.lifted[name] = (
                sql.replace("k DIV 3", "k // 3"),
                True,
            )
            records = [record for record in result.records if record["query"] == name]
            assert all(record["op"] == "+" for record in records)
            for at in [*rng.sample(answers.instants(), 5), answers.final]:
                expected = answers.net(name, at)
                got = net_of(record for record in records if record["t_start"] <= at)
                assert difference(expected, got) == ([], []), (sql, at, batch_rows)
                shown += len(expected)
    assert shown > 1000


def test_state_is_what_is_in_reach_though_there_are_ever_new_keys(tmp_path: Path) -> None:
    over = "OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN {} PRECEDING AND CURRENT ROW)"
    queries = [f"CREATE QUERY q{r} AS SELECT k, COUNT(*) {over.format(r)} AS n FROM s;" for r in (1, 4)]
    lines = [{"k": number, "v": 0, "ts": number // 10} for number in range(8000)]
    path = _write(tmp_path, STREAM + "\n".join(queries), [*lines, {"k": 0, "v": 0, "ts": 2000}])
    with carried_here(
        read_script(path), Options(batch_rows=100, buckets=1, checkpoint=str(tmp_path / "c"))
    ) as run:
        totals = run.sink.totals
        assert totals.output_rows == 16002
        assert 100 < totals.group_peak < 3000
        assert sum(totals.group_rows.values()) <= 2
