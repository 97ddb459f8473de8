"""Verdicts: which streams a query keeps, and what bounds them."""

from __future__ import annotations

import pytest

from seine.errors import ScriptError
from seine.safety.verdict import Verdict, refuse_unsafe, verdict
from tests.unit.front_end import parse

STREAMS = """\
CREATE STREAM w (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w';
CREATE STREAM u (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'n';
CREATE STREAM m (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 RETRACTABLE FROM 'm';
CREATE RELATION f (a BIGINT) FROM 'f';
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
        ("SELECT a FROM w UNION ALL SELECT a FROM u", {"w": True, "u": False}),
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


def test_the_refusal_names_streams_and_cure():
    result = judged("SELECT x.a FROM u x JOIN u y ON x.a = y.a")
    assert result.reason == "query q could grow without bound: nothing purges x, y"
    assert result.hint == "declare u PUNCTUATED ON (a), or a WINDOW on u; or say WITH (unbounded = true)"
    assert result.to_json() == {
        "query": "q",
        "safe": False,
        "purgeable": {"x": False, "y": False},
        "reason": result.reason,
        "hint": result.hint,
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
    assert str(caught.value.where) == "script.sql:7:14"
