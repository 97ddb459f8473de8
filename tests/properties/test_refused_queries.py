"""Queries that stay refused although streams punctuate, each with input that would be answered wrongly if a
punctuation freed their state at once (docs/design/safety.md lists them).
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
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE PUNCTUATED ON (a) FROM 'n.jsonl';
"""
LAST = {  # they join nothing, and carry the clocks on
    "x": {"a": 90, "b": 91, "ts": 50},
    "y": {"a": 92, "b": 93, "ts": 50},
    "n": {"a": 94, "ts": 50},
}
PUNCTUATED = {"@punctuate": {"a": 1}, "ts": 5}


def row(**values: int) -> dict[str, Any]:
    return {"a": 1, "b": 1, **values}


CASES: dict[str, tuple[str, dict[str, list[dict[str, Any]]], list[dict[str, Any]]]] = {
    # x has punctuated a = 1, and the group a = 1 grows all the same: its row waits for those of y.
    "a group freed by a chain": (
        "SELECT x.a, COUNT(*) AS n FROM x, y WHERE x.b = y.b GROUP BY x.a",
        {"x": [row(ts=1), PUNCTUATED], "y": [row(ts=2), row(ts=40)]},
        [{"a": 1, "n": 2}],
    ),
    # The group is final when x has punctuated it, but y's row came before: it must meet the last result.
    "a join above groups": (
        "SELECT g.n, y.ts AS t FROM (SELECT a, COUNT(*) AS n FROM x GROUP BY a) g, y WHERE g.a = y.a",
        {"x": [row(ts=1), row(ts=4), PUNCTUATED], "y": [row(ts=2), row(ts=40)]},
        [{"n": 2, "t": 2}, {"n": 2, "t": 40}],
    ),
    # x has punctuated a = 1, and y takes the row away later: what was joined with it ends.
    "a join above EXCEPT": (
        "SELECT d.a, n.ts AS t FROM (SELECT a FROM x EXCEPT SELECT a FROM y) d, n WHERE d.a = n.a",
        {"x": [row(ts=1), PUNCTUATED], "y": [row(ts=40)], "n": [{"a": 1, "ts": 2}]},
        [],
    ),
    # x has punctuated a = 1, and a deletion ends the pair that was reported.
    "a join with a RETRACTABLE stream": (
        "SELECT x.ts AS p, n.ts AS q FROM x, n WHERE x.a = n.a",
        {"x": [row(ts=1), PUNCTUATED], "n": [{"a": 1, "ts": 2}, {"@op": "-", "a": 1, "ts": 40}]},
        [],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_refused_would_be_answered_wrongly(name: str, tmp_path: Path) -> None:
    sql, lines, expected = CASES[name]
    assert not verdict(parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"]).safe
    (tmp_path / "q.sql").write_text(f"{STREAMS}CREATE QUERY q WITH (unbounded = true) AS {sql};")
    for stream, last in LAST.items():
        text = "".join(json.dumps(line) + "\n" for line in [*lines.get(stream, []), last])
        (tmp_path / f"{stream}.jsonl").write_text(text)
    net: Counter[str] = Counter()
    records = run_local(str(tmp_path / "q.sql"), batch_rows=1).records
    for record in records:
        net[json.dumps(record["row"])] += 1 if record["op"] == "+" else -1
    assert Counter({text: count for text, count in net.items() if count}) == Counter(
        map(json.dumps, expected)
    )
    assert records
