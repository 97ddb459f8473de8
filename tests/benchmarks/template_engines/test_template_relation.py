"""Template relations: Table 4(a), equal queries, variables that stand alone."""

from __future__ import annotations

import pytest
from benchmarks.template_engines.template_relation import INFINITE, NO_PAIR, TemplateRelations

from benchmarks.template_engines import template_relation
from seine.document_templates.query_template import JoinGraph, VariableTree
from tests.support.document_graphs import EXAMPLE_QUERIES, example_relations


def test_the_relation_of_the_example_queries() -> None:
    """Table 4(a)."""
    (relation,) = example_relations().compiled()
    assert relation.tuples() == [
        (1, "x1", "x2", "x3", "x4", "x5", "x6", 100),
        (2, "x1", "x2", "x7", "x4", "x5", "x8", 200),
        (3, "x4", "x5", "x6", "x4", "x5", "x6", 300),
    ]
    assert relation.widest == 300
    assert (relation.pairs[:, [0, 3]] == NO_PAIR).all()


def test_equal_queries_are_one_row() -> None:
    relations = TemplateRelations()
    graph, _ = EXAMPLE_QUERIES["Q1"]
    for number, window in enumerate((5, None, 5, 5)):
        relations.add(number, graph, window)
    (relation,) = relations.compiled()
    assert [row[0] for row in relation.tuples()] == [0, 2, 3, 1]
    assert relation.weights.tolist() == [3, 1]
    assert relation.windows.tolist() == [5, INFINITE]


def test_joined_roots_are_pairs_with_themselves() -> None:
    relations = TemplateRelations()
    tree = VariableTree(("a", "b"), (-1, 0))
    relations.add(0, JoinGraph(tree, tree, ((0, 0), (1, 1))), 1)
    relations.add(1, JoinGraph(tree, tree, ((1, 0),)), 1)
    both, alone = relations.compiled()
    names = {code: pair for pair, code in relations.pair_codes.items()}
    assert [names[code] for code in both.pairs[0].tolist()] == [("a", "a"), ("a", "b")] * 2
    assert [names[code] for code in alone.pairs[0].tolist()] == [("b", "b"), ("a", "a")]


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_relation, "PAIR_BITS", 2)
    with pytest.raises(ValueError, match=r"more than 2\*\*2 pairs"):
        example_relations().compiled()
