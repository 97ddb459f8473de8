"""Statements of a script and what they declare."""

from __future__ import annotations

import pytest

from seine.algebra.definitions import DEFAULT_AHEAD, JoinEdge, Scheme
from seine.algebra.serialise import stream_from_json, stream_to_json
from seine.algebra.types import BIGINT, STRING, Field, Kind, Type
from seine.errors import TakenError
from seine.frontends.script.parser import parse_script
from tests.support.front_end import TABLES, parse, place, refusal

S = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"


def stream(text: str):
    declared = parse(text).declarations.streams
    assert len(declared) == 1
    return next(iter(declared.values()))


def test_all_clauses_of_a_stream():
    bid = stream(
        """create Stream Bid (bidderid BIGINT, "ItemId" bigint, imp DOUBLE, ts BIGINT)
        TIMESTAMP BY TS WINDOW 20 LATENESS 5 PUNCTUATED ON ("ItemId")
        PUNCTUATED ON (bidderid, "ItemId") LIFESPAN 100
        RETRACTABLE IMPORTANCE BY imp FROM 'in/bid.csv' FORMAT csv
        WITH (header = 'true', 'delimiter' = '''');"""
    )
    assert (bid.name, bid.time, bid.window, bid.lateness, bid.retractable, bid.importance) == (
        "bid",
        3,
        20,
        5,
        True,
        2,
    )
    assert bid.fields[1] == Field("ItemId", BIGINT)
    assert bid.schemes == (Scheme((1,)), Scheme((0, 1), 100))
    assert bid.source is not None
    assert (bid.source.path, bid.source.format) == ("/data/in/bid.csv", "CSV")
    assert bid.source.options == (("header", "true"), ("delimiter", "'"))
    assert bid.domain == "plain"


BOUNDED = "CREATE STREAM s (a INT, ts {}) TIMESTAMP BY ts FROM 's' WITH ({})"
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("time", "options", "idle", "ahead"),
    [
        ("TIMESTAMP", "idle = INTERVAL '30' SECOND", 30_000_000, DEFAULT_AHEAD),
        ("TIMESTAMP", "ahead = INTERVAL 2 DAYS", None, 2 * DAY),
        ("TIMESTAMP", "ahead = 'None'", None, None),
        ("BIGINT", "idle = INTERVAL '1' MINUTE, ahead = 100", 60_000_000, 100),
        ("BIGINT", "idle = INTERVAL '1' MINUTE", 60_000_000, None),
    ],
)
def test_bounds_of_a_stream(time, options, idle, ahead):
    declared = stream(BOUNDED.format(time, options))
    assert (declared.idle, declared.ahead) == (idle, ahead)
    assert stream_from_json(stream_to_json(declared)) == declared


