"""The running example of MMQJP: three queries as join graphs, and the witnesses of two documents."""

from __future__ import annotations

import numpy as np
from benchmarks.template_engines.template_relation import TemplateRelations
from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses

from seine.document_templates.query_template import JoinGraph, VariableTree

_BOOK_TITLE = VariableTree(("x1", "x2", "x3"), (-1, 0, 0))
_BOOK_CATEGORY = VariableTree(("x1", "x2", "x7"), (-1, 0, 0))
_BLOG_TITLE = VariableTree(("x4", "x5", "x6"), (-1, 0, 0))
_BLOG_CATEGORY = VariableTree(("x4", "x5", "x8"), (-1, 0, 0))
_BOTH_LEAVES = ((1, 1), (2, 2))

# Table 2, with windows T1, T2 and T3
EXAMPLE_QUERIES: dict[str, tuple[JoinGraph, int]] = {
    "Q1": (JoinGraph(_BOOK_TITLE, _BLOG_TITLE, _BOTH_LEAVES), 100),
    "Q2": (JoinGraph(_BOOK_CATEGORY, _BLOG_CATEGORY, _BOTH_LEAVES), 200),
    "Q3": (JoinGraph(_BLOG_TITLE, _BLOG_TITLE, _BOTH_LEAVES), 300),
}

# strings: 0 Danny Ayers, 1 Andrew Watt, 2 Beginning RSS and Atom Programming, 3 Scripting & Programming,
# 4 Web Site Development, 5 Book Announcement
# Table 4(c) and 4(e): pair, node1, node2; Table 4(b) and 4(d): node, string
BOOK_PAIRS = [
    ("x1", "x2", 0, 2),
    ("x1", "x2", 0, 3),
    ("x1", "x3", 0, 4),
    ("x1", "x7", 0, 5),
    ("x1", "x7", 0, 6),
]
BOOK_STRINGS = [(2, 0), (3, 1), (4, 2), (5, 3), (6, 4)]
BLOG_PAIRS = [("x4", "x5", 0, 2), ("x4", "x6", 0, 3), ("x4", "x8", 0, 4), ("x4", "x8", 0, 5)]
BLOG_STRINGS = [(2, 0), (3, 2), (4, 5), (5, 3)]


def example_relations() -> TemplateRelations:
    """Q1, Q2 and Q3 by template, with ids 1, 2 and 3."""
    relations = TemplateRelations()
    for number, (graph, window) in enumerate(EXAMPLE_QUERIES.values(), 1):
        relations.add(number, graph, window)
    return relations


def example_document(
    number: int,
    timestamp: int,
    codes: dict[tuple[str, str], int],
    pairs: list[tuple[str, str, int, int]],
    strings: list[tuple[int, int]],
) -> DocumentBatch:
    """The witness relations of one document."""
    witnesses = np.array(
        [(number, codes[one, other], *nodes) for one, other, *nodes in pairs], dtype=np.int64
    )
    values = np.array([(number, *row) for row in strings], dtype=np.int64)
    return DocumentBatch(number, np.array([timestamp]), PairWitnesses(*witnesses.T), NodeStrings(*values.T))
