"""SELECT texts that are refused: where, why, and the hint."""

from __future__ import annotations

import pytest

from tests.support.front_end import TABLES, place, plan_of, refusal, sql_refusal

OF_GROUPS = (
    "group in a sub-query in FROM, and ask in WHERE around it: "
    "FROM (SELECT k, MAX(x) AS m ... GROUP BY k) WHERE m IN (SELECT ...)"
)
IN_WHERE = "an IN with a sub-query stands in WHERE; beneath groups with OR, in a sub-query in FROM"

REFUSED = [
    # names
    ("SELECT nope FROM s", 8, "no column nope"),
    ("SELECT s.nope FROM s", 10, "no column nope of s"),
    ("SELECT u.a FROM s", 8, "no u in FROM"),
    ("SELECT a FROM nope", 15, "no stream or relation nope"),
    ("SELECT a FROM db.s", 15, "no qualifier"),
    ("SELECT a FROM s, t", 8, "ambiguous"),
    ("SELECT a FROM s x JOIN t y ON a = y.a", 31, "ambiguous"),
    ("SELECT s.a FROM s x", 8, "no s in FROM"),
    ("SELECT x.a FROM s x, t x", 22, "twice in FROM"),
    ("SELECT a, b AS a FROM s", 11, "two output columns are named a"),
    ("SELECT * FROM s, t", 8, "two output columns"),
    ("SELECT u.a FROM (SELECT * FROM s, t) u", 8, "ambiguous"),
    ("SELECT s.a FROM s JOIN t ON s.a = u.a JOIN r u ON r.a = s.a", 35, "no u in FROM"),
    ("SELECT x.p FROM s x(p)", 17, "1 names for 6 columns"),
    ("SELECT s.a FROM s JOIN t USING (b)", 33, "USING needs b"),
    ("SELECT s.a FROM s, t JOIN r USING (a)", 36, "USING needs a once on each side"),
    # conditions and types
    ("SELECT a FROM s WHERE b + 1", 23, "WHERE needs a condition"),
    ("SELECT s.a FROM s JOIN t ON s.a", 29, "ON needs a condition"),
    ("SELECT a FROM s GROUP BY a HAVING COUNT(*)", 35, "HAVING needs a condition"),
    ("SELECT a FROM s WHERE k AND a", 29, "AND needs a condition"),
    ("SELECT a FROM s WHERE k > b", 23, "no common type"),
    ("SELECT uper(c) FROM s", 8, "no function 'uper'"),
    ("SELECT CAST(a AS BLOB) FROM s", 13, "cannot cast to"),
    ("SELECT a FROM s UNION SELECT a, e FROM t", 30, "UNION of 1 and 2 columns"),
    ("SELECT k AS x FROM s EXCEPT SELECT a FROM t", 36, "EXCEPT, column 1"),
    ("SELECT s.a FROM s, z WHERE s.a = z.a", 8, "cannot be compared"),
    ("SELECT current_timestamp FROM s", 8, "event times alone"),
    ("SELECT a FROM s WHERE ts < now()", 28, "event times alone"),
    ("SELECT a FROM s WHERE ts < unix_timestamp()", 28, "event times alone"),
    ("SELECT split(c, '^')[0] FROM s", 8, "matches a place"),
    ("SELECT mask(c, 'XX') FROM s", 8, "single signs"),
    ("SELECT c RLIKE 'a{,2}' FROM s", 8, "a brace that repeats nothing"),
    ("SELECT c RLIKE '(?U)a' FROM s", 8, "the flag U"),
    ("SELECT proctime FROM s", 8, "event times alone"),
    ("SELECT current_time FROM s", 8, "event times alone"),
    ("SELECT proc_time() FROM s", 8, "event times alone"),
    ("SELECT c[0] FROM s", 8, "item of an array"),
    ("SELECT c RLIKE '[a&&b]' FROM s", 8, "a class of characters inside of another"),
    ("SELECT MIN(doc) AS m FROM x", 8, "not XML"),
    ("SELECT xpath_string(doc, n) AS v FROM x", 8, "must be a constant"),
    ("SELECT xpath_int(doc) AS v FROM x", 8, "takes 2 arguments"),
    ("SELECT xpath(doc, 'a') AS v FROM x", 8, "arrays are what texts"),
    ("SELECT z.a FROM z, v", 8, "VALID does not fit"),
    # aggregates
    ("SELECT a FROM s WHERE COUNT(*) > 1", 23, "COUNT is not allowed in WHERE"),
    ("SELECT s.a FROM s JOIN t ON MAX(s.a) = t.a", 29, "MAX is not allowed in ON"),
    ("SELECT a, b, COUNT(*) FROM s GROUP BY a", 11, "b is neither grouped nor aggregated"),
    ("SELECT MAX(b), b FROM s", 16, "b is neither grouped nor aggregated"),
    ("SELECT * FROM s GROUP BY a", 8, "neither grouped"),
    ("SELECT a FROM s GROUP BY a HAVING b > 1", 35, "b is neither grouped"),
    ("SELECT SUM(MAX(b)) FROM s", 12, "cannot hold another"),
    ("SELECT COUNT(*) AS n FROM s GROUP BY n", 38, "cannot be grouped by"),
    ("SELECT a FROM s GROUP BY 2", 26, "the SELECT has 1 columns"),
    ("SELECT SUM(*) FROM s", 12, "*"),
    ("SELECT FIRST(n) FROM (SELECT COUNT(*) AS n FROM s) u", 8, "goes by event time"),
    # what is not there
    ("SELECT s.a FROM s LEFT JOIN s ON s.a = s.a", 29, "s is twice in FROM"),
    ("SELECT s.a FROM r LEFT JOIN s ON s.a = r.a", 29, "an outer join keeps the rows of streams"),
    ("SELECT a FROM s NATURAL JOIN (SELECT e FROM t) u", 38, "NATURAL JOIN have no column in common"),
    ("SELECT s.a FROM s JOIN (t FULL JOIN z ON t.a = z.a) ON s.a = t.a", 25, "FROM takes"),
    ("SELECT a FROM s WHERE a > ALL (SELECT e, f FROM t)", 39, "ALL of a sub-query"),
    ("SELECT a FROM s WHERE a > ALL (SELECT * FROM t)", 39, "ALL of a sub-query"),
    ("SELECT a FROM s WHERE a > ALL (SELECT CAST(e AS STRING) FROM t)", 23, "ALL and ANY of texts"),
    (
        "SELECT a FROM s FULL JOIN LATERAL (SELECT e FROM t WHERE t.e = s.a) u ON TRUE",
        43,
        "FULL JOIN LATERAL",
    ),
    (
        "SELECT s.a FROM s, LATERAL (SELECT e FROM t WHERE t.e = s.a ORDER BY e LIMIT 'x') u",
        78,
        "LIMIT takes a whole",
    ),
    ("SELECT DISTINCT ON (a) a FROM s ORDER BY a LIMIT 2", 21, "DISTINCT ON with LIMIT"),
    ("SELECT a FROM s, LATERAL explode(split(c, ',')) u", 26, "FROM takes"),
    ("SELECT a FROM s ORDER BY a", 26, "ORDER BY needs a LIMIT"),
    ("SELECT a FROM s LIMIT 0", 23, "LIMIT takes a whole number of rows"),
    ("SELECT a FROM s UNION SELECT a FROM t ORDER BY a + 1 LIMIT 5", 48, "takes their columns"),
    ("SELECT a FROM s ORDER BY 2 LIMIT 5", 26, "the SELECT has 1 columns"),
    ("SELECT a FROM s WHERE ROW_NUMBER() OVER (ORDER BY a) < 3", 23, "not allowed in WHERE"),
    ("SELECT RANK() OVER (PARTITION BY a) FROM s", 8, "RANK needs an order"),
    ("SELECT RANK(a) OVER (ORDER BY a) FROM s", 8, "RANK takes no arguments"),
    ("SELECT RANK() OVER w FROM s", 8, "no WINDOW w"),
    ("SELECT NTILE(0) OVER (ORDER BY a) FROM s", 8, "NTILE takes a whole number of tiles, 1 or more"),
    ("SELECT NTILE(TRUE) OVER (ORDER BY a) FROM s", 8, "NTILE takes a whole number of tiles"),
    ("SELECT NTH_VALUE(a, 2147483648) OVER (ORDER BY a) FROM s", 8, "the number of a row, 1 or more"),
    ("SELECT NTILE(3) OVER () FROM s", 8, "NTILE needs an order"),
    ("SELECT CUME_DIST(a) OVER (ORDER BY a) FROM s", 8, "CUME_DIST takes no arguments"),
    (
        "SELECT PERCENT_RANK() OVER (ORDER BY a ROWS 1 PRECEDING) FROM s",
        8,
        "PERCENT_RANK takes no frame",
    ),
    ("SELECT NTH_VALUE(a) OVER (ORDER BY a) FROM s", 8, "NTH_VALUE takes a value and the number of a row"),
    ("SELECT a FROM CUMULATE(s, ts, 5, 10)", 15, "CUMULATE is not available"),
    ("SELECT COUNT(*) AS n FROM HOP(s, ts, 10, 5) GROUP BY window_start", 27, "slide is longer"),
    ("SELECT UPPER(t) OVER (ORDER BY a) FROM s", 8, "UPPER OVER is not supported"),
    ("SELECT LAG(a) OVER (PARTITION BY c) FROM s", 8, "LAG needs an order"),
    ("SELECT LAG(a, b) OVER (ORDER BY a) FROM s", 8, "are constants"),
    ("SELECT LAG(a, 2147483648) OVER (ORDER BY a) FROM s", 8, "LAG reaches 2,147,483,647 rows at most"),
    ("SELECT LEAD(a, -9223372036854775807) OVER (ORDER BY a) FROM s", 8, "LEAD reaches 2,147,483,647 rows"),
    (
        "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 9223372036854775807 PRECEDING AND 1 FOLLOWING) FROM s",
        45,
        "a frame of ROWS reaches 2,147,483,647 rows at most",
    ),
    (
        "SELECT SUM(a) OVER (ORDER BY c RANGE 5 PRECEDING) FROM s",
        38,
        "needs an order by one BIGINT or TIMESTAMP",
    ),
    (
        "SELECT SUM(a) OVER (ORDER BY c ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM s",
        8,
        "ends before it begins",
    ),
    ("SELECT a FROM s WHERE a IN (SELECT a, a AS d FROM t)", 36, "IN compares 1 values with 2 columns"),
    ("SELECT a FROM s WHERE b = 1 OR EXISTS (SELECT a FROM t) GROUP BY a", 47, "sub-query"),
    (
        "SELECT a FROM s WHERE EXISTS (SELECT COUNT(*) FROM t WHERE t.a = s.a)",
        38,
        "columns of the query around",
    ),
    (
        "SELECT b FROM s WHERE EXISTS (SELECT x.a FROM (SELECT t.a FROM t WHERE t.a = s.b) x)",
        78,
        "no s in FROM",
    ),
    ("SELECT (SELECT a FROM t) AS m FROM s", 16, "a sub-query that is a value has one row"),
    ("SELECT (SELECT MAX(a) FROM t GROUP BY a) AS m FROM s", 16, "GROUP is not supported in this sub-query"),
    (
        "SELECT (SELECT MAX(t.a) FROM t WHERE t.a < s.b) AS m FROM s",
        16,
        "compares with the query around by =",
    ),
    ("SELECT a FROM s INTERSECT SELECT a, a AS d FROM t", 34, "INTERSECT of 1 and 2 columns"),
    ("SELECT a FROM r", 8, "needs a stream"),
    ("SELECT n FROM (SELECT COUNT(*) AS n FROM r) u, s", 23, "needs a stream"),
    ("SELECT 1 AS x", 8, "needs a stream in FROM"),
    ("SELECT a FROM s FOR SYSTEM_TIME AS OF s.ts", 15, "FOR SYSTEM_TIME AS OF is not supported"),
    (
        "SELECT a FROM s GROUP BY CUBE (a, b, c, d, k, ts, a + 1, a + 2, a + 3)",
        32,
        "more than 256 grouping sets",
    ),
    ("SELECT GROUPING(a) FROM s GROUP BY a", 36, "needs ROLLUP"),
    ("SELECT GROUPING(b) FROM s GROUP BY ROLLUP (a)", 44, "takes keys"),
    ("SELECT COUNT(*) FROM s GROUP BY ROLLUP (window(ts, 9), a)", 41, "not in every grouping set"),
    ("SELECT a FROM s WHERE a > '2019-01-01'", 23, "'2019-01-01' is no BIGINT"),
    ("SELECT a FROM s WHERE a IN (1, 'x')", 23, "'x' is no BIGINT"),
    ("SELECT a FROM s WHERE a BETWEEN '1' AND 'z'", 23, "'z' is no BIGINT"),
    ("SELECT a FROM s WHERE 'x' <= b", 23, "'x' is no DOUBLE"),
    ("SELECT a FROM s WHERE d = '2019-02-30'", 23, "'2019-02-30' is no DATE"),
    ("SELECT a FROM z WHERE tm = 'noon'", 23, "'noon' is no TIMESTAMP"),
    ("SELECT a FROM s WHERE k = 'maybe'", 23, "'maybe' is no BOOLEAN"),
    ("SELECT CASE a WHEN 'x' THEN 1 END AS v FROM s", 13, "'x' is no BIGINT"),
    ("SELECT NULLIF(a, 'x') AS v FROM s", 8, "'x' is no BIGINT"),
    ("SELECT s.a FROM s JOIN t ON s.a = t.a AND t.e = 'x'", 43, "'x' is no BIGINT"),
    ("SELECT array_agg(1) FROM r", 8, "there is no stream in FROM"),
    ("SELECT min_by(1, 2)", 8, "there is no stream in FROM"),
    ("SELECT first(a, NULL) FROM s", 8, "first takes one value"),
    ("SELECT min_by(a, b) OVER (PARTITION BY c) FROM s", 8, "MIN_BY OVER is not supported"),
    ("SELECT corr(a, b) OVER (PARTITION BY c) FROM s", 8, "CORR OVER is not supported"),
    ("SELECT * EXCEPT (nope) FROM s", 18, "no column nope"),
    ("SELECT * EXCEPT (u.a) FROM s", 18, "no u in FROM"),
    ("SELECT * EXCEPT (s.a, t.b) FROM s, t", 23, "no column b of t among these"),
    ("SELECT s.* EXCEPT (t.e) FROM s, t", 20, "no column e of t among these"),
    ("SELECT * EXCEPT (t.a) FROM s JOIN t USING (a)", 18, "no column a of t among these"),
    ("SELECT * EXCEPT (r.a, name) FROM r", 8, "EXCEPT leaves no column"),
    ("SELECT * REPLACE (1 AS a) FROM s", 8, "REPLACE"),
    # syntax
    ("SELECT a FROM s WHERE a >", 25, "something is missing after '>'"),
    ("SELECT a FROM s WHERE", 17, "something is missing after 'WHERE'"),
    ("SELECT a,, b FROM s", 9, "nothing follows"),
    ("SELECT a, FROM s", 9, "nothing follows"),
    ("SELECT a b c FROM s", 12, "unexpected 'c'"),
    ("SELECT (a FROM s", 11, "expecting )"),
    ("SELECT CASE WHEN k THEN a FROM s", 25, "END"),
    ("SELECT FROM s", 13, "something to select"),
]


