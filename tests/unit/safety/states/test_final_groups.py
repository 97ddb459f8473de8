"""Groups by functions of time, and joins of equal buckets of time, are bounded by the watermark."""

from __future__ import annotations

import pytest

from seine.safety.verdict import Verdict, verdict
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
CREATE STREAM o (a BIGINT, expires BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'o';
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'n';
CREATE STREAM t (a BIGINT, tt TIMESTAMP) TIMESTAMP BY tt FROM 't';
CREATE STREAM v (a BIGINT, tt TIMESTAMP) TIMESTAMP BY tt FROM 'v';
"""


def judged(sql: str) -> Verdict:
    return verdict(parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"])


@pytest.mark.parametrize(
    "key",
    [
        "ts",
        "ts DIV 10",
        "ts DIV 10 * 10",
        "10 * (ts DIV 10)",
        "3 + 10 * (ts DIV 10)",
        "ts - ts % 60",
        "ts - pmod(ts, 60)",
        "(ts DIV 2) - (ts DIV 2) % 60",
        "FLOOR(ts / 10)",
        "ROUND(ts / 10)",
        "timestamp_seconds(ts)",
        "date_trunc('hour', timestamp_seconds(ts))",
        "date_format(timestamp_seconds(ts), 'yyyy-MM-dd')",
        "from_unixtime(ts)",
        "CAST(timestamp_seconds(ts) AS DATE)",
        "window(ts, 10)",
        "window(ts, 10, 5)",
        "window(ts, 10, 5, 2)",
        "window(timestamp_seconds(ts), '10 minutes')",
        "window(ts, 10).start",
        "session_window(ts, 5)",
    ],
)
def test_functions_that_rise_with_time_bound_groups(key: str) -> None:
    if "window" in key and key.endswith(".start"):
        sql = "SELECT COUNT(*) AS c FROM TUMBLE(TABLE u, DESCRIPTOR(ts), 10) GROUP BY a, window_start"
    else:
        sql = f"SELECT COUNT(*) AS c FROM u GROUP BY a, {key}"
    assert judged(sql).purgeable == {"u": True}


@pytest.mark.parametrize(
    "key",
    ["ts % 10", "-ts", "ts * -1", "abs(ts)", "date_format(timestamp_seconds(ts), 'dd.MM.yyyy')", "a DIV 10"],
)
def test_functions_that_fall_do_not(key: str) -> None:
    assert judged(f"SELECT COUNT(*) AS c FROM u GROUP BY {key}").purgeable == {"u": False}


def test_windows_of_a_retractable_stream_are_held() -> None:
    assert judged("SELECT COUNT(*) AS c FROM n GROUP BY window(ts, 10)").purgeable == {"n": False}


@pytest.mark.parametrize(
    ("sql", "purgeable"),
    [
        (
            "SELECT m, COUNT(*) AS c FROM (SELECT ts DIV 10 AS m FROM u UNION ALL SELECT ts DIV 10 FROM o) x"
            " GROUP BY m",
            {"u": True, "o": True},
        ),
        (
            "SELECT COUNT(*) AS c FROM (SELECT ts FROM u UNION ALL SELECT ts FROM o) x WHERE ts > 5"
            " GROUP BY window(ts, 10)",
            {"u": True, "o": True},
        ),
        (
            "SELECT m, COUNT(*) AS c FROM (SELECT ts DIV 10 AS m FROM u UNION ALL SELECT ts DIV 9 FROM o) x"
            " GROUP BY m",
            {"u": False, "o": False},
        ),
        (
            "SELECT m, COUNT(*) AS c FROM (SELECT ts AS m FROM u UNION ALL SELECT expires FROM o) x"
            " GROUP BY m",
            {"u": False, "o": False},
        ),
    ],
)
def test_unions(sql: str, purgeable: dict[str, bool]) -> None:
    assert {alias.split(".")[-1]: freed for alias, freed in judged(sql).purgeable.items()} == purgeable


@pytest.mark.parametrize(
    "condition",
    [
        "date_trunc('hour', t.tt) = date_trunc('hour', v.tt)",
        "date_trunc('month', t.tt) = date_trunc('month', v.tt)",
        "CAST(t.tt AS DATE) = CAST(v.tt AS DATE)",
        "window(t.tt, '10 minutes') = window(v.tt, '10 minutes')",
    ],
)
def test_joins_of_equal_buckets(condition: str) -> None:
    sql = f"SELECT t.a FROM t, v WHERE t.a = v.a AND {condition}"
    assert judged(sql).purgeable == {"t": True, "v": True}


@pytest.mark.parametrize(
    ("condition", "freed"),
    [
        ("u.ts DIV 10 = o.ts DIV 10", True),
        ("10 * (u.ts DIV 10) = 10 * (o.ts DIV 10)", True),
        ("u.ts - u.ts % 60 = o.ts - o.ts % 60", True),
        ("u.ts DIV 10 = o.ts DIV 9", False),
        ("u.ts % 10 = o.ts % 10", False),
    ],
)
def test_joins_of_equal_buckets_of_numbers(condition: str, freed: bool) -> None:
    sql = f"SELECT u.a FROM u, o WHERE u.a = o.a AND {condition}"
    assert judged(sql).purgeable == {"u": freed, "o": freed}


@pytest.mark.parametrize(
    ("group", "freed"),
    [("o.a, o.expires", True), ("o.expires DIV 10", True), ("o.a", False), ("o.ts", False), ("u.ts", True)],
)
def test_groups_by_the_latest_time_of_a_combination(group: str, freed: bool) -> None:
    """Whatever comes after o.expires is in no combination with it."""
    joined = "FROM o, u WHERE o.a = u.a AND u.ts BETWEEN o.ts AND o.expires"
    assert judged(f"SELECT u.a {joined}").purgeable == {"o": True, "u": True}
    sql = f"SELECT COUNT(*) AS c {joined} GROUP BY {group}"
    assert judged(sql).purgeable == {"o": freed, "u": freed}
