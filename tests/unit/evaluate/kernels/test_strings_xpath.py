"""xpath functions in SELECT: documents join relational streams, are grouped, and are records as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.run_local import run_local

SCRIPT = """\
CREATE STREAM n (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'n.jsonl';
CREATE STREAM p (symbol STRING, price DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'p.jsonl';
CREATE QUERY joined AS SELECT xpath_string(n.doc, 'news/title') AS title, p.price FROM n, p
  WHERE xpath_string(n.doc, 'news/@symbol') = p.symbol AND xpath_int(n.doc, 'news/stars') >= 3;
CREATE QUERY counted AS SELECT xpath_string(doc, 'news/@symbol') AS symbol, COUNT(*) AS n FROM n
  WHERE xpath_boolean(doc, 'news/title') GROUP BY xpath_string(doc, 'news/@symbol');
CREATE QUERY whole AS SELECT doc, xpath_double(doc, 'news/stars') AS stars FROM n WHERE ts = 1;
CREATE QUERY everything AS SELECT * FROM n WHERE doc IS NULL;
"""
UP = "<news symbol='A'><title>up</title><stars>4</stars></news>"
NEWS = [
    {"doc": UP, "ts": 1},
    {"doc": "<news symbol='A'><title>down</title><stars>2</stars></news>", "ts": 2},
    {"doc": "<x:news xmlns:x='urn:x' symbol='B'><title>flat</title><stars>5</stars></x:news>", "ts": 3},
    {"doc": None, "ts": 4},
    {"doc": "<news>", "ts": 5},
]
PRICES = [
    {"symbol": "A", "price": 10.5, "ts": 2},
    {"symbol": "B", "price": 7, "ts": 4},
    {"symbol": "", "price": 1, "ts": 5},
]


@pytest.mark.parametrize(("batch_rows", "buckets"), [(None, 2), (1, 3)])
def test_documents_in_select(tmp_path: Path, batch_rows, buckets):
    (tmp_path / "script.sql").write_text(SCRIPT)
    for name, lines in (("n", NEWS), ("p", PRICES)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = run_local(str(tmp_path / "script.sql"), batch_rows=batch_rows, buckets=buckets)
    records = {name: [] for name in ("joined", "counted", "whole", "everything")}
    for record in result.records:
        records[record["query"]].append((record["op"], record["t_start"], *record["row"].values()))
    assert sorted(records["joined"]) == [("+", 2, "up", 10.5), ("+", 4, "flat", 7.0)]
    assert records["whole"] == [("+", 1, UP, 4.0)]
    assert records["everything"] == [("+", 4, None, 4)]
    changes = [("+", 1, "A", 1), ("+", 2, "A", 2), ("+", 3, "B", 1), ("-", 2, "A", 1)]
    assert sorted(records["counted"]) == changes
    assert len(result.dead) == 1 and "broken XML" in result.dead[0]["reason"]
