"""XPath expressions that are refused before a query runs, against what lxml says of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lxml import etree

from seine.algebra.functions.xpath_syntax import xpath_fault
from seine.errors import SeineError
from seine.run_local import run_local
from tests.support.seeds import seed_range

TREE = etree.fromstring("<a k='1'><b>2<a/></b><?x y?><!-- c --></a>").getroottree()
TOKENS = [
    "a",
    "b",
    "*",
    "@k",
    ".",
    "..",
    "/",
    "//",
    "[",
    "]",
    "(",
    ")",
    "'x'",
    "1",
    "2.5",
    "and",
    "or",
    "div",
    "mod",
    "+",
    "-",
    "=",
    "!=",
    "<=",
    "|",
    ",",
    "count(",
    "sum(",
    "not(",
    "contains(",
    "::",
]
TOKENS += [
    "string(",
    "position()",
    "text()",
    "child::",
    "a:b",
    "$v",
    "foo(",
    "substring(",
    "name(",
    "id(",
    " ",
]
LEAVES = [
    "a",
    "//a",
    "/",
    "/a/b",
    "a/@k",
    ".",
    "..",
    "'x'",
    "3",
    ".5",
    "//b[1]",
    "a//b",
    "*",
    "@*",
    "text()",
    "a/text()",
    "child::a",
    "self::node()",
    "a[b]",
    "-a",
]
OPERATORS = (" and ", " or ", "=", "!=", " < ", "<=", " + ", " - ", " * ", " div ", " mod ", "|")
CALLS = (
    "count(%s)",
    "sum(%s)",
    "string(%s)",
    "not(%s)",
    "name(%s)",
    "number(%s)",
    "id(%s)",
    "contains(%s, 'x')",
)


def expression(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 3 or kind < 0.35:
        return rng.choice(LEAVES)
    inner = expression(rng, depth + 1)
    if kind < 0.6:
        return inner + rng.choice(OPERATORS) + expression(rng, depth + 1)
    if kind < 0.7:
        return f"({inner})" + rng.choice(("", "", "/b", "[1]", "//a"))
    if kind < 0.8:
        return rng.choice(("//a", "b", "*")) + f"[{inner}]"
    return rng.choice(CALLS) % inner


def mutated(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(TOKENS) + text[at + rng.randint(0, 1) :]


def is_evaluated(text: str) -> bool:
    try:
        etree.XPath(text)(TREE)
    except etree.XPathError:
        return False
    return True


def test_what_is_accepted_is_evaluated_and_hardly_anything_else_is_refused() -> None:
    accepted = refused = too_strict = 0
    for seed in seed_range(3000):
        rng = random.Random(seed)
        text = expression(rng)
        text = mutated(rng, text) if rng.random() < 0.5 else text
        fault = xpath_fault(text)
        if fault is None:
            assert is_evaluated(text), (seed, text)
            accepted += 1
        else:
            too_strict += is_evaluated(text)  # libxml2 takes "count(a", "///a" and the like
            refused += 1
    assert accepted > 1000 and refused > 500 and too_strict < refused / 10


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("//[", "expected a name, found '[' at character 3"),
        ("a[b", "expected ']', found the end"),
        ("a b", "expected an operator, found 'b' at character 3"),
        ("cout(a)", "no function cout at character 1; count is one"),
        ("contains(a)", "contains takes 2 arguments, not 1, at character 1"),
        ("concat('a')", "concat takes at least 2 arguments, not 1, at character 1"),
        ("atom:entry", "names are local: no prefix atom: before character 5"),
        ("$x + 1", "there are no variables, at character 1"),
        ("sum(1)", "sum needs nodes, before character 7"),
        ("position() = 1", "position() has a meaning in [ ] only, at character 1"),
        ("up::a", "no axis up at character 1"),
        ("a # b", "unexpected '#' at character 3"),
        ("(" * 40 + "a" + ")" * 40, "more than 32 expressions within one another"),
        ("a/" * 3000 + "a", "it has more than 4,096 characters"),
        ("a\x00", "it has a control character"),
    ],
)
def test_reasons(text: str, fault: str) -> None:
    assert xpath_fault(text) == fault


def test_a_wrong_expression_is_refused_with_its_place(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_text(
        "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';\n"
        "CREATE QUERY q AS SELECT ts, xpath_string(doc, '//[') AS x FROM s;\n"
    )
    with pytest.raises(SeineError) as refusal:
        run_local(str(script))
    text = refusal.value.render()
    assert "script.sql:2:30: " in text and "'//[' is not an XPath expression: expected a name" in text
