"""Bindings of tree patterns: equal to lxml's XPath with nested loops, and bounded."""

from __future__ import annotations

from random import Random

import pytest

from seine.algebra.tree_pattern import TreePattern
from seine.documents import document as document_module
from seine.documents.document import Document, number_of
from seine.documents.match_pattern import TooManyBindings, match_pattern
from seine.frontends.text.lexer import ScriptText
from seine.frontends.xscl.parse_xscl import parse_xscl
from tests.support.front_end import parse
from tests.support.random_documents import matches_by_xpath, random_document, random_pattern
from tests.support.seeds import seed_range

STREAM = parse("CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's';").declarations.streams


def pattern_of(text: str) -> TreePattern:
    text = f"s{text}"
    return parse_xscl(ScriptText(text, "q"), 0, len(text), STREAM).blocks[0].pattern


@pytest.mark.parametrize("any_namespace", [False, True])
def test_bindings_are_those_of_xpath(any_namespace):
    met = several = attributes = 0
    for seed in seed_range(900):
        random = Random(seed)
        text, pattern = random_document(random), random_pattern(random, any_namespace)
        expected, document = matches_by_xpath(pattern, text), Document(text)
        matches = match_pattern(pattern, document, 10_000)

        def order(node, document=document):
            if isinstance(node, int):
                return node, -1
            return node[0], document.elements[node[0]].keys().index(node[1])

        assert len({match.nodes for match in matches}) == len(matches)
        assert {m.nodes: m.selected for m in matches} == {
            key: min(selected, key=order) for key, selected in expected.items()
        }, (seed, text)
        met += bool(matches)
        several += len(matches) > 1
        attributes += any(isinstance(node, tuple) for match in matches for node in match.nodes)
    assert met > 80 and several > 30 and attributes > 10


@pytest.mark.parametrize(
    ("pattern", "text", "nodes"),
    [
        ("//sec->o//sec->i", "<sec><sec><sec/></sec></sec>", [(0, 1), (0, 2), (1, 2)]),
        ("//sec//t->x", "<sec><sec><t/></sec><t/></sec>", [(2,), (3,)]),
        ("/a[b->x][b->y]", "<a><b/><b/></a>", [(1, 1), (1, 2), (2, 1), (2, 2)]),
        ("//a[.//@k->x]", '<a k="1"><b k="2"/></a>', [((0, "k"),), ((1, "k"),)]),
        ("/@k->x", '<a k="1"/>', []),
        ("//@k->x", '<a k="1"/>', [((0, "k"),)]),
        ("//a[b > 3]->x", "<r><a><b>2</b><b>4</b></a><a><b>no</b></a></r>", [(1,)]),
        ("//b[. != 3]->x", "<r><b>3.0</b><b>no</b></r>", [(2,)]),
        ("//b[contains(., 'n y')]->x", "<r><b>a<c>n </c>y</b></r>", [(1,)]),
        ("/*->r", "<a/>", [(0,)]),
        ("/b->r", "<a><b/></a>", []),
    ],
)
def test_bindings(pattern, text, nodes):
    assert [match.nodes for match in match_pattern(pattern_of(pattern), Document(text), 100)] == nodes


def test_without_variables_the_selected_node_is_the_first():
    matches = match_pattern(pattern_of("//b"), Document("<a><b/><b/></a>"), 10)
    assert [(match.nodes, match.selected) for match in matches] == [((), 1)]


def test_too_many_bindings():
    document = Document("<a>" + "<b/>" * 100 + "</a>")
    assert len(match_pattern(pattern_of("//b->x"), document, 100)) == 100
    with pytest.raises(TooManyBindings):
        match_pattern(pattern_of("//b->x"), document, 99)
    with pytest.raises(TooManyBindings):
        match_pattern(pattern_of("/a[b->x][b->y][b->z]"), document, 100_000)


def test_too_much_work_for_few_bindings():
    """A chain of steps without variables has very many embeddings and one binding a node."""
    deep = Document("<a>" * 200 + "</a>" * 200)
    assert len(match_pattern(pattern_of("//a" * 8 + "->x"), deep, 1_000)) == 193
    wide = Document("<a>" * 255 + "<b/>" * 5_000 + "</a>" * 255)
    with pytest.raises(TooManyBindings):
        match_pattern(pattern_of("//a//b->x"), wide, 100)
    assert len(match_pattern(pattern_of("//b[. = '']->x"), wide, 5_000)) == 5_000


def test_numbers_strings_and_texts():
    document = Document('<a xmlns:p="urn:n" p:k="1 &lt; 2"><!-- n --><b>x<c>y</c>z<?p i?>!</b>tail</a>')
    assert [element.tag for element in document.elements] == ["a", "b", "c"]
    assert document.parent == [-1, 0, 1] and document.end == [3, 3, 3]
    assert document.string(1) == "xyz!" and document.string(0) == "xyz!tail"
    node = (0, "{urn:n}k")
    assert (number_of(node), number_of(2), document.string(node)) == ("0/@k", 2, "1 < 2")
    assert document.text(node) == '<attribute name="k">1 &lt; 2</attribute>'
    assert document.text(2) == '<c xmlns:p="urn:n">y</c>'


def test_string_values_and_texts_of_a_deep_document_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(document_module, "_MOST_CHARACTERS_KEPT", 5_000)
    document = Document("<a>" * 100 + "x" * 1_000 + "</a>" * 100)
    for _ in range(2):
        assert {document.string(node) for node in range(100)} == {"x" * 1_000}
        assert len({document.text(node) for node in range(100)}) == 100
        assert sum(map(len, document._strings.values())) <= 5_000
        assert sum(map(len, document._texts.values())) <= 5_000
