"""Notes on queries that are right: constant parts that fail, and bare NUMERIC."""

from __future__ import annotations

import pytest

from seine.safety.notes import notes
from tests.support.front_end import TABLES, parse

_ROUNDS = "DECIMAL(10,0), as in Spark"


def _notes(sql: str) -> tuple[str, ...]:
    return notes(parse(f"{TABLES}CREATE QUERY q AS {sql};").declarations.queries["q"])


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 'a' + a AS v FROM s", ["CAST('a' AS BIGINT) fails"]),
        ("SELECT a FROM s WHERE a > 1 / (2 - 2)", ["/ CAST(2 - 2 AS DOUBLE) fails"]),
        ("SELECT CAST('2020-13-01' AS DATE) AS v FROM s", ["CAST('2020-13-01' AS DATE) fails"]),
        ("SELECT CAST(12345 AS DECIMAL(3,0)) AS v FROM s", ["CAST(12345 AS DECIMAL(3,0)) fails"]),
        ("SELECT 9223372036854775807 + 1 + a AS v FROM s", ["9223372036854775807 + 1 fails"]),
        ("SELECT SUM(a + CAST('x' AS INT)) OVER (PARTITION BY c) AS v FROM s", ["CAST('x' AS INT) fails"]),
        ("SELECT MAX(a DIV 0) AS v FROM s GROUP BY 1 % 0", ["1 % 0 fails"]),
        ("SELECT s.a FROM s LEFT JOIN r ON s.a = r.a + CAST('' AS INT)", ["CAST('' AS INT) fails"]),
        ("SELECT ROUND(SUM(b)::NUMERIC, 2) AS v FROM s", [f"bare NUMERIC is {_ROUNDS}"]),
        ("SELECT CAST(c AS decimal) AS v FROM s", [f"bare DECIMAL is {_ROUNDS}"]),
    ],
)
def test_notes(sql: str, said: list[str]) -> None:
    noted = _notes(sql)
    assert len(noted) == len(said)
    assert all(one in note for one, note in zip(said, noted, strict=True)), noted


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a / 0 AS v, a + 1 AS w, 1 / 3 AS x FROM s",
        "SELECT NULLIF(1, 1) AS v, CAST(NULL AS INT) + 1 AS w, NULL AS x FROM s",
        "SELECT get_json_object('{}', '$.a') AS v, CASE WHEN FALSE THEN 1 END AS w FROM s",
        "SELECT CAST(a AS NUMERIC) AS v FROM s",
        "SELECT CAST(b AS NUMERIC(12,2)) AS v, 'CAST(b AS NUMERIC)' AS w FROM s -- b::NUMERIC",
        "SELECT CAST(b AS DECIMAL(10,0)) AS v FROM s",
        "SEARCH 'a'",
    ],
)
def test_nothing_to_note(sql: str) -> None:
    assert _notes(sql) == ()
