"""What the tests of the front end share: a small schema, and ways to parse and to be refused."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Plan
from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script

TABLES = """\
CREATE STREAM s (a BIGINT, b DOUBLE, c STRING, d DATE, k BOOLEAN, ts BIGINT)
  TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';
CREATE STREAM t (a BIGINT, e BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 't.jsonl';
CREATE STREAM z (a BIGINT, tm TIMESTAMP) TIMESTAMP BY tm WINDOW INTERVAL '5' MINUTE FROM 'z.jsonl';
CREATE STREAM x (doc XML, n BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'x.jsonl';
CREATE RELATION r (a BIGINT, name STRING) FROM 'r.jsonl';
CREATE RELATION v (a BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end" FROM 'v.jsonl';
"""
LINES = TABLES.count("\n")


def parse(text: str) -> Script:
    return parse_script(text, file="script.sql", folder="/data")


def plan_of(sql: str) -> Plan:
    return parse(f"{TABLES}CREATE QUERY q AS {sql};").declarations.queries["q"].plan


def refusal(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        parse(text)
    assert caught.value.where is not None
    return caught.value


def place(error: ScriptError) -> tuple[int, int]:
    assert error.where is not None
    return error.where.line, error.where.column


def sql_refusal(sql: str) -> tuple[int, int, str, str]:
    """Line and column counted from the start of the SELECT, the message, the hint."""
    error = refusal(f"{TABLES}CREATE QUERY q AS\n{sql};")
    line, column = place(error)
    return line - LINES - 1, column, error.message, error.hint or ""
