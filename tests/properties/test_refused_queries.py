"""Queries that stay refused although streams punctuate, each with input that would be answered wrongly if a
punctuation or watermark freed their state at once (docs/design/safety.md lists them); and queries that free
state later, of which the same input is answered rightly.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM x (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) PUNCTUATED ON (b)
  FROM 'x.jsonl';
CREATE STREAM y (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'y.jsonl';
CREATE STREAM z (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'z.jsonl';
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE PUNCTUATED ON (a) FROM 'n.jsonl';
CREATE STREAM w (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'w.jsonl';
"""
LAST = {  # they join nothing, and carry the clocks on
    "x": {"a": 90, "b": 91, "ts": 50},
    "y": {"a": 92, "b": 93, "ts": 50},
    "z": {"a": 95, "b": 96, "ts": 50},
    "n": {"a": 94, "ts": 50},
    "w": {"a": 97, "ts": 50},
}
PUNCTUATED = {"@punctuate": {"a": 1}, "ts": 5}
Lines = dict[str, list[dict[str, Any]]]


def row(**values: int) -> dict[str, Any]:
    return {"a": 1, "b": 1, **values}


REFUSED: dict[str, tuple[str, Lines, list[dict[str, Any]]]] = {
    # z has promised a = 1, and a group has the count 1 again: its value is no key.
    "a join by the value of a function": (
        "SELECT g.a, z.ts AS t FROM (SELECT a, COUNT(*) AS n FROM x GROUP BY a) g, z WHERE g.n = z.a",
        {"x": [row(ts=1), PUNCTUATED, row(a=2, ts=40)], "z": [row(ts=2), PUNCTUATED]},
        [{"a": 1, "t": 2}, {"a": 2, "t": 2}, {"a": 90, "t": 2}],
    ),
    # The watermark has passed the bucket of the group, and its row ends when the tuple expires.
    "a join above groups over a window": (
        "SELECT g.n, z.ts AS t FROM z,"
        " (SELECT ts - ts % 10 AS b, COUNT(*) AS n FROM w GROUP BY ts - ts % 10) g"
        " WHERE g.b = z.ts - z.ts % 10",
        {"w": [{"a": 1, "ts": 5}], "z": [row(ts=5)]},
        [{"n": 1, "t": 50}],
    ),
    # x has punctuated a = 1, and y brings the row all the same.
    "a join above a UNION of which one branch punctuates": (
        "SELECT u.a, z.ts AS t FROM (SELECT a FROM x UNION SELECT a FROM y) u, z WHERE u.a = z.a",
        {"x": [row(a=2, ts=1), PUNCTUATED], "y": [row(ts=40)], "z": [row(ts=2), PUNCTUATED]},
        [{"a": 1, "t": 2}],
    ),
    # x has punctuated a = 1, and y takes the row away later: what was joined with it ends.
    "a join above EXCEPT of which the left side punctuates": (
        "SELECT d.a, z.ts AS t FROM (SELECT a FROM x EXCEPT SELECT a FROM y) d, z WHERE d.a = z.a",
        {"x": [row(ts=1), PUNCTUATED], "y": [row(ts=40)], "z": [row(ts=2), PUNCTUATED]},
        [],
    ),
    # A row of x meets y by a, and y meets the groups by b: it is of use until these are closed for y's rows.
    "a join of three items with groups, by different keys": (
        "SELECT x.ts AS t, g.n FROM x, z, (SELECT b, COUNT(*) AS n FROM y GROUP BY b) g"
        " WHERE x.a = z.a AND z.b = g.b",
        {"x": [row(ts=1), PUNCTUATED], "z": [row(ts=2), PUNCTUATED], "y": [row(ts=3), row(ts=40)]},
        [{"t": 1, "n": 2}],
    ),
    # x has punctuated a = 1, and a deletion ends the pair that was reported.
    "a join with a RETRACTABLE stream": (
        "SELECT x.ts AS p, n.ts AS q FROM x, n WHERE x.a = n.a",
        {"x": [row(ts=1), PUNCTUATED], "n": [{"a": 1, "ts": 2}, {"@op": "-", "a": 1, "ts": 40}]},
        [],
    ),
}
FREED_LATER: dict[str, tuple[str, Lines, list[dict[str, Any]]]] = {
    # x has punctuated a = 1, and the group a = 1 grows all the same: its row waits for those of y.
    "a group freed by a chain": (
        "SELECT x.a, COUNT(*) AS n FROM x, y WHERE x.b = y.b GROUP BY x.a",
        {"x": [row(ts=1), PUNCTUATED], "y": [row(ts=2), row(ts=40)]},
        [{"a": 1, "n": 2}],
    ),
    # The group is final when x has punctuated it, but z's row came before: it must meet the last result.
    "a join above groups": (
        "SELECT g.n, z.ts AS t FROM (SELECT a, COUNT(*) AS n FROM x GROUP BY a) g, z WHERE g.a = z.a",
        {"x": [row(ts=1), row(ts=4), PUNCTUATED], "z": [row(ts=2), row(ts=40)]},
        [{"n": 2, "t": 2}, {"n": 2, "t": 40}],
    ),
}


def _net(tmp_path: Path, sql: str, lines: Lines, options: str) -> Counter[str]:
    (tmp_path / "q.sql").write_text(f"{STREAMS}CREATE QUERY q{options} AS {sql};")
    for stream, last in LAST.items():
        text = "".join(json.dumps(line) + "\n" for line in [*lines.get(stream, []), last])
        (tmp_path / f"{stream}.jsonl").write_text(text)
    net: Counter[str] = Counter()
    records = run_local(str(tmp_path / "q.sql"), batch_rows=1).records
    for record in records:
        net[json.dumps(record["row"])] += 1 if record["op"] == "+" else -1
    assert records
    return Counter({text: count for text, count in net.items() if count})


def _is_safe(sql: str) -> bool:
    return verdict(parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"]).safe


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_would_be_answered_wrongly(name: str, tmp_path: Path) -> None:
    sql, lines, expected = REFUSED[name]
    assert not _is_safe(sql)
    assert _net(tmp_path, sql, lines, " WITH (unbounded = true)") == Counter(map(json.dumps, expected))


@pytest.mark.parametrize("name", FREED_LATER)
def test_what_is_freed_later_is_answered_rightly(name: str, tmp_path: Path) -> None:
    sql, lines, expected = FREED_LATER[name]
    assert _is_safe(sql)
    assert _net(tmp_path, sql, lines, "") == Counter(map(json.dumps, expected))
