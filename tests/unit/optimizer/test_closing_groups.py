"""Groups of joined tuples: which have a closing time among their keys, and what it is."""

from __future__ import annotations

import pytest

from seine.algebra.event_windows import CLOSING
from seine.algebra.expressions import Call
from seine.algebra.plan import Aggregate, Plan, walk
from seine.algebra.plan_text import print_plan
from seine.frontends.script.parser import parse_script
from seine.optimizer.closing_groups import with_all_closing_times

_STREAMS = """\
CREATE STREAM a (k BIGINT, until BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, y BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'b.jsonl';
CREATE STREAM w (k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w.jsonl';
CREATE STREAM d (k BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'd.jsonl';
"""
_CLOSED = {
    "a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 10 GROUP BY a.k, a.ts": "ts + 10",
    "a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.until GROUP BY a.k, a.ts, a.until": "until",
    "a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 9 GROUP BY window(a.ts, 60)": "+ 8",
}
_OPEN = (
    "a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 10 GROUP BY a.k",
    "a JOIN b ON a.k = b.k GROUP BY a.k, a.ts",
    "a JOIN b ON a.k = b.k AND b.ts <= a.ts AND a.ts <= b.ts GROUP BY a.ts",
    "a GROUP BY a.k, a.ts",
    "a JOIN w ON a.k = w.k AND w.ts BETWEEN a.ts AND a.ts + 10 GROUP BY a.k, a.ts",
    "a JOIN d ON a.k = d.k AND d.ts BETWEEN a.ts AND a.ts + 10 GROUP BY a.k, a.ts",
)


def _plan(grouped: str) -> Plan:
    text = f"{_STREAMS}CREATE QUERY q AS SELECT COUNT(*) AS n FROM {grouped};"
    return parse_script(text, file="s", folder="/data").declarations.queries["q"].plan


def _groups(plan: Plan) -> Aggregate:
    return next(part for part in walk(plan) if isinstance(part, Aggregate))


@pytest.mark.parametrize("grouped", _CLOSED)
def test_a_closing_time_is_the_last_key(grouped: str) -> None:
    before = _plan(grouped)
    after = with_all_closing_times(before)
    closing = _groups(after).keys[-1]
    assert isinstance(closing, Call) and closing.name == CLOSING
    assert _groups(after).keys[:-1] == _groups(before).keys
    assert after.schema == before.schema  # the query has its columns as before
    line = next(line for line in print_plan(after).splitlines() if CLOSING in line)
    assert _CLOSED[grouped] in line[line.index(CLOSING) :]


@pytest.mark.parametrize("grouped", _OPEN)
def test_groups_that_no_condition_closes_stay_as_they_are(grouped: str) -> None:
    before = _plan(grouped)
    assert _groups(with_all_closing_times(before)).keys == _groups(before).keys
