"""Names in FROM: what is declared, in any case unless quoted; WITH entries first; windows of the query."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Lookup, Scan, walk
from tests.support.front_end import plan_of, sql_refusal


def _leaves(sql: str) -> list[tuple[str, int | None]]:
    """Tables that a query reads, with the lives that it gives to streams itself."""
    leaves = [part for part in walk(plan_of(sql)) if not part.inputs]
    assert leaves and all(isinstance(part, Scan | Lookup) for part in leaves)
    return [
        (part.stream.name, part.life) if isinstance(part, Scan) else (part.relation.name, None)
        for part in leaves
        if isinstance(part, Scan | Lookup)
    ]


@pytest.mark.parametrize(
    ("sql", "leaves"),
    [
        ("SELECT a FROM s", [("s", None)]),
        ("SELECT a FROM S", [("s", None)]),
        ("SELECT a FROM s WINDOW 4", [("s", 4)]),
        ("SELECT a FROM s WINDOW 10", [("s", None)]),
        ("SELECT a FROM z WINDOW INTERVAL '1' MINUTE", [("z", 60_000_000)]),
        ("WITH s AS (SELECT a FROM t) SELECT a FROM s", [("t", None)]),
        ("SELECT s.a, r.name FROM s JOIN r ON s.a = r.a", [("s", None), ("r", None)]),
        (
            "SELECT s.a, r.name FROM s JOIN r FOR SYSTEM_TIME AS OF s.ts ON s.a = r.a",
            [("s", None), ("r", None)],
        ),
        (
            "SELECT s.a, r.name FROM s JOIN r FOR SYSTEM_TIME AS OF PROCTIME() ON s.a = r.a",
            [("s", None), ("r", None)],
        ),
    ],
)
def test_a_name_stands_for_a_table(sql: str, leaves: list[tuple[str, int | None]]) -> None:
    assert _leaves(sql) == leaves


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ('SELECT a FROM "S"', "no stream or relation S"),
        ("SELECT a FROM db.s", "names of streams have no qualifier"),
        ("SELECT a FROM s WINDOW 11", "this WINDOW is longer than that of stream s"),
        ("SELECT a FROM s WINDOW 0", "a WINDOW is more than 0"),
        ("SELECT s.a FROM s, r WINDOW 4", "a WINDOW in FROM is of a stream"),
        ("WITH c AS (SELECT a FROM s) SELECT a FROM c WINDOW 4", "a WINDOW in FROM is of a stream"),
        (
            "SELECT s.a FROM s JOIN v FOR SYSTEM_TIME AS OF s.ts ON s.a = v.a",
            "FOR SYSTEM_TIME AS OF is not supported",
        ),
    ],
)
def test_other_names_are_refused(sql: str, message: str) -> None:
    assert sql_refusal(sql)[2] == message