@pytest.mark.parametrize(("sql", "column", "message"), REFUSED)
def test_refused(sql, column, message):
    line, at, said, _ = sql_refusal(sql)
    assert message in said
    assert (line, at) == (1, column)


def test_positions_are_those_of_the_file():
    sql = "SELECT a,\n  b, -- é comment\n  /* ( */ 'ü' AS u,\n      nope FROM s"
    assert sql_refusal(sql)[:2] == (4, 7)
    error = refusal(f"{TABLES}CREATE QUERY q AS SELECT a FROM s; CREATE QUERY p AS SELECT nope FROM s;")
    assert place(error)[1] == 61


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT amount FROM (SELECT a AS amont FROM s) u", "did you mean 'amont'?"),
        ("SELECT a FROM s, t", "say s.a or t.a"),
        ('SELECT a FROM s WHERE c = "north"', "a string has single quotes: 'north'"),
        ('SELECT "A" FROM s', "did you mean 'a'?"),
        ('SELECT "B" FROM s', "did you mean 'b'?"),
        ("SELECT strpos(c, '/') FROM s", "instr(text, part)"),
        ("SELECT count_char(c, 'x') FROM s", "regexp_count(text, 'c')"),
        ("SELECT substring(c FROM 'id=([0-9]*)') FROM s", "regexp_extract(text, pattern, 1)"),
        ("SELECT date_format(timestamp_seconds(ts), 'YYYY-MM-DD') FROM s", "write 'yyyy-MM-dd'"),
        ("SELECT a, b FROM s GROUP BY a", "add b to GROUP BY, or aggregate it, e.g. MAX(b)"),
        (
            "SELECT a FROM s ORDER BY a",
            "results are a changelog without order; write LIMIT n for the first n",
        ),
        ("SELECT a FROM s WHERE COUNT(*) > 1", "use HAVING"),
        ("SELECT a FROM t GROUP BY a HAVING MAX(e) IN (SELECT a FROM s)", OF_GROUPS),
        ("SELECT a FROM t GROUP BY a HAVING NOT EXISTS (SELECT 1 FROM s)", OF_GROUPS),
        ("SELECT a IN (SELECT a FROM s) AS x FROM t", IN_WHERE),
    ],
)
def test_hints(sql, hint):
    assert sql_refusal(sql)[3] == hint


