"""The documents of XSCL records are found again, and the nodes that are named in them have equal values."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from lxml import etree

from tests.support.http_rig import HttpRig

STREAMS = """
CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'push:';
CREATE STREAM e (doc XML, at TIMESTAMP) TIMESTAMP BY at FROM 'push:';
CREATE STREAM plain (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'push:';
"""
QUERIES = """
CREATE QUERY pairs AS XSCL $$ d//book->b[.//author->x][@id->i] JOIN{x = y, 100} d//blog->g[.//author->y] $$;
CREATE QUERY paths AS XSCL $$ d//book->b FOLLOWED BY{b//author = g//author, 9} d//blog->g $$;
CREATE QUERY chain AS XSCL $$ d//book->b[.//author->x] JOIN{x = y, 100} d//blog->g[.//author->y]
  JOIN{y = z, 100} d//note->n[.//author->z] $$;
CREATE QUERY single AS XSCL $$ e//book->b[.//author->x] $$;
CREATE QUERY rows AS SELECT a FROM plain;
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, depth=4)
    rig.register(STREAMS)
    rig.register(QUERIES)
    yield rig
    rig.close()


def _push(rig: HttpRig, stream: str, *rows: dict[str, Any]) -> None:
    body = "".join(json.dumps(row) + "\n" for row in rows)
    assert (
        rig.ask("POST", f"/v1/streams/{stream}/records", body, Content_Type="application/x-ndjson")[0] == 200
    )
    rig.run()


def _records(rig: HttpRig, query: str) -> list[dict[str, Any]]:
    lines = (rig.folder / "state" / "results.jsonl").read_text().splitlines()
    return [one["row"] for one in map(json.loads, lines) if one["query"] == query]


def _ask(rig: HttpRig, query: str, row: dict[str, Any]) -> dict[str, Any]:
    sent = {"right": row["right_ts"], "bindings": json.dumps(row["bindings"])}
    if row["left_ts"] is not None:
        sent["left"] = row["left_ts"]
    status, answer, _ = rig.ask("GET", f"/v1/queries/{query}/documents?{urlencode(sent)}")
    assert status == 200, answer
    return answer


def _value(text: str, node: int | str) -> str:
    """The string value of a node by its number, by counting elements as a reader of the page would."""
    number, _, attribute = str(node).partition("/@")
    element = [one for one in etree.fromstring(text).iter() if isinstance(one.tag, str)][int(number)]
    return str(element.get(attribute)) if attribute else "".join(element.itertext())


def _document(rng: random.Random) -> str:
    kind = rng.choice(["book", "blog", "note"])
    authors = "".join(f"<author>{rng.choice('abc')}</author>" for _ in range(rng.randint(1, 3)))
    return (
        f'<shop><!-- {rng.random()} --><x/><{kind} id="{rng.randint(0, 9)}"><p>{authors}</p></{kind}></shop>'
    )


def test_documents_of_random_records_are_found(rig: HttpRig) -> None:
    rng = random.Random(7)
    sent = [{"doc": _document(rng), "ts": ts // 2} for ts in range(40)]
    for start in range(0, 40, 10):
        _push(rig, "d", *sent[start : start + 10])
    checked = 0
    for query, blocks in (("pairs", 2), ("paths", 2), ("chain", 3)):
        for row in rng.sample(_records(rig, query), 12):
            answer = _ask(rig, query, row)
            texts = [one["text"] for one in answer["documents"]]
            assert len(texts) == blocks and answer["fitting"] >= 1
            times = [{each["ts"] for each in sent if each["doc"] == text} for text in texts]
            assert row["right_ts"] in times[-1] and (blocks == 3 or row["left_ts"] in times[0])
            documents = answer["documents"]
            placed = [(name, one["text"], node) for one in documents for name, node in one["nodes"].items()]
            assert row["bindings"].items() <= {name: node for name, _, node in placed}.items()
            values = {name: _value(text, node) for name, text, node in placed}
            assert answer["equal"] and all(values[a] == values[b] for a, b in answer["equal"])
            checked += 1
    assert checked == 36


def test_hidden_variables_are_named_as_such(rig: HttpRig) -> None:
    _push(rig, "d", {"doc": "<book><author>a</author></book>", "ts": 1})
    _push(rig, "d", {"doc": "<blog><author>a</author></blog>", "ts": 2})
    (row,) = _records(rig, "paths")
    left, right = _ask(rig, "paths", row)["documents"]
    assert row["bindings"] == {"b": 0, "g": 0}
    assert [left["nodes"][name] for name in left["hidden"]] == [1]
    assert [right["nodes"][name] for name in right["hidden"]] == [1]


def test_times_of_timestamps_and_single_blocks(rig: HttpRig) -> None:
    document = "<book><author>a</author><author>b</author></book>"
    _push(rig, "e", {"doc": document, "at": "2026-05-01T10:00:00.000001Z"})
    for row in _records(rig, "single"):
        (one,) = _ask(rig, "single", row)["documents"]
        assert one["text"] == document and one["nodes"] == row["bindings"]
    assert len(_records(rig, "single")) == 2


def test_rows_without_a_document_are_passed_over(rig: HttpRig) -> None:
    document = "<book><author>a</author></book>"
    at = "2026-05-01T10:00:00Z"
    _push(rig, "e", {"doc": None, "at": at}, {"doc": document, "at": at}, {"doc": None, "at": at})
    (row,) = _records(rig, "single")
    (one,) = _ask(rig, "single", row)["documents"]
    assert one["text"] == document


def test_documents_that_are_gone_are_null(rig: HttpRig) -> None:
    _push(rig, "d", {"doc": "<book><author>a</author></book>", "ts": 1})
    gone = {"left_ts": 1, "right_ts": 7, "bindings": {"b": 0, "g": 0}}
    answer = _ask(rig, "paths", gone)
    assert [one["text"] is None for one in answer["documents"]] == [False, True]
    assert answer["fitting"] == 0


@pytest.mark.parametrize(
    ("query", "parameters", "message"),
    [
        ("rows", {"right": "1", "bindings": "{}"}, "binds no nodes of documents"),
        ("pairs", {"right": "1", "bindings": "{}"}, "has a left time"),
        ("pairs", {"right": "x", "left": "1", "bindings": "{}"}, "no time of this query"),
        ("single", {"right": "2026-01-01", "bindings": "{}"}, "no time of this query"),
        ("single", {"right": "9" * 5000, "bindings": "{}"}, "no time of this query"),
        ("pairs", {"right": "1", "left": "9" * 30, "bindings": "{}"}, "no time of this query"),
        ("pairs", {"right": "1", "left": "1", "bindings": "[" * 9000}, "no object of numbers"),
        ("pairs", {"right": "1", "left": "1", "bindings": '{"b": [1]}'}, "no object of numbers"),
        ("pairs", {"right": "1", "left": "1", "bindings": '{"b": true}'}, "no object of numbers"),
    ],
)
def test_wrong_questions_are_refused(
    rig: HttpRig, query: str, parameters: dict[str, str], message: str
) -> None:
    status, answer, _ = rig.ask("GET", f"/v1/queries/{query}/documents?{urlencode(parameters)}")
    assert status == 400 and message in answer["error"]["message"]
