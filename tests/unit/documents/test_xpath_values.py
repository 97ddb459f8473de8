"""XPath expressions as values: what they may take is guessed before, and a document is parsed once."""

from __future__ import annotations

import pytest

from seine.documents import xpath_values
from seine.documents.xpath_values import xpath_double, xpath_steps, xpath_string

WIDE = "<a>" + "<b><c/></b>" * 3_000 + "</a>"


@pytest.mark.parametrize(
    ("expression", "is_answered"),
    [
        ("count(//b)", True),
        ("count(a/b[c])", True),
        ("count(//b[@k = '//'])", True),
        ("count(//b[.//c])", True),
        ("count(//b[.//c[.//d]])", True),
        ("count(//b)" + " " * 5_000, False),
        ("", False),
        ("unknown(a)", False),
        ("p:a", False),
        ("document('file:///etc/passwd')", False),
        ("re:test('a', 'a')", False),
    ],
)
def test_what_is_wrong_is_none(expression, is_answered):
    assert (xpath_double(WIDE, expression) is not None) == is_answered


@pytest.mark.parametrize(
    ("expression", "power"),
    [
        ("count(a/b[c])", 1),
        ("count(//b[@k = '//'])", 1),
        ("count(//b[.//c])", 2),
        ("count(//b[.//c[.//d]])", 3),
        ("count(//*[following::*[preceding::*]])", 5),
        ("count(//*/following::*/preceding::*)", 3),
    ],
)
def test_steps_grow_with_a_power_of_the_size(expression, power):
    once, twice = (xpath_steps("<a>" + "<b/>" * size, expression) for size in (99, 199))
    assert twice == once * 2**power if power > 1 else once == twice == 0


def test_names_are_local():
    text = '<p:a xmlns:p="urn:p" p:k="1" xmlns="urn:d"><b p:k="2" k="3"/></p:a>'
    assert [xpath_string(text, path) for path in ("a/@k", "a/b/@k", "//@k[. = 2]")] == ["1", "3", ""]


@pytest.mark.parametrize(
    ("expression", "absolute"),
    [
        ("sum(a/b) div count(a/*)", "sum(/a/b) div count(/a/*)"),
        ("* * *", "/* * /*"),
        ("a - b", "/a - /b"),
        ("a-b", "/a-b"),
        ("child::a/b | @k", "/child::a/b | /@k"),
        ("string(a/b[c/d = 1]/e)", "string(/a/b[c/d = 1]/e)"),
        ("div", "/div"),
        ("(a)[1] and not(.//b)", "(/a)[1] and not(/.//b)"),
    ],
)
def test_relative_paths_start_above_the_root(expression, absolute):
    assert xpath_values._absolute(expression) == absolute
