"""Documents are told apart by stream, column and publication, however alike they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.run_local import run_local

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM t (a XML, b XML, ts BIGINT) TIMESTAMP BY ts FROM 't.jsonl';
"""
K = "<k>1</k>"


def rows_of(folder: Path, queries: str, query: str, lines: dict[str, list[dict[str, Any]]]) -> list[Any]:
    for name in ("s", "t"):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines.get(name, []))))
    (folder / "script.sql").write_text(SCRIPT + queries)
    first, second = (run_local(str(folder / "script.sql"), batch_rows=size).records for size in (None, 1))
    rows, again = ([r["row"] for r in records if r["query"] == query] for records in (first, second))
    assert sorted(map(str, rows)) == sorted(map(str, again))
    return rows


def test_two_columns_of_a_tuple_are_two_documents(tmp_path: Path) -> None:
    chain = "CREATE QUERY q AS XSCL $$ t.a//k->x JOIN{x=y, 9} s//k->y JOIN{y=z, 9} t.b//k->z $$;"
    rows = rows_of(tmp_path, chain, "q", {"s": [{"doc": K, "ts": 1}], "t": [{"a": K, "b": K, "ts": 2}]})
    assert len(rows) == 1
    again = chain.replace("t.b", "t.a")
    assert rows_of(tmp_path, again, "q", {"s": [{"doc": K, "ts": 1}], "t": [{"a": K, "ts": 2}]}) == []


def test_what_two_queries_publish_are_two_documents(tmp_path: Path) -> None:
    queries = """
CREATE QUERY one AS XSCL $$ s//k->x PUBLISH p $$;
CREATE QUERY other AS XSCL $$ s//k->x PUBLISH r $$;
CREATE QUERY q AS XSCL $$ p//k->u JOIN{u=v, 9} s//k->v JOIN{v=w, 9} r//k->w $$;
"""
    assert len(rows_of(tmp_path, queries, "q", {"s": [{"doc": K, "ts": 1}]})) == 1


@pytest.mark.parametrize("steps", ["s//e->x[@*->a]", "s//e->x[@*->a] JOIN{x=y, 0} t.a//*->y"])
def test_attributes_that_differ_in_namespace_alone(tmp_path: Path, steps: str) -> None:
    """Both are reported as 0/@lang; what is published of each is a document of its own."""
    queries = f"""
CREATE QUERY one AS XSCL $$ SELECT a FROM {steps} PUBLISH p $$;
CREATE QUERY q AS XSCL $$ p//attribute->v FOLLOWED BY{{v=w, 9}} s//w->w $$;
"""
    documents = ['<e xml:lang="en" lang="de"/>', "<w>de</w>", "<w>en</w>"]
    lines = [{"doc": text, "ts": ts} for ts, text in enumerate(documents, 1)]
    rows = rows_of(tmp_path, queries, "q", {"s": lines, "t": [{"a": "<z/>", "ts": 1}]})
    assert sorted(row["right_ts"] for row in rows) == [2, 3]


def test_attributes_that_differ_in_namespace_alone_in_a_chain(tmp_path: Path) -> None:
    query = "CREATE QUERY q AS XSCL $$ s//e->x[@*->a] JOIN{x=y, 0} t.a//z->y FOLLOWED BY{a=w, 9} s//w->w $$;"
    documents = ['<e xml:lang="en" lang="de"/>', "<w>de</w>", "<w>en</w>"]
    lines = [{"doc": text, "ts": ts} for ts, text in enumerate(documents, 1)]
    rows = rows_of(tmp_path, query, "q", {"s": lines, "t": [{"a": "<z/>", "ts": 1}]})
    assert sorted(row["right_ts"] for row in rows) == [2, 3]


def test_times_at_the_ends_of_their_range(tmp_path: Path) -> None:
    query = "CREATE QUERY q WITH (unbounded = true) AS XSCL $$ s//k->x FOLLOWED BY{x=y, INF} s//k->y $$;"
    times = [2 - 2**63, -5, 2**62 + 7, 2**63 - 2]
    rows = rows_of(tmp_path, query, "q", {"s": [{"doc": K, "ts": ts} for ts in times]})
    pairs = {(row["left_ts"], row["right_ts"]) for row in rows}
    assert pairs == {(one, other) for one in times for other in times if one < other}
    near = query.replace("INF", "10")
    assert rows_of(tmp_path, near, "q", {"s": [{"doc": K, "ts": ts} for ts in times]}) == []
