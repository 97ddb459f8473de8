"""Refusals of `emit = 'final'`: a hint that changes the answer says so."""

from __future__ import annotations

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.network.network import Network

STREAMS = """\
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM w (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'w.jsonl';
"""
GROUPS = "SELECT window.start AS x, COUNT(*) AS n FROM s GROUP BY window(ts, 10)"


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        (f"{GROUPS} EXCEPT ALL {GROUPS}", "without ALL, which tells equal rows once"),
        ("SELECT k FROM s QUALIFY RANK() OVER (PARTITION BY k ORDER BY v) = 1", "a row for each such time"),
        ("SELECT k FROM w EXCEPT SELECT k FROM w y", "tuples count whatever their age"),
        ("SELECT w.k, COUNT(*) AS n FROM w, s WHERE w.k = s.k GROUP BY w.k", "count whatever their age"),
    ],
)
def test_a_hint_says_what_it_changes(sql: str, change: str) -> None:
    options = "WITH (emit = 'final', unbounded = true)"
    script = parse_script(f"{STREAMS}CREATE QUERY q {options} AS {sql};", file="script.sql", folder="/data")
    with pytest.raises(SeineError) as refused:
        Network().add(script.declarations.queries["q"], 0)
    assert change in (refused.value.hint or "")
