"""ALTER STREAM s ADD COLUMN c type: what later statements see, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.algebra.plan import Scan, walk
from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script
from seine.run_local import run_local

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl' {};"


def script_of(text: str, clauses: str = "") -> Script:
    return parse_script(STREAM.format(clauses) + text, file="x.sql", folder="/")


def columns_read(script: Script, query: str) -> list[str]:
    (scan,) = [one for one in walk(script.declarations.queries[query].plan) if isinstance(one, Scan)]
    return [field.name for field in scan.stream.fields]


def test_later_statements_see_the_column_and_earlier_ones_do_not() -> None:
    script = script_of(
        "CREATE QUERY old AS SELECT * FROM s; ALTER STREAM s ADD COLUMN Channel VARCHAR(20);"
        "CREATE QUERY new AS SELECT * FROM s WHERE channel = 'web';"
    )
    assert columns_read(script, "old") == ["a", "ts"]
    assert columns_read(script, "new") == ["a", "ts", "channel"]
    assert [field.name for field in script.declarations.streams["s"].fields] == ["a", "ts", "channel"]
    assert script.altered == frozenset(), "the stream is new itself"


def test_a_known_stream_is_altered_unless_it_is_created_anew() -> None:
    known = script_of("").declarations

    def altered(text: str) -> frozenset[str]:
        return parse_script(text, file="x.sql", folder="/", known=known).altered

    add = "ALTER STREAM s ADD COLUMN c INT;"
    assert altered(add) == altered(f"{add} ALTER STREAM s ADD COLUMN d INT;") == {"s"}
    assert altered(f"{add} DROP STREAM s;") == frozenset()
    assert altered(f"DROP STREAM s; {STREAM.format('')} {add}") == frozenset()


@pytest.mark.parametrize(
    ("clauses", "statement", "reason"),
    [
        ("", "ALTER STREAM t ADD COLUMN c INT", "no stream t"),
        ("", "ALTER STREAM s ADD COLUMN A INT", "column A is declared twice"),
        ("", 'ALTER STREAM s ADD COLUMN "@op" INT', "marks a kind of line"),
        ("", "ALTER STREAM s ADD COLUMN c XML", "a column that is added cannot be XML"),
        ("", "ALTER STREAM s ADD COLUMN c INT UNIQUE", "has a name and a type, and nothing else"),
        ("", "ALTER STREAM s ADD COLUMN c", "a type"),
        ("", "ALTER STREAM s DROP COLUMN a", "ADD"),
        ("", "ALTER RELATION r ADD COLUMN c INT", "STREAM"),
        ("RETRACTABLE", "ALTER STREAM s ADD COLUMN c INT", "it is RETRACTABLE"),
        ("PUNCTUATED ON (a) REUSED AFTER 9", "ALTER STREAM s ADD COLUMN c INT", "are REUSED"),
        ("FORMAT CSV WITH (header = 'false')", "ALTER STREAM s ADD COLUMN c INT", "its CSV has no header"),
    ],
)
def test_what_cannot_be_altered_is_refused(clauses: str, statement: str, reason: str) -> None:
    with pytest.raises(ScriptError) as caught:
        script_of(statement, clauses)
    assert reason in caught.value.message and caught.value.where is not None
    assert "\n" not in caught.value.message


def test_streams_that_spark_reads_and_that_are_searched_are_refused() -> None:
    topic = "CREATE STREAM k (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'kafka://h:9092/t';"
    with pytest.raises(ScriptError, match="it is read by Spark"):
        script_of(f"{topic} ALTER STREAM k ADD COLUMN c INT;")
    text = "CREATE STREAM w (a STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w.jsonl';"
    known = script_of(f"{text} CREATE QUERY q AS SEARCH 'x y' OVER (w);").declarations
    with pytest.raises(ScriptError, match="query q searches it"):
        parse_script("ALTER STREAM w ADD COLUMN c INT;", file="x", folder="/", known=known)


def test_a_script_with_both_runs(tmp_path: Path) -> None:
    """Also a join of both forms of the stream, by a view from before."""
    lines = [{"a": 1, "ts": 1}, {"a": 2, "ts": 2, "c": 5}, {"a": 2, "ts": 3}, {"a": 3, "ts": 4, "c": "bad"}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "x.sql").write_text(
        STREAM.format("") + "CREATE VIEW v AS SELECT * FROM s; CREATE QUERY old AS SELECT * FROM s;"
        "ALTER STREAM s ADD COLUMN c INT; CREATE QUERY new AS SELECT * FROM s;"
        "CREATE QUERY pairs AS SELECT x.a, y.c, x.ts AS t FROM v x JOIN s y ON x.a = y.a;"
        "CREATE QUERY sums AS SELECT a, SUM(c) AS total FROM s GROUP BY a;"
    )
    result = run_local(str(tmp_path / "x.sql"))
    rows = {
        name: [r["row"] for r in result.records if r["query"] == name] for name in ("old", "new", "pairs")
    }
    assert rows["old"] == [{"a": 1, "ts": 1}, {"a": 2, "ts": 2}, {"a": 2, "ts": 3}]
    assert [row.get("c") for row in rows["new"]] == [None, 5, None]
    assert sorted((row["a"], row.get("c") or 0, row["t"]) for row in rows["pairs"]) == [
        (1, 0, 1),
        (2, 0, 2),
        (2, 0, 3),
        (2, 5, 2),
        (2, 5, 3),
    ]
    assert result.stats["dead_letters"] == 1
