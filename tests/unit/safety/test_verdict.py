"""Verdicts: which streams a query keeps, and what bounds them."""

from __future__ import annotations

import pytest

from seine.errors import ScriptError
from seine.safety.states.check_plan import judge
from seine.safety.states.item_facts import Sources
from seine.safety.states.operator_states import result_state, states_of
from seine.safety.verdict import Verdict, refuse_unsafe, verdict
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM w (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'n';
CREATE STREAM m (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 RETRACTABLE FROM 'm';
CREATE STREAM p (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'p';
CREATE STREAM r (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) RETRACTABLE FROM 'r';
CREATE STREAM l (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) LIFESPAN 9 FROM 'l';
CREATE STREAM i (a INT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'i';
CREATE STREAM t (a BIGINT, d DOUBLE, tt TIMESTAMP) TIMESTAMP BY tt PUNCTUATED ON (a) FROM 't';
CREATE RELATION f (a BIGINT) FROM 'f';
CREATE RELATION g (a BIGINT, b BIGINT, until BIGINT) FROM 'g';
"""


def judged(sql: str, options: str = "") -> Verdict:
    return verdict(parse(f"{STREAMS}CREATE QUERY q {options} AS {sql};").declarations.queries["q"])


@pytest.mark.parametrize(
    ("sql", "purgeable"),
    [
        ("SELECT a FROM u WHERE a > 1", {}),
        ("SELECT u.a FROM u, f WHERE u.a = f.a", {}),
        ("SELECT w.a FROM f, w WHERE w.a = f.a", {}),
        ("SELECT x.a FROM w x, f, w y WHERE x.a = y.a", {"x": True, "y": True}),
        ("SELECT w.a FROM w, u WHERE u.a = w.a", {"w": True, "u": False}),
        ("SELECT x.a FROM f, u x, f g, w WHERE x.a = w.a", {"x": False, "w": True}),
        ("SELECT COUNT(*) AS n FROM w", {"w": True}),
        ("SELECT a, COUNT(*) AS n FROM u GROUP BY a", {"u": False}),
        ("SELECT DISTINCT a FROM u", {"u": False}),
        ("SELECT a FROM w UNION ALL SELECT a FROM u", {"w": True, "u": True}),
        ("SELECT a FROM w UNION SELECT a FROM u y", {"w": True, "y": False}),
        ("SELECT a FROM w EXCEPT SELECT a FROM w", {"w": True}),
        ("SELECT a FROM n", {"n": False}),
        ("SELECT a FROM m", {"m": True}),
        ("SELECT m.a FROM m, f WHERE m.a = f.a", {"m": True}),
        ("SELECT a FROM (SELECT u.a FROM u, w WHERE u.a = w.a) p", {"u": False, "w": True}),
    ],
)
def test_kept_streams_need_windows(sql, purgeable):
    result = judged(sql)
    assert result.purgeable == purgeable
    assert result.safe == result.accepted == all(purgeable.values())


@pytest.mark.parametrize(
    ("sql", "purgeable"),
    [
        # groups: a key that is punctuated, or a time that has passed, makes one final
        ("SELECT a, COUNT(*) AS n FROM p GROUP BY a", {"p": True}),
        ("SELECT b, COUNT(*) AS n FROM p GROUP BY b", {"p": False}),
        ("SELECT a, b, MAX(ts) AS n FROM p GROUP BY a, b", {"p": True}),
        ("SELECT a + 1 AS k, COUNT(*) AS n FROM p GROUP BY a + 1", {"p": False}),
        ("SELECT a, COUNT(*) AS n FROM l GROUP BY a", {"l": False}),
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", {"r": False}),
        ("SELECT ts, COUNT(*) AS n FROM u GROUP BY ts", {"u": True}),
        ("SELECT ts DIV 60 AS m, COUNT(*) AS n FROM u GROUP BY ts DIV 60", {"u": True}),
        ("SELECT ts % 6000 AS m, COUNT(*) AS n FROM u GROUP BY ts % 6000", {"u": False}),
        ("SELECT DISTINCT DATE_TRUNC('HOUR', tt) AS h FROM t", {"t": True}),
        ("SELECT DISTINCT YEAR(tt) AS y, d FROM t", {"t": True}),
        ("SELECT DISTINCT MONTH(tt) AS m FROM t", {"t": False}),
        ("SELECT p.a, COUNT(*) AS n FROM p, w WHERE p.a = w.a GROUP BY p.a", {"p": False, "w": True}),
        ("SELECT x.a, SUM(y.b) AS n FROM p x, p y WHERE x.a = y.a GROUP BY x.a", {"x": True, "y": True}),
        ("SELECT x.b, SUM(y.b) AS n FROM p x, p y WHERE x.a = y.a GROUP BY x.b", {"x": False, "y": False}),
        ("SELECT COUNT(*) AS n FROM u", {"u": True}),
        ("SELECT MAX(a) AS n, BOOL_AND(a > 1) AS b FROM u", {"u": True}),
        ("SELECT MAX(a) AS n FROM n", {"n": False}),
        ("SELECT MAX(DISTINCT a) AS n, VAR_POP(a) AS v FROM u", {"u": True}),
        ("SELECT MAX(n) AS m FROM (SELECT a, COUNT(*) AS n FROM p GROUP BY a) x", {"p": False}),
        ("SELECT COUNT(DISTINCT a) AS n FROM u", {"u": False}),
        ("SELECT g.b, COUNT(*) AS n FROM u, g WHERE u.a = g.a GROUP BY g.b", {"u": True}),
        ("SELECT g.b, MIN(u.ts) AS n FROM u, g WHERE u.a = g.a GROUP BY g.b", {"u": True}),
        ("SELECT g.b, MIN(n.ts) AS m FROM n, g WHERE n.a = g.a GROUP BY g.b", {"n": False}),
        # DISTINCT and set operators
        ("SELECT DISTINCT a FROM p", {"p": True}),
        ("SELECT DISTINCT b FROM p", {"p": False}),
        ("SELECT a FROM p UNION SELECT a FROM p x", {"p": True, "x": True}),
        ("SELECT a FROM p UNION SELECT a FROM u", {"p": False, "u": False}),
        ("SELECT a FROM p UNION ALL SELECT a FROM u", {"p": True, "u": True}),
        ("SELECT a FROM p EXCEPT SELECT a FROM p x", {"p": True, "x": True}),
        ("SELECT a FROM p EXCEPT SELECT a FROM u", {"p": False, "u": False}),
        ("SELECT a FROM w EXCEPT SELECT a FROM u", {"w": True, "u": False}),
        ("SELECT a FROM p EXCEPT SELECT a FROM w", {"p": False, "w": True}),
        # results beneath joins: promised by all streams beneath, or by a time in their keys
        (
            "SELECT x.n FROM (SELECT a, COUNT(*) AS n FROM p GROUP BY a) x, p WHERE x.a = p.a",
            {"x.p": True, "p": True},
        ),
        (
            "SELECT x.n FROM (SELECT b, COUNT(*) AS n FROM p GROUP BY b) x, p WHERE x.b = p.a",
            {"x.p": False, "p": False},
        ),
        (
            "SELECT x.n FROM (SELECT ts DIV 9 AS k, COUNT(*) AS n FROM u GROUP BY ts DIV 9) x, p"
            " WHERE x.k = p.ts DIV 9",
            {"u": True, "p": True},
        ),
        (
            "SELECT x.n FROM (SELECT ts DIV 9 AS k, COUNT(*) AS n FROM w GROUP BY ts DIV 9) x, p"
            " WHERE x.k = p.ts DIV 9",
            {"w": True, "p": False},
        ),
        (
            "SELECT x.n FROM (SELECT ts DIV 9 AS k, COUNT(*) AS n FROM u GROUP BY ts DIV 9) x, p"
            " WHERE x.n = p.ts DIV 9",
            {"u": True, "p": False},
        ),
        (
            "SELECT x.n FROM (SELECT ts DIV 9 * 9 AS k, COUNT(*) AS n FROM u GROUP BY ts DIV 9 * 9) x, p"
            " WHERE p.ts BETWEEN x.k AND x.k + 20",
            {"u": True, "p": True},
        ),
        (
            "SELECT k, MAX(n) AS m FROM"
            " (SELECT a, ts DIV 9 AS k, COUNT(*) AS n FROM u GROUP BY a, ts DIV 9) x GROUP BY k",
            {"u": True},
        ),
        (
            "SELECT a, MAX(n) AS m FROM (SELECT a, b, COUNT(*) AS n FROM p GROUP BY a, b) x GROUP BY a",
            {"p": True},
        ),
        (
            "SELECT x.a FROM (SELECT a FROM p UNION SELECT a FROM p z) x, p y WHERE x.a = y.a",
            {"p": True, "z": True, "y": True},
        ),
        (
            "SELECT x.n FROM (SELECT a, COUNT(*) AS n FROM w GROUP BY a) x, p WHERE x.a = p.a",
            {"w": True, "p": False},
        ),
        (
            "SELECT x.n FROM (SELECT a, COUNT(*) AS n FROM p GROUP BY a) x, u WHERE x.a = u.a",
            {"p": False, "u": True},
        ),
        # groups of groups, and unions of groups
        ("SELECT n, MAX(a) AS m FROM (SELECT a, COUNT(*) AS n FROM p GROUP BY a) x GROUP BY n", {"p": False}),
        ("SELECT a, COUNT(*) AS n FROM p GROUP BY a UNION ALL SELECT a, ts FROM u", {"p": True, "u": True}),
        ("SELECT a, COUNT(*) AS n FROM p GROUP BY a UNION ALL SELECT a, ts FROM w", {"p": False, "w": True}),
        # a chain of promises, through the join: only where it frees all that it holds
        ("SELECT x.a, COUNT(*) AS n FROM p x, p y WHERE x.b = y.a GROUP BY x.a", {"x": False, "y": False}),
        (
            "SELECT x.b, COUNT(*) AS n FROM p x, p y WHERE x.a = y.a AND x.b = y.b GROUP BY x.b",
            {"x": False, "y": False},
        ),
        (
            "SELECT x.a, y.b, COUNT(*) AS n FROM p x, p y WHERE y.ts BETWEEN x.ts AND x.ts + 5"
            " GROUP BY x.a, y.b",
            {"x": True, "y": True},
        ),
        ("SELECT x.a, COUNT(*) AS n FROM p x, p y WHERE x.a = y.a GROUP BY x.a", {"x": True, "y": True}),
        # times
        ("SELECT DISTINCT ts - ts % 5 AS t, a FROM u", {"u": True}),
        ("SELECT ts FROM u UNION SELECT ts FROM p", {"u": True, "p": True}),
        ("SELECT ts FROM u UNION SELECT ts + 1 FROM p", {"u": True, "p": True}),
        ("SELECT ts FROM u UNION SELECT b FROM p", {"u": False, "p": False}),
        ("SELECT ts, a FROM u EXCEPT SELECT ts, a FROM p", {"u": True, "p": True}),
        ("SELECT u.ts, COUNT(*) AS n FROM u, p WHERE u.ts = p.ts GROUP BY u.ts", {"u": True, "p": True}),
        (
            "SELECT u.ts, COUNT(*) AS n FROM u, p WHERE u.ts = p.ts + 1 GROUP BY u.ts",
            {"u": True, "p": True},
        ),
        ("SELECT x.n FROM (SELECT COUNT(*) AS n FROM u) x, w WHERE x.n = w.a", {"u": True, "w": True}),
        # deletions
        ("SELECT u.a FROM u, r WHERE u.a = r.a", {"u": False, "r": False}),
        ("SELECT x.a FROM r x, r y WHERE x.a = y.a", {"x": False, "y": False}),
        ("SELECT u.a FROM u, n WHERE n.ts <= u.ts + 5", {"u": False, "n": False}),
        ("SELECT u.a FROM u, m WHERE m.ts <= u.ts + 5", {"u": False, "m": True}),
        # a promise that lapses
        ("SELECT u.a FROM u, l WHERE u.a = l.a", {"u": False, "l": False}),
        # times
        ("SELECT u.a FROM u, p WHERE p.ts <= u.ts + 20", {"u": True, "p": False}),
        ("SELECT u.a FROM u, p WHERE p.ts - u.ts < 20 AND NOT (u.ts > p.ts)", {"u": True, "p": True}),
        ("SELECT u.a FROM u, p WHERE p.ts = u.ts", {"u": True, "p": True}),
        ("SELECT u.a FROM u, p WHERE p.ts = u.ts + 7", {"u": True, "p": True}),
        ("SELECT u.a FROM u, p WHERE p.ts <= u.a", {"u": True, "p": False}),
        ("SELECT u.a FROM u, p WHERE p.ts <= u.ts + u.a AND p.a = u.a", {"u": True, "p": False}),
        ("SELECT u.a FROM u, p WHERE p.ts > u.ts", {"u": False, "p": True}),
        ("SELECT u.a FROM u, p WHERE p.ts <> u.ts", {"u": False, "p": False}),
        ("SELECT u.a FROM u, p WHERE p.ts <= u.ts OR p.a = u.a", {"u": False, "p": False}),
        (
            "SELECT u.a FROM u, p, u v WHERE p.ts <= u.ts AND v.ts <= p.ts",
            {"u": True, "p": False, "v": False},
        ),
        ("SELECT u.a FROM u, g, p WHERE p.ts <= g.until AND u.a = g.a", {"u": True, "p": False}),
        (
            "SELECT x.a FROM t x, t y WHERE y.tt BETWEEN x.tt AND x.tt + INTERVAL '5' MINUTE",
            {"x": True, "y": True},
        ),
        ("SELECT x.a FROM t x, t y WHERE y.tt <= x.tt + INTERVAL '1' DAY", {"x": True, "y": False}),
        # no partners
        ("SELECT u.a FROM u, p WHERE p.a = 5 AND u.a = 5", {"u": False, "p": False}),
        ("SELECT u.a FROM u, p WHERE p.a = u.a + 1", {"u": False, "p": False}),
        ("SELECT x.a FROM t x, t y WHERE x.d = y.d", {"x": False, "y": False}),
        # compared without loss
        ("SELECT i.a FROM i, p WHERE i.a = p.a", {"i": True, "p": True}),
        # equal within a stream
        ("SELECT u.a FROM u, p WHERE p.b = u.a AND p.a = p.b", {"u": True, "p": False}),
        # written through sub-queries
        (
            "SELECT x.k FROM (SELECT a AS k FROM p) x, (SELECT a AS j FROM p WHERE b > 1) y WHERE x.k = y.j",
            {"x.p": True, "y.p": True},
        ),
    ],
)
def test_punctuations_and_times_free_state(sql, purgeable):
    result = judged(sql)
    assert result.purgeable == purgeable
    assert result.safe == result.accepted == all(purgeable.values())


def test_a_lapsing_punctuation_is_named():
    result = judged("SELECT u.a FROM u, l WHERE u.a = l.a")
    assert result.reason.endswith("nothing purges u, l; a punctuation with a LIFESPAN does not last")
    assert "l PUNCTUATED ON (a) without LIFESPAN" in result.hint
    assert "l PUNCTUATED ON (a) REUSED AFTER 9 and u PUNCTUATED ON (a)" in result.hint


LAPSING = (
    "CREATE STREAM x (a BIGINT, b BIGINT, ts {0}) TIMESTAMP BY ts PUNCTUATED ON (a) LIFESPAN {1} FROM 'x';"
    "CREATE STREAM y (a BIGINT, b BIGINT, ts {0}) TIMESTAMP BY ts PUNCTUATED ON (a) LIFESPAN {1} FROM 'y';"
    "CREATE STREAM z (a BIGINT, b BIGINT, ts {0}) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'z';"
)


@pytest.mark.parametrize(("time", "length"), [("BIGINT", "9"), ("TIMESTAMP", "INTERVAL '1' HOUR")])
def test_a_query_of_lapsing_punctuations_is_told_of_reused_values_and_these_make_it_safe(time, length):
    declared = LAPSING.format(time, length).split(";")
    declared = ";".join(declared[:2]) + ";"
    query = "CREATE QUERY q AS SELECT x.a FROM x, y WHERE x.a = y.a;"
    (refused,) = parse(declared + query).declarations.queries.values()
    shown = length.replace("'", "")
    clauses = [f"{name} PUNCTUATED ON (a) REUSED AFTER {shown}" for name in "xy"]
    assert f"{' and '.join(clauses)} (values that come again join no older tuples)" in verdict(refused).hint
    for name, clause in zip("xy", clauses, strict=True):
        declared = declared.replace(
            f"PUNCTUATED ON (a) LIFESPAN {length} FROM '{name}'", f"{clause[2:]} FROM '{name}'"
        )
    (cured,) = parse(declared + query).declarations.queries.values()
    assert "REUSED AFTER" in declared and "LIFESPAN" not in declared
    assert verdict(cured).safe and not verdict(refused).safe


def test_reused_values_are_not_named_where_they_would_not_do():
    declared = LAPSING.format("BIGINT", "9")
    query = "CREATE QUERY q AS SELECT x.a FROM x, z WHERE x.b = z.b;"
    (refused,) = parse(declared + query).declarations.queries.values()
    assert not verdict(refused).accepted and "REUSED" not in verdict(refused).hint


def test_the_refusal_names_streams_and_cure():
    result = judged("SELECT x.a FROM u x JOIN u y ON x.a = y.a")
    assert result.reason == "query q could grow without bound: nothing purges x, y"
    assert result.hint == (
        "declare u PUNCTUATED ON (a), or a WINDOW on u (older tuples no longer count); "
        "or add a condition such as y.ts BETWEEN x.ts AND x.ts + 60, which leaves other pairs out; "
        "or say WITH (unbounded = true)"
    )
    assert result.to_json() == {
        "query": "q",
        "safe": False,
        "purgeable": {"x": False, "y": False},
        "reason": result.reason,
        "hint": result.hint,
        "punctuations": {},
    }


def test_a_wish_is_accepted_and_honest():
    result = judged("SELECT DISTINCT a FROM u", "WITH (unbounded = true)")
    assert (result.safe, result.accepted) == (False, True)
    assert not judged("SELECT DISTINCT a FROM u", "WITH (unbounded = false)").accepted


def test_refuse_unsafe_points_at_the_query():
    good = "CREATE QUERY ok AS SELECT a FROM u;\n"
    refuse_unsafe(parse(STREAMS + good))
    with pytest.raises(ScriptError, match="query bad could grow") as caught:
        refuse_unsafe(parse(STREAMS + good + "CREATE QUERY bad AS SELECT DISTINCT a FROM u;"))
    assert str(caught.value.where) == "script.sql:13:14"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT x.a FROM w x, w y, m WHERE x.a < y.a AND m.a = x.a",
        "SELECT MAX(a) AS n FROM w",
        "SELECT a FROM w EXCEPT SELECT a FROM m UNION ALL SELECT a FROM w x",
        "SELECT g.n FROM (SELECT a, COUNT(DISTINCT a) AS n FROM w GROUP BY a) g, m WHERE g.n = m.a",
    ],
)
def test_the_short_way_for_windows_is_the_long_one(sql):
    plan = parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"].plan
    assert all(judge(plan).values())
    sources = Sources()
    states = [*states_of(plan, sources), *result_state(plan, sources)]
    assert states and all(state.freed for state in states)


@pytest.mark.parametrize(
    ("sql", "note"),
    [
        (
            "SELECT x.n FROM (SELECT a, COUNT(*) AS n FROM w GROUP BY a) x, p WHERE x.a = p.a",
            "punctuations do not free rows joined with groups, set operators or RETRACTABLE streams",
        ),
        (
            "SELECT u.a FROM u, m WHERE m.ts <= u.ts + 5",
            "punctuations do not free rows joined with groups, set operators or RETRACTABLE streams",
        ),
        (
            "SELECT x.b, COUNT(*) AS n FROM p x, p y, p z WHERE x.a = y.a AND y.b = z.a GROUP BY x.a, x.b",
            "punctuations free groups only if all streams beneath punctuate their keys and none expires",
        ),
        (
            "SELECT a, COUNT(*) AS n FROM p GROUP BY a UNION ALL SELECT a, ts FROM w",
            "punctuations do not free results that may end",
        ),
    ],
)
def test_a_refusal_says_where_punctuations_do_not_help(sql, note):
    result = judged(sql)
    assert not result.accepted
    assert note in result.reason
    assert "a WINDOW on" in result.hint
    assert judged(sql, "WITH (unbounded = true)").accepted


SEARCHED = """\
CREATE STREAM windowed (c STRING, k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
CREATE STREAM lasting (c STRING, k BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k) FROM 'l';
CREATE STREAM "Taken Back" (c STRING, k BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 't';
CREATE RELATION known (c STRING, k BIGINT) FROM 'k';
CREATE JOIN windowed.k = lasting.k;
CREATE JOIN known.k = lasting.k;
"""


def searched(text: str, options: str = "") -> Verdict:
    return verdict(parse(f"{SEARCHED}CREATE QUERY q {options} AS SEARCH {text};").declarations.queries["q"])


@pytest.mark.parametrize(
    ("text", "purgeable"),
    [
        ("'a b' OVER (windowed, known)", {"windowed": True}),
        ("'a b' OVER (windowed, lasting)", {"windowed": True, "lasting": False}),
        ("'a b'", {"windowed": True, "lasting": False, "Taken Back": False}),
        ("'a' OVER (windowed, lasting)", {}),
        ("'a b' OVER (windowed, lasting) MAX 1 TUPLES", {}),
        ("'a'", {"Taken Back": False}),
        ("'a' OVER (windowed, lasting) TOP 3 PER 10", {}),
        ("'a' OVER (windowed, lasting) TOP 3", {"windowed": True, "lasting": False}),
        ("'a' OVER (windowed) TOP 3", {"windowed": True}),
    ],
)
def test_a_search_keeps_windows(text, purgeable):
    result = searched(text)
    assert result.purgeable == purgeable
    assert result.safe == result.accepted == all(purgeable.values())


def test_the_cure_of_a_search_is_a_window_or_to_leave_streams_out():
    assert searched("'a b'").hint == (
        'declare a WINDOW on lasting and a WINDOW on "Taken Back"; '
        "or search OVER (windowed, known); or say WITH (unbounded = true)"
    )
    hint = searched("'a b' OVER (lasting, known)").hint
    assert hint == "declare a WINDOW on lasting; or say WITH (unbounded = true)"
    by_wish = searched("'a b'", "WITH (unbounded = true)")
    assert by_wish.accepted and not by_wish.safe


@pytest.mark.parametrize(
    ("sql", "aliases"),
    [
        ("SELECT p.a FROM (SELECT a FROM u) p, (SELECT a FROM u) q WHERE p.a = q.a", ["p.u", "q.u"]),
        ("SELECT p.a FROM (SELECT a FROM u) p, u WHERE p.a = u.a", ["p.u", "u"]),
        ("WITH c AS (SELECT a FROM u) SELECT x.a FROM c x, c y WHERE x.a = y.a", ["x.u", "y.u"]),
        (
            "SELECT p.a FROM (SELECT a, COUNT(*) AS n FROM w GROUP BY a) p, (SELECT DISTINCT a FROM w) q,"
            " (SELECT r.a FROM (SELECT a FROM w) r, w s WHERE r.a = s.a) t WHERE p.a = q.a AND q.a = t.a",
            ["p.w", "q.w", "t.w", "s"],
        ),
        ("SELECT p.a FROM (SELECT a FROM u) p, (SELECT a FROM w) q WHERE p.a = q.a", ["u", "w"]),
    ],
)
def test_streams_of_sub_queries_are_told_apart(sql, aliases):
    result = judged(sql, "WITH (unbounded = true)")
    assert [*result.purgeable] == aliases
    lasting = [alias for alias in aliases if alias.split(".")[-1] == "u"]
    assert all(alias in result.reason for alias in lasting)


LATELY = "OVER (PARTITION BY a ORDER BY ts RANGE BETWEEN 4 PRECEDING AND CURRENT ROW)"
EARLIER = LATELY.replace("CURRENT ROW", "2 PRECEDING")
FRAMED = "SELECT a, COUNT(*) OVER (ORDER BY ts ROWS 2 PRECEDING) AS c FROM u"


@pytest.mark.parametrize("options", ["", "WITH (emit = 'final')"])
@pytest.mark.parametrize(
    ("sql", "safe"),
    [
        (f"SELECT a, ts, COUNT(*) {LATELY} AS n FROM u", True),
        (f"SELECT a FROM (SELECT a, COUNT(*) {LATELY} AS n FROM u) x WHERE n > 2", True),
        (f"SELECT b, COUNT(*) {LATELY.replace(' a ', ' b ')} AS n FROM u JOIN g ON g.a = u.a", True),
        (
            f"SELECT a, MAX(a) {LATELY} AS n, COUNT(*) {EARLIER} AS m FROM u",
            True,
        ),
        (
            "SELECT a, COUNT(*) OVER (PARTITION BY a ORDER BY tt RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING"
            " AND CURRENT ROW) AS n FROM t",
            True,
        ),
        (f"SELECT a, COUNT(*) {LATELY} AS n, LAG(a) OVER (PARTITION BY a ORDER BY ts) AS m FROM u", False),
        ("SELECT a, COUNT(*) OVER (PARTITION BY a ORDER BY ts ROWS 2 PRECEDING) AS n FROM u", False),
        ("SELECT a, COUNT(*) OVER (PARTITION BY a ORDER BY ts) AS n FROM u", False),
        (f"SELECT a, COUNT(*) {LATELY.replace('CURRENT ROW', '1 FOLLOWING')} AS n FROM u", False),
        (f"SELECT a, COUNT(*) {LATELY.replace('BY ts', 'BY a')} AS n FROM u", False),
        (f"SELECT a, COUNT(*) {LATELY} AS n FROM n", False),
    ],
)
def test_frames_by_time_alone_need_no_bounded_partition(sql, safe, options):
    result = judged(sql, options)
    assert result.safe == result.accepted == safe


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT x.c, w.a FROM ({FRAMED}) x JOIN w ON w.a = x.a",
        f"SELECT a, c FROM ({FRAMED}) x ORDER BY c LIMIT 3",
        f"SELECT a, RANK() OVER (PARTITION BY a ORDER BY c) AS n FROM ({FRAMED}) x",
    ],
)
def test_the_rows_with_frames_are_not_few_though_frames_keep_few(sql):
    assert False in judged(sql).purgeable.values()
