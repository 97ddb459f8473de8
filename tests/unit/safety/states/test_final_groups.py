"""Groups by functions of time, and joins of equal buckets of time, are bounded by the watermark."""

from __future__ import annotations

import pytest

from seine.optimizer.block import block_of
from seine.safety.states.final_groups import rising_columns, row_schemes
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
        "CAST(CAST(timestamp_seconds(ts) AS DATE) AS STRING)",
        "left(CAST(timestamp_seconds(ts) AS STRING), 10)",
        "ts >> 3",
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
    [
        "ts % 10000",
        "-ts",
        "ts * -1",
        "abs(ts)",
        "date_format(timestamp_seconds(ts), 'dd.MM.yyyy')",
        "a DIV 10",
    ],
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
            {"u": True, "o": True},
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
        ("u.ts DIV 10 = o.ts DIV 9", True),
        ("u.ts % 10 = o.ts % 10", False),
    ],
)
def test_joins_of_equal_buckets_of_numbers(condition: str, freed: bool) -> None:
    sql = f"SELECT u.a FROM u, o WHERE u.a = o.a AND {condition}"
    assert judged(sql).purgeable == {"u": freed, "o": freed}


@pytest.mark.parametrize(
    ("condition", "freed"),
    [
        ("unix_seconds(t.tt) DIV 10 = unix_seconds(v.tt) DIV 10", True),
        ("date_format(t.tt, 'yyyy-MM-dd') = date_format(v.tt, 'yyyy-MM-dd')", True),
        ("date_format(t.tt, 'HH') = date_format(v.tt, 'HH')", False),
    ],
)
def test_rows_without_a_partner_in_their_bucket(condition: str, freed: bool) -> None:
    sql = f"SELECT t.a FROM t WHERE NOT EXISTS (SELECT 1 FROM v WHERE t.a = v.a AND {condition})"
    assert judged(sql).purgeable == {"t": freed, "v": freed}


@pytest.mark.parametrize(
    ("key", "freed"),
    [
        ("date_trunc('hour', t.tt)", True),
        ("CAST(date_trunc('hour', t.tt) AS DATE)", True),
        ("date_trunc('minute', t.tt)", False),
        ("hour(date_trunc('hour', t.tt))", False),
    ],
)
def test_groups_by_functions_of_a_common_bucket(key: str, freed: bool) -> None:
    joined = "FROM t, v WHERE t.a = v.a AND date_trunc('hour', t.tt) = date_trunc('hour', v.tt)"
    assert judged(f"SELECT COUNT(*) AS c {joined} GROUP BY t.a, {key}").purgeable == {"t": freed, "v": freed}


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


LASTING = """\
CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k) FROM 's';
CREATE STREAM t (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k, v) FROM 't';
CREATE STREAM w (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 PUNCTUATED ON (k) FROM 'w';
CREATE STREAM n (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE PUNCTUATED ON (k) FROM 'n';
"""


def item(sql: str):
    plan = parse(f"{LASTING}CREATE QUERY q AS {sql};").declarations.queries["q"].plan
    return block_of(plan, largest=None).items[0]


def block(plan):
    return block_of(plan, largest=None)


@pytest.mark.parametrize(
    ("sql", "rising"),
    [
        ("SELECT k FROM s", {2: ["#0"]}),
        ("SELECT k FROM w", {2: ["#0"]}),
        ("SELECT k FROM n", {}),
        ("SELECT k, ts DIV 10 AS b, COUNT(*) AS n FROM s GROUP BY k, ts DIV 10", {1: ["int_div(#0, 10)"]}),
        ("SELECT ts DIV 10 AS b, COUNT(*) AS n FROM w GROUP BY ts DIV 10", {}),
        ("SELECT ts % 10 AS b, COUNT(*) AS n FROM s GROUP BY ts % 10", {}),
        (
            "SELECT b DIV 3 AS c, COUNT(*) AS n FROM (SELECT DISTINCT ts DIV 10 AS b FROM s) g"
            " GROUP BY b DIV 3",
            {0: ["int_div(int_div(#0, 10), 3)"]},
        ),
        ("SELECT ts AS x FROM s UNION SELECT ts + 1 FROM t", {0: ["#0", "add(#0, 1)"]}),
        ("SELECT ts AS x, k FROM s EXCEPT SELECT k, ts FROM t", {}),
        ("SELECT s.ts, COUNT(*) AS n FROM s, t WHERE s.ts = t.ts GROUP BY s.ts", {0: ["#0"]}),
        ("SELECT s.ts, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.ts", {}),
    ],
)
def test_columns_that_rise(sql: str, rising: dict[int, list[str]]) -> None:
    columns = rising_columns(item(sql), block)
    assert {one.column: [str(clock) for clock in one.clocks] for one in columns} == rising


@pytest.mark.parametrize(
    ("sql", "places"),
    [
        ("SELECT v, k, COUNT(*) AS n FROM s GROUP BY v, k", [[[1]]]),
        ("SELECT v, COUNT(*) AS n FROM s GROUP BY v", [[]]),
        ("SELECT k, COUNT(*) AS n FROM w GROUP BY k", [[]]),
        ("SELECT k, COUNT(*) AS n FROM n GROUP BY k", [[]]),
        ("SELECT k, v FROM s UNION SELECT k, v FROM t", [[[0]], [[0, 1]]]),
        ("SELECT k, v FROM s EXCEPT SELECT v, k FROM t", [[[0]], [[0, 1]]]),
        (
            "SELECT k, MAX(n) AS m FROM (SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v) g GROUP BY k",
            [[[0]]],
        ),
        ("SELECT n, MAX(k) AS m FROM (SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v) g GROUP BY n", [[]]),
        ("SELECT s.k, t.v, COUNT(*) AS n FROM s, t WHERE s.k = t.k GROUP BY s.k, t.v", [[[0]], [[0, 1]]]),
    ],
)
def test_what_streams_beneath_punctuate_of_rows(sql: str, places: list[list[list[int]]]) -> None:
    schemes = row_schemes(item(sql), block)
    assert [[[place for place, _ in use.places] for use in uses] for uses in schemes] == places
