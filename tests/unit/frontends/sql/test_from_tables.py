"""Names in FROM: what is declared, in any case unless quoted; WITH entries first; windows of the query."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Aggregate, Lookup, Query, Scan, walk
from seine.algebra.plan_text import print_plan
from seine.network.network import Network
from seine.optimizer.optimise import optimise
from tests.support.front_end import plan_of, sql_refusal
from tests.support.network_text import network_text

SAME = [
    (
        "SELECT window.start AS w, COUNT(*) AS n FROM s GROUP BY window(ts, 10)",
        "SELECT window_start AS w, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), 10))"
        " GROUP BY window_start, window_end",
        "SELECT window_start AS w, COUNT(*) AS n"
        " FROM TUMBLE(DATA => TABLE s, SIZE => 10, TIMECOL => DESCRIPTOR(ts)) GROUP BY window_start",
        "SELECT w.start AS w, COUNT(*) AS n FROM (SELECT window(ts, 10) AS w FROM s) x GROUP BY w",
        "SELECT x.w.start AS w, COUNT(*) AS n FROM (SELECT window(ts, 10) AS w FROM s) x GROUP BY x.w",
        "SELECT window.start AS w, COUNT(*) AS n FROM s GROUP BY window(ts, 10, 10, 20)",
    ),
    (
        "SELECT a, window.end AS e, SUM(b) AS n FROM s GROUP BY window(ts, 10, 5), a HAVING window.start > 3",
        "SELECT a, window_end AS e, SUM(b) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 5, 10) h"
        " GROUP BY window_start, a, window_end HAVING window_start > 3",
        "SELECT h.a, h.window_end AS e, SUM(h.b) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 5, 10, 0) h"
        " GROUP BY h.window_end, h.a HAVING h.window_start > 3",
    ),
    (
        "SELECT window, COUNT(*) AS n FROM z GROUP BY window(tm, '1 hour 30 minutes')",
        "SELECT window, COUNT(*) AS n FROM z GROUP BY window(tm, INTERVAL '90' MINUTE)",
        "SELECT window(tm, '90 minutes'), COUNT(*) AS n FROM z GROUP BY window(tm, '5400 seconds')",
    ),
    (
        "SELECT a, session_window.end AS e, COUNT(*) AS n FROM s GROUP BY a, session_window(ts, 5)",
        "SELECT a, window_end AS e, COUNT(*) AS n FROM SESSION(TABLE s PARTITION BY a, DESCRIPTOR(ts), 5)"
        " GROUP BY a, window_start, window_end",
        "SELECT a, window_end AS e, COUNT(*) AS n FROM SESSION(TABLE s PARTITION BY (a), DESCRIPTOR(ts), 5)"
        " GROUP BY a, window_end",
    ),
]


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


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0][:30])
def test_spellings_of_one_window(spellings: tuple[str, ...]) -> None:
    plans = [optimise(plan_of(sql)) for sql in spellings]
    keys = [
        {*aggregate.keys} for plan in plans for aggregate in walk(plan) if isinstance(aggregate, Aggregate)
    ]
    assert len(keys) == len(plans) > 1 and all(one == keys[0] for one in keys)
    networks = []
    for plan in plans:
        network = Network()
        network.add(Query("q", plan))
        networks.append(network_text(network))
    assert all(text == networks[0] for text in networks)


def test_a_window_beneath_an_outer_query_is_two_columns() -> None:
    inner = "SELECT window(ts, 10) AS w, COUNT(*) AS n FROM s GROUP BY window(ts, 10)"
    plan = plan_of(f"SELECT x.w.start AS s, x.w AS w FROM ({inner}) x, ({inner}) y WHERE x.w = y.w")
    assert [str(field.type) for field in plan.schema] == ["BIGINT", "JSON"]
    assert print_plan(plan).count("w.start") >= 1


@pytest.mark.parametrize(
    ("sql", "message", "hint"),
    [
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, '10 minutes')", "constants such as 10", ""),
        ("SELECT COUNT(*) AS n FROM z GROUP BY window(tm, 10)", "constants such as '10 minutes'", ""),
        ("SELECT COUNT(*) AS n FROM z GROUP BY window(tm, '10 parsecs')", "no length of time", "10 minutes"),
        ("SELECT COUNT(*) AS n FROM z GROUP BY window(tm, INTERVAL '1' MONTH)", "months are not", "days"),
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, 5, 10)", "longer than the window", "length"),
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, 10001, 1)", "10,000 windows", "at least 2"),
        ("SELECT COUNT(*) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 1, 1000000000)", "10,000 windows", "HOP("),
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, 0)", "more than 0", ""),
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(c, 5)", "BIGINT or a TIMESTAMP", ""),
        ("SELECT window(ts, 10, 5) AS w FROM s", "a key of groups", "GROUP BY window"),
        ("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, 10), window(ts, 20)", "one window", "sub-queries"),
        ("SELECT COUNT(*) AS n FROM s WHERE window(ts, 10, 5).start > 3 GROUP BY a", "key of groups", ""),
        ("SELECT a, ROW_NUMBER() OVER (PARTITION BY window(ts, 10, 5).start ORDER BY a) AS n FROM s",
         "a key of groups", "GROUP BY"),
        ("SELECT a FROM SESSION(TABLE s, DESCRIPTOR(ts), 5) ORDER BY window_end LIMIT 3", "key of", ""),
        ("SELECT COUNT(*) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 1, 101)", "in 101 windows", "longer slide"),
        ("SELECT COUNT(*) AS n FROM HOP(TABLE s, DESCRIPTOR(ts), 5)", "needs its size", "HOP("),
        ("SELECT COUNT(*) AS n FROM TUMBLE(TABLE s, ts + 1, 5)", "DESCRIPTOR(column)", "TUMBLE("),
        ("SELECT COUNT(*) AS n FROM TUMBLE(TABLE s, DESCRIPTOR(tz), 5)", "no column tz", ""),
        ("SELECT COUNT(*) AS n FROM s, t WHERE s.a = t.a GROUP BY session_window(s.ts, 5)", "one stream", ""),
        ("SELECT COUNT(*) AS n FROM s GROUP BY session_window(a, 5)", "time of one stream", ""),
        ("SELECT a, COUNT(*) AS n FROM SESSION(TABLE s, DESCRIPTOR(ts), 5) GROUP BY a, window_start",
         "other keys", "PARTITION BY"),
    ],
)  # fmt: skip
def test_refusals(sql: str, message: str, hint: str) -> None:
    _, _, said, advice = sql_refusal(sql)
    assert message in said and hint in advice, (said, advice)