def test_what_the_hint_for_groups_says_is_taken():
    cured = "SELECT k FROM (SELECT a AS k, MAX(e) AS m FROM t GROUP BY a) WHERE m IN (SELECT a FROM s)"
    assert [field.name for field in plan_of(cured).schema] == ["k"]


def test_deep_nesting_is_refused_not_fatal():
    assert "nested too deeply" in sql_refusal("SELECT " + "(" * 4000 + "a" + ")" * 4000 + " AS x FROM s")[2]
    assert "nested too deeply" in sql_refusal("SELECT " + "+".join("a" * 5000) + " AS x FROM s")[2]


def test_a_very_long_text_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(*_: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr("seine.frontends.script.create_query.parse_select", parsed)
    refused = refusal(f"{TABLES}CREATE QUERY q AS SELECT a FROM s WHERE a IN ({', '.join(['1'] * 100_000)});")
    assert "words and signs" in str(refused) and "relation" in (refused.hint or "")


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT CAST(a AS SMALLINT) FROM s", "write INT"),
        ("SELECT CAST(a AS FLOAT) FROM s", "write DOUBLE"),
        ("SELECT CAST(tm AS TIMESTAMP_NTZ) FROM z", "TIMESTAMP, whose clocks are UTC"),
        ("SELECT CAST(c AS STRNG) FROM s", "types: BOOLEAN"),
        ("SELECT tm AT TIME ZONE 'Asia/Tokyo' FROM z", "from_utc_timestamp(ts"),
        ("SELECT filter(split(c, ','), p -> p > 'a') FROM s", "array_remove"),
        ("SELECT upper(text => c) FROM s", "by their places"),
        ("SELECT first(a ORDER BY b) FROM s", "min_by(x, y)"),
        ("SELECT overlay(c PLACING 'x' FROM 2) FROM s", "overlay(text, piece, position)"),
        ("SELECT a >>> 1 FROM s", "shiftrightunsigned(x, n)"),
        ("SELECT group_concat(c) FROM s", "listagg(text, ',')"),
        ("SELECT xpath_short(c, 'a') FROM s", "xpath_int(doc, path)"),
        ("SELECT to_time(c) FROM s", "date_format(ts, 'HH:mm:ss')"),
    ],
)
def test_a_hint_keeps_the_meaning(sql: str, hint: str) -> None:
    assert hint in sql_refusal(sql)[3]
