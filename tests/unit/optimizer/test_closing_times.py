"""Closing times of outer, semi and anti joins: which conditions give them, and what they are."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Plan, Project, SetOperation, walk
from seine.algebra.plan_text import print_plan
from seine.frontends.script.parser import parse_script
from seine.optimizer.closing_times import CLOSES, with_closing_times

STREAMS = """\
CREATE STREAM a (k BIGINT, n INT, until BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'b.jsonl';
CREATE STREAM w (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w.jsonl';
CREATE STREAM d (k BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'd.jsonl';
CREATE STREAM t (k BIGINT, tm TIMESTAMP) TIMESTAMP BY tm FROM 't.jsonl';
CREATE STREAM u (k BIGINT, tm TIMESTAMP) TIMESTAMP BY tm FROM 'u.jsonl';
"""
CLOSING = {
    "a ANTI JOIN b ON b.ts BETWEEN a.ts AND a.ts + 10": "coalesce(ts + 10, ts)",
    "a SEMI JOIN b ON b.ts - a.ts < 10": "coalesce(ts + 9, ts)",
    "a ANTI JOIN b ON b.ts BETWEEN a.ts AND a.until": "greatest(ts, until)",
    "a ANTI JOIN b ON b.ts <= a.ts + a.n": (
        "greatest(ts, coalesce(CAST(n AS BIGINT) + ts + 0, greatest(CAST(n AS BIGINT), ts)))"
    ),
    "a ANTI JOIN b ON a.ts DIV 10 = b.ts DIV 10": "coalesce(ts + 18, ts)",
    "t ANTI JOIN u ON u.tm <= t.tm + INTERVAL '10' MINUTE": "coalesce(tm + INTERVAL 10 MINUTE, tm)",
}
PLAIN = {"a ANTI JOIN b ON b.ts <= a.ts AND b.k = a.k": "ts", "a ANTI JOIN b ON b.ts = a.ts": "ts"}
OPEN = (
    "a ANTI JOIN b ON a.k = b.k",
    "a ANTI JOIN b ON b.ts >= a.ts",
    "a ANTI JOIN b ON b.ts <= a.ts + 5 OR a.k = b.k",
    "a ANTI JOIN w ON w.ts <= a.ts + 5",
    "w ANTI JOIN b ON b.ts <= w.ts + 5",
    "a ANTI JOIN d ON d.ts <= a.ts + 5",
)


def closed(joined: str) -> SetOperation:
    script = parse_script(f"{STREAMS}CREATE QUERY q AS SELECT * FROM {joined};", file="s", folder="/data")
    plan = with_closing_times(script.declarations.queries["q"].plan)
    return next(part for part in walk(plan) if isinstance(part, SetOperation))


@pytest.mark.parametrize("joined", CLOSING)
def test_a_closing_time_is_a_column_of_both_inputs(joined: str) -> None:
    plan = closed(joined)
    assert plan.closes == len(plan.schema) - 1 and plan.schema[plan.closes].name == CLOSES
    assert [_last_output(side) for side in plan.inputs] == [CLOSING[joined]] * 2


@pytest.mark.parametrize("joined", PLAIN)
def test_a_time_that_closes_by_itself_is_no_further_column(joined: str) -> None:
    plan = closed(joined)
    assert plan.closes is not None and plan.closes in plan.reads
    assert plan.schema[plan.closes].name == PLAIN[joined]


@pytest.mark.parametrize("joined", OPEN)
def test_rows_that_wait_for_ever_have_none(joined: str) -> None:
    assert closed(joined).closes is None


def test_the_query_has_its_columns_as_before() -> None:
    joined = "SELECT a.*, b.ts AS met FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 10"
    script = parse_script(f"{STREAMS}CREATE QUERY q AS {joined};", file="s", folder="/data")
    plan = script.declarations.queries["q"].plan
    assert with_closing_times(plan).schema == plan.schema != ()


def _last_output(plan: Plan) -> str:
    assert isinstance(plan, Project)
    line = print_plan(plan).splitlines()[0]
    return line.rsplit(" AS ", 1)[0].split("ts, ", 1)[-1].split("tm, ", 1)[-1]
