"""The first node to which a path leads: that of lxml's XPath, and for all nodes of a document in one go."""

from __future__ import annotations

from random import Random

import pytest

from seine.algebra.tree_pattern import PatternNode
from seine.documents.document import Document
from seine.documents.match_pattern import FirstNodes, Matching, TooManyBindings, first_below
from tests.support.random_documents import random_document, xpath_step
from tests.support.seeds import seed_range

ENDS = (
    PatternNode("//", "*", selected=True),
    PatternNode("/", "b", selected=True),
    PatternNode("/", "*", is_attribute=True, selected=True),
    PatternNode("//", "k", is_attribute=True, selected=True),
)


def test_it_is_the_first_that_xpath_gives() -> None:
    met = attributes = 0
    for seed in seed_range(500):
        random = Random(seed)
        document, end = Document(random_document(random)), random.choice(ENDS)
        needed = (PatternNode("//", "c"),) if random.random() < 0.2 else ()
        path = PatternNode(random.choice(("/", "//")), random.choice("abc*"), children=(*needed, end))
        xpath = xpath_step(path, False) + ("[.//c]" if needed else "") + xpath_step(end, False)[1:]
        for number, element in enumerate(document.elements):
            nodes = element.xpath(xpath)
            first = first_below(document, number, path, False, 10)
            assert first == (_identity(document, nodes[0]) if nodes else None), (seed, xpath)
            met += bool(nodes)
            attributes += isinstance(first, tuple)
        assert first_below(document, (0, "k"), path, False, 10) is None
    assert met > 100 and attributes > 20


def _identity(document: Document, node):
    if isinstance(node, str):
        return document.elements.index(node.getparent()), node.attrname
    return document.elements.index(node)


def test_all_nodes_of_a_document_together_cost_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """SELECT a//b[c] FROM S//*->a: not the document again for each binding."""
    spent: list[int] = []
    monkeypatch.setattr(Matching, "spend", lambda self, work: spent.append(work))
    document = Document("<r>" + "<a>" * 50 + "<b><c/></b>" * 500 + "</a>" * 50 + "</r>")
    path = PatternNode("//", "b", children=(PatternNode("/", "c"),), selected=True)
    assert [first_below(document, node, path, False, 10) for node in range(51)] == [51] * 51
    assert sum(spent) < 5 * len(document.elements)


def test_too_much_work() -> None:
    document = Document("<a>" * 200 + "<b/>" * 4_000 + "</a>" * 200)
    path = PatternNode("/", "b", selected=True)
    first = FirstNodes(document, path, False, 10)
    with pytest.raises(TooManyBindings):  # each looks at all b, which are children of the last
        list(map(first.below, range(200)))
