"""Time-outs of punctuations: conditions on times that free what a missed punctuation would have freed."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.network.plan.strategy import CONFIGURATIONS
from seine.optimizer.block import block_of
from seine.run_local import run_local
from seine.safety.verdict import verdict
from seine.safety.verdict_story import safety_lines
from tests.support.front_end import parse
from tests.support.seeds import seeds

MOST = 6
DECLARED = f"""\
CREATE STREAM x (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (a) TIMEOUT {MOST} FROM 'x.jsonl';
CREATE STREAM y (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (a) TIMEOUT {MOST} FROM 'y.jsonl';
CREATE STREAM z (b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'z.jsonl';
"""


@pytest.mark.parametrize(
    ("sql", "bounds"),
    [
        ("SELECT x.a FROM x, y WHERE x.a = y.a", 2),
        ("SELECT x.a FROM x, y WHERE x.a - y.a = 0", 2),
        ("SELECT x.a FROM x, y WHERE x.b = y.b", 0),
        ("SELECT x.a FROM x, y, z WHERE x.a = y.a AND y.b = z.b", 2),
        ("SELECT x.a FROM x, y, x w WHERE x.a = y.a AND y.a = w.a", 6),
        ("SELECT x.a FROM x, z WHERE x.a = z.b", 1),
        ("SELECT p.a FROM (SELECT a FROM x) p, y WHERE p.a = y.a", 2),
    ],
)
def test_joined_streams_get_a_condition(sql: str, bounds: int) -> None:
    plan = parse(f"{DECLARED}CREATE QUERY q WITH (unbounded = true) AS {sql};").declarations.queries["q"].plan
    texts = [str(condition) for condition in block_of(plan).conditions]
    assert sum(text.startswith("le(") for text in texts) == bounds


def test_check_tells_what_is_left_out() -> None:
    query = parse(f"{DECLARED}CREATE QUERY q AS SELECT x.a FROM x, y WHERE x.a = y.a;").declarations.queries[
        "q"
    ]
    assert verdict(query).safe
    lines = safety_lines(query.plan)
    assert (
        f"time-out: a tuple of x that is more than {MOST} later than one with the same a does not join it"
        in lines
    )


def rows_of(rng: Random, name: str) -> list[dict[str, Any]]:
    """Tuples of which no value is ever punctuated: every punctuation is missed."""
    return [{"a": rng.randrange(5), **({"b": 1} if name != "z" else {}), "ts": time} for time in range(200)]


@seeds(2)
def test_without_any_punctuation_old_tuples_go_and_answers_are_those_of_the_conditions(
    seed: int, tmp_path: Path
) -> None:
    rng = Random(seed)
    rows = {name: rows_of(rng, name) for name in "xy"}
    query = "CREATE QUERY q AS SELECT x.ts AS p, y.ts AS q FROM x, y WHERE x.a = y.a;"
    (tmp_path / "q.sql").write_text(DECLARED + query)
    for name in "xyz":
        text = "".join(json.dumps(row) + "\n" for row in rows.get(name, []))
        (tmp_path / f"{name}.jsonl").write_text(text)
    expected = sorted(
        (x["ts"], y["ts"])
        for x in rows["x"]
        for y in rows["y"]
        if x["a"] == y["a"] and abs(x["ts"] - y["ts"]) <= MOST
    )
    for batch_rows, sharing in ((7, "all"), (50, "off")):
        result = run_local(str(tmp_path / "q.sql"), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing])
        assert sorted((r["row"]["p"], r["row"]["q"]) for r in result.records) == expected != []
        assert result.stats["queries"]["q"]["state_rows_peak"] < 4 * batch_rows