@pytest.mark.parametrize(
    ("time", "options", "message"),
    [
        ("BIGINT", "idle = 30", "idle is a time by the wall clock"),
        ("BIGINT", "idle = 'none'", "idle is a time by the wall clock"),
        ("BIGINT", "idle = INTERVAL '0' SECOND", "idle is a time by the wall clock"),
        ("BIGINT", "ahead = INTERVAL '1' DAY", "ahead is a length of this stream's event time"),
        ("TIMESTAMP", "ahead = 5", "ahead is a length of this stream's event time"),
        ("TIMESTAMP", "ahead = '5'", "ahead is a length of this stream's event time"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(time, options, message):
    error = refusal(BOUNDED.format(time, options))
    assert message in error.message and error.hint and place(error)[1] > 60


def test_a_relation_has_no_such_bounds():
    error = refusal("CREATE RELATION r (a INT) FROM 'r' WITH (idle = INTERVAL '1' DAY)")
    assert "no option idle" in error.message


def test_clauses_in_any_order_and_defaults():
    first = stream("CREATE STREAM s (a INT, ts BIGINT) FROM '/abs/s' WINDOW 3 TIMESTAMP BY ts")
    assert (first.window, first.lateness, first.schemes, first.retractable) == (3, 0, (), False)
    assert first.source is not None and (first.source.path, first.source.format) == ("/abs/s", "JSON")


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("INTERVAL '20' MINUTE", 1_200_000_000),
        ("interval 20 minutes", 1_200_000_000),
        ("INTERVAL '1.5' SECOND", 1_500_000),
        ("INTERVAL 2 WEEKS", 1_209_600_000_000),
        ("INTERVAL 7 MICROSECOND", 7),
    ],
)
def test_intervals_for_timestamp_times(text, microseconds):
    declared = stream(f"CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts WINDOW {text} FROM 's';")
    assert (declared.window, declared.domain) == (microseconds, "timestamp")


def test_types():
    declared = stream(
        "CREATE STREAM s (a BOOLEAN, b INTEGER, c DECIMAL(10,2), d DECIMAL, e VARCHAR(9), f text, g XML, "
        "ts BIGINT) TIMESTAMP BY ts FROM 's';"
    )
    kinds = [field.type.kind for field in declared.fields]
    assert kinds[:2] == [Kind.BOOLEAN, Kind.INT] and kinds[4:7] == [Kind.STRING, Kind.STRING, Kind.XML]
    assert declared.fields[2].type == Type(Kind.DECIMAL, 10, 2)
    assert declared.fields[3].type == Type(Kind.DECIMAL, 10, 0)
    assert declared.fields[5].type == STRING


def test_relations_and_joins():
    declared = parse(
        TABLES + "CREATE JOIN s.a = t.e; CREATE JOIN s.a = t.a; DROP JOIN t.a = s.a;"
    ).declarations
    assert declared.relations["v"].valid == (1, 2) and declared.relations["r"].valid is None
    assert declared.edges == [JoinEdge("s", 0, "t", 1)]


def test_comments_strings_and_empty_statements():
    script = parse(
        f"-- ; '\n/* ; \" \n */ ;; {S} ;\nCREATE QUERY q AS SELECT 'a;''b' AS \"x;y\" FROM s -- end"
    )
    assert script.declarations.queries["q"].plan.schema[0].name == "x;y"


def test_names_fold_unless_quoted():
    script = parse(S + 'CREATE QUERY MyQuery AS SELECT S."a" AS "A", A AS b FROM "s";')
    query = script.declarations.queries["myquery"]
    assert query.name == "MyQuery"
    assert [field.name for field in query.plan.schema] == ["A", "b"]


def test_options_and_text_of_a_query():
    script = parse(
        S + "CREATE QUERY q WITH (unbounded = TRUE, limit = 7, emit = 'changes') AS\n  SELECT a FROM s ;"
    )
    query = script.declarations.queries["q"]
    assert dict(query.options) == {"unbounded": True, "limit": 7, "emit": "changes"}
    assert query.text == "SELECT a FROM s"


def test_drop_and_create_again():
    script = parse(S + "CREATE QUERY q AS SELECT a FROM s; DROP QUERY Q; CREATE QUERY q AS SELECT ts FROM s;")
    assert [(query.name, str(position)) for query, position in script.queries] == [("q", "script.sql:1:132")]
    assert [field.name for field in script.declarations.queries["q"].plan.schema] == ["ts"]
    gone = parse(S + "DROP STREAM s;").declarations
    assert gone.streams == {}


def test_a_script_builds_on_what_is_known():
    known = parse(S + "CREATE QUERY q AS SELECT a FROM s;").declarations
    more = parse_script("CREATE QUERY p AS SELECT ts FROM s;", file="more.sql", folder="/", known=known)
    assert set(more.declarations.queries) == {"q", "p"} and set(more.positions) == {"p"}
    assert set(known.queries) == {"q"}
    dropped = parse_script("DROP QUERY q; DROP STREAM s;", file="more.sql", folder="/", known=known)
    assert not dropped.declarations.queries and not dropped.declarations.streams


REFUSED = [
    ("CREATE TABLE s (a INT);", 8, "expected STREAM"),
    ("SELECT 1;", 1, "expected CREATE, DROP or ALTER"),
    ("CREATE STREAM s (a INTT, ts BIGINT) TIMESTAMP BY ts FROM 's';", 20, "expected a type"),
    ("CREATE STREAM s (a INT, A INT, ts BIGINT) TIMESTAMP BY ts FROM 's';", 25, "twice"),
    ("CREATE STREAM s (a INT) FROM 's';", 15, "no event time"),
    ("CREATE STREAM s (a INT) TIMESTAMP BY tz FROM 's';", 38, "no column tz"),
    ("CREATE STREAM s (ts INT) TIMESTAMP BY ts FROM 's';", 39, "BIGINT or TIMESTAMP"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts WINDOW INTERVAL '5' DAY FROM 's';", 52, "plain units"),
    ("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts WINDOW 5 FROM 's';", 55, "needs an interval"),
    ("CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL 5 MONTH FROM 's';", 66, "unit of time"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts WINDOW 0 FROM 's';", 52, "at least 1"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts WINDOW 1.5 FROM 's';", 52, "whole number"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts WINDOW 1 WINDOW 2 FROM 's';", 54, "twice"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts;", 44, "expected FROM"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's' FORMAT AVRO;", 50, "FORMAT AVRO is for records"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's' FORMAT ORC;", 61, "expected a format"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's' PUNCTUATED ON (x);", 69, "no column x"),
    (
        "CREATE STREAM s (ts BIGINT, a BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a, ts) LIFESPAN 5"
        " PUNCTUATED ON (ts, a) FROM 's';",
        102,
        "two punctuation schemes have the same columns",
    ),
    (
        "CREATE STREAM s (c STRING, ts BIGINT) TIMESTAMP BY ts FROM 's' IMPORTANCE BY c;",
        78,
        "must be a number",
    ),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's' WINDO 5;", 54, "expected a clause"),
    ("CREATE STREAM s (ts BIGINT TIMESTAMP BY ts FROM 's';", 28, "expected ',' or ')'"),
    ("CREATE RELATION r (a INT, b STRING) VALID FROM a TO b FROM 'r';", 48, "VALID needs"),
    ("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's", 50, "never closed"),
    ("DROP QUERY nope;", 12, "no query nope"),
    ("DROP TABLE nope;", 6, "expected STREAM"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED)
def test_refused_statements(text, column, message):
    error = refusal("\n" + text)
    assert place(error) == (2, column)
    assert message in error.message


REFUSED_AFTER_S = [
    ("CREATE RELATION S (a INT) FROM 'r';", 17, "exists already"),
    ("CREATE JOIN s.a = s.b;", 21, "no column b"),
    ("CREATE JOIN s.a = u.b;", 19, "no stream or relation u"),
    ("CREATE QUERY q WITH (memry = 5) AS SELECT a FROM s;", 22, "no option memry"),
    ("CREATE QUERY q WITH (limit = 0) AS SELECT a FROM s;", 30, "above 0"),
    ("CREATE QUERY q WITH (memory = 4, shed = 'best') AS SELECT a FROM s;", 41, "expected one of"),
    ("CREATE QUERY q WITH (seed = 4) AS SELECT a FROM s;", 22, "needs memory"),
    ("CREATE QUERY q WITH (memory = 0) AS SELECT a FROM s;", 31, "above 0"),
    ("CREATE QUERY q WITH (memory = -1) AS SELECT a FROM s;", 31, "above 0"),
    ("CREATE QUERY q WITH (memory = 1.5) AS SELECT a FROM s;", 31, "above 0"),
    ("CREATE QUERY q WITH (memory = 4611686018427387904) AS SELECT a FROM s;", 31, "below 2**62"),
    ("CREATE QUERY q WITH (memory = '0 MB') AS SELECT a FROM s;", 31, "or a size"),
    ("CREATE QUERY q WITH (memory = '5 miles') AS SELECT a FROM s;", 31, "or a size"),
    ("CREATE QUERY q WITH (memory = 4, alpha = 0) AS SELECT a FROM s;", 42, "above 0"),
    ("CREATE QUERY q WITH (memory = 4, alpha = 1e999) AS SELECT a FROM s;", 42, "above 0"),
    ("CREATE QUERY q WITH (memory = 4, beta = -1) AS SELECT a FROM s;", 41, "0 or more"),
    ("CREATE QUERY q WITH (memory = 4, seed = 1.5) AS SELECT a FROM s;", 41, "whole number"),
    ("CREATE QUERY q WITH (memory = 4, seed = 'x') AS SELECT a FROM s;", 41, "whole number"),
    ("CREATE QUERY q WITH (importance = 'max') AS SELECT a FROM s;", 35, "expected one of"),
    ("CREATE QUERY q WITH (memory = 4) AS SELECT a FROM s;", 22, "joins nothing"),
    ("CREATE QUERY q WITH (memory = 4) AS SELECT COUNT(*) AS n FROM s x, s y;", 22, "aggregates"),
    ("CREATE QUERY q WITH (memory = 4) AS SELECT DISTINCT x.a FROM s x, s y;", 22, "DISTINCT"),
    ("CREATE QUERY q WITH (memory = 4) AS SELECT x.a FROM s x, s y;", 22, "has no window"),
    ("CREATE QUERY q WITH (memory = 4) AS SEARCH 'x' OVER (s);", 22, "only SELECT"),
    ("CREATE QUERY q WITH (unbounded = 1) AS SELECT a FROM s;", 34, "true or false"),
    ("CREATE QUERY q WITH (limit = 1, limit = 2) AS SELECT a FROM s;", 33, "twice"),
    ("CREATE QUERY q AS SELEC a FROM s;", 19, "expected SELECT"),
    ("CREATE QUERY q SELECT a FROM s;", 16, "expected AS"),
    ("CREATE QUERY q AS SELECT a FROM s; DROP STREAM s;", 48, "used by query q"),
    ("CREATE QUERY q AS SELECT a FROM s; CREATE QUERY Q AS SELECT a FROM s;", 49, "exists already"),
    ("CREATE STREAM d (k DATE, ts BIGINT) TIMESTAMP BY ts FROM 'd'; CREATE JOIN s.a = d.k;", 75, "no common"),
    (
        "CREATE STREAM d (a BIGINT, tm TIMESTAMP) TIMESTAMP BY tm FROM 'd'; CREATE JOIN s.a = d.a;",
        80,
        "timed differently",
    ),
    ("CREATE JOIN s.a = s.ts; DROP STREAM s;", 37, "used by a join"),
    ("CREATE JOIN s.a = s.ts; CREATE JOIN s.ts = s.a;", 37, "exists already"),
    ("DROP JOIN s.a = s.ts;", 11, "no such join"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED_AFTER_S)
def test_refused_after_a_stream(text, column, message):
    error = refusal(S + "\n" + text)
    assert place(error) == (2, column)
    assert message in error.message


def test_hints_name_what_is_close():
    assert refusal(S + "CREATE QUERY q AS SELEC a FROM s;").hint == "did you mean SELECT?"
    assert refusal(S + "CREATE JOIN s.tss = s.a;").hint == "did you mean 'ts'?"
    assert "unbounded" in (refusal(S + "CREATE QUERY q WITH (x = 1) AS SELECT a FROM s;").hint or "")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("CREATE QUERY q WITH (emit = 'final') AS SELECT a FROM n;", "emit = 'final'"),
    ],
)
def test_what_cannot_run_yet_is_refused_last(text, what):
    text = f"CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'n.jsonl';\n{text}"
    error = refusal(TABLES + text + "\nCREATE QUERY p AS SELECT a FROM s;")
    assert what in error.message and place(error)[1] == 14
    assert "no column nope" in refusal(TABLES + text + "\nCREATE QUERY p AS SELECT nope FROM s;").message
    assert "exists already" in refusal(TABLES + text + text).message
    assert not parse(TABLES + text + "DROP QUERY q;").declarations.queries


def test_a_query_may_take_the_place_of_a_known_one() -> None:
    known = parse(S + "CREATE QUERY Q AS SELECT ts FROM s; CREATE QUERY p AS SELECT ts FROM s;").declarations
    text = "CREATE QUERY q AS SELECT ts + 1 AS t FROM s; DROP QUERY p;"
    script = parse_script(text, file="x.sql", folder="/", known=known, replace=True)
    assert set(script.declarations.queries) == set(script.positions) == {"q"}
    assert set(script.dropped) == {"q", "p"} and script.dropped["q"] is known.queries["q"]
    with pytest.raises(TakenError, match="query q exists already") as refusal:
        parse_script(text, file="x.sql", folder="/", known=known)
    assert "--replace" in str(refusal.value.hint)
    twice = text + "CREATE QUERY Q AS SELECT ts FROM s;"
    with pytest.raises(TakenError, match="query Q exists already") as refusal:
        parse_script(twice, file="x.sql", folder="/", known=known, replace=True)
    assert "--replace" not in str(refusal.value.hint), "it would not help"


def test_timestamps_have_up_to_six_digits() -> None:
    text = "CREATE STREAM s (`At` TIMESTAMP({0})) TIMESTAMP BY AT FROM 's.jsonl';"
    stream = parse(text.format(3)).declarations.streams["s"]
    assert [(field.name, str(field.type)) for field in stream.declared] == [("At", "TIMESTAMP")]
    assert "0 to 6 digits" in refusal(text.format(9)).message
