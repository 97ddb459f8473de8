"""SEARCH and XSCL texts: read in full, wrong ones refused where they are wrong."""

from __future__ import annotations

import pytest

from seine.errors import ScriptError
from seine.frontends.keyword.search import SearchQuery, read_search
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.source_text import ScriptText
from seine.frontends.xscl.parse_xscl import parse_xscl
from seine.frontends.xscl.tree_patterns import PathStep, TreePattern, variables
from tests.support.front_end import TABLES, place, refusal


def search(text: str) -> SearchQuery:
    return read_search(Cursor(ScriptText(text, "q")), ["s", "t"])


def xscl(text: str):
    return parse_xscl(ScriptText(text, "q"), 0, len(text), {"s", "r"}, {"bid"})


def test_search():
    assert search("'Tarantino  travolta_TARANTINO'") == SearchQuery(("tarantino", "travolta"), ("s", "t"), 4)
    assert search("'zoë' OVER (T) MAX 2 TUPLES") == SearchQuery(("zoë",), ("t",), 2)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("'-_'", 26),
        ("word", 26),
        ("'a' OVER (u)", 36),
        ("'a' OVER (s, S)", 39),
        ("'a' MAX 0 TUPLES", 34),
        ("'a' MAX 2", 35),
    ],
)
def test_search_refused(text, column):
    assert place(refusal(f"{TABLES}CREATE QUERY q AS SEARCH {text};"))[1] == column


def test_xscl_blocks():
    query = xscl(
        "S//book->x1[.//author->x2][@id] FOLLOWED BY{x2=x5', 100} R/blog/*->x4[title->x5'] PUBLISH Out"
    )
    author = PathStep("//", "author", variable="x2")
    attribute = PathStep("/", "id", is_attribute=True)
    assert query.left == TreePattern(
        "s", (PathStep("//", "book", variable="x1", predicates=((author,), (attribute,))),)
    )
    assert query.right.stream == "r" and list(variables(query.right.steps)) == ["x4", "x5'"]
    assert (query.ordered, query.within, query.equalities) == (True, 100, (("x2", "x5'"),))
    assert query.publish == "out"


def test_xscl_equalities_are_oriented():
    query = xscl("select * from s/a->x[b->z] JOIN{y=x AND z=y, INF} s/a->y")
    assert (query.ordered, query.within, query.equalities) == (False, None, (("x", "y"), ("z", "y")))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("s//a->x[b", 10, "expected ']'"),
        ("s//a->x JOIN{x=y, 5}", 21, "expected a stream"),
        ("s//a->x JOIN{x=y} s//b->y", 17, "expected AND or ','"),
        ("s//a->x JOIN{x<y, 5} s//b->y", 15, "expected '='"),
        ("s//a->x JOIN{x=y, -5} s//b->y", 19, "whole number or INF"),
        ("s//a->x JOIN{x=y, 5} bid//b->y", 22, "no XML column"),
        ("s//a->x JOIN{x=y, 5} q//b->y", 22, "no stream q"),
        ("s//a->x JOIN{x=w, 5} s//b->y", 13, "no variable w"),
        ("s//a->x JOIN{x=x, 5} s//b->y", 13, "does not relate"),
        ("s//a->x JOIN{x=x, 5} s//b->x", 13, "both blocks"),
        ("s//a-> JOIN{x=y, 5} s//b->y", 12, "expected FOLLOWED BY or JOIN"),
        ("s JOIN{x=y, 5} s//b->y", 3, "expected '/'"),
    ],
)
def test_xscl_refused(text, column, message):
    with pytest.raises(ScriptError) as caught:
        xscl(text)
    assert message in caught.value.message
    assert place(caught.value) == (1, column)
