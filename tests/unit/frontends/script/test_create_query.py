"""CREATE VIEW: FROM v means FROM (text of v) v, whoever defined what since."""

from __future__ import annotations

import pytest

from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations

STREAM = "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 's.jsonl';\n"
VIEW = "CREATE VIEW v AS SELECT a + 1 AS c, b FROM s WHERE b > 2;\n"


def plan_of(text: str, known: Declarations | None = None) -> str:
    script = parse_script(text, file="x.sql", folder="/data", known=known)
    return str(script.declarations.queries["q"].plan)


def refusal(text: str, known: Declarations | None = None) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        parse_script(text, file="x.sql", folder="/data", known=known)
    return caught.value


TEXT = "(SELECT a + 1 AS c, b FROM s WHERE b > 2)"


@pytest.mark.parametrize(
    ("of_view", "of_text"),
    [
        ("SELECT c FROM v", f"SELECT c FROM {TEXT} v"),
        ("SELECT x.c FROM V x WHERE c > 1", f"SELECT x.c FROM {TEXT} x WHERE c > 1"),
        ("WITH v AS (SELECT b AS c FROM s) SELECT c FROM v", "SELECT c FROM (SELECT b AS c FROM s) v"),
        (
            "WITH s AS (SELECT 1 AS b FROM s) SELECT c FROM v, s",
            f"SELECT c FROM {TEXT} v, (SELECT 1 AS b FROM s) s",
        ),
        (
            "SELECT v.c FROM v, w WHERE v.b = w.b",
            f"SELECT v.c FROM {TEXT} v, (SELECT a AS b FROM s) w WHERE v.b = w.b",
        ),
    ],
)
def test_a_view_is_its_text(of_view: str, of_text: str) -> None:
    views = STREAM + VIEW + "CREATE VIEW w (b) AS SELECT a FROM s;\n"
    assert plan_of(f"{views}CREATE QUERY q AS {of_view};") == plan_of(f"{STREAM}CREATE QUERY q AS {of_text};")


def test_a_view_is_known_to_later_scripts() -> None:
    known = parse_script(STREAM + VIEW, file="x.sql", folder="/data").declarations
    assert plan_of("CREATE QUERY q AS SELECT c FROM v;", known) == plan_of(
        STREAM + VIEW + "CREATE QUERY q AS SELECT c FROM v;"
    )
    assert (
        "view v exists already"
        in refusal("CREATE STREAM v (ts BIGINT) TIMESTAMP BY ts FROM 'v';", known).message
    )
    assert "s is used by view v" in refusal("DROP STREAM s;", known).message
    gone = parse_script("DROP VIEW v; DROP STREAM s;", file="x.sql", folder="/data", known=known).declarations
    assert not gone.views and not gone.streams


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE VIEW v AS SELECT nope FROM s;", "no column nope"),
        ("CREATE VIEW v (x, y) AS SELECT a FROM s;", "2 names for 1 columns"),
        ("CREATE VIEW v (x, X) AS SELECT a, b FROM s;", "two columns are named X"),
        ("CREATE VIEW v AS SELECT a FROM v;", "no stream or relation v"),
        ("CREATE VIEW s AS SELECT a FROM s;", "stream s exists already"),
        ("CREATE VIEW v AS SEARCH 'x';", "SELECT"),
        (VIEW + "CREATE QUERY q AS SELECT c FROM v WINDOW 5;", "WINDOW in FROM is of a stream"),
        ("DROP VIEW v;", "no view v"),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert message in str(refusal(STREAM + text))
