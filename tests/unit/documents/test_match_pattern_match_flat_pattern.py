"""Flat patterns have the bindings that the evaluation of any pattern gives them."""

from __future__ import annotations

import random

from seine.algebra.tree_pattern import PatternNode, TreePattern, ValueTest
from seine.documents import match_pattern as general
from seine.documents.document import Document
from seine.documents.match_pattern import flat_bindings, is_flat
from tests.generators.documents import LEAVES, TAGS, random_document
from tests.support.seeds import seed_range


def random_flat_pattern(rng: random.Random) -> TreePattern:
    leaves = [
        PatternNode(
            rng.choice(("/", "//")),
            rng.choice((*LEAVES, *TAGS, "*")),
            variable=f"v{i}" if rng.random() < 0.7 else None,
        )
        for i in range(rng.randint(0, 3))
    ]
    chosen = rng.randint(-1, len(leaves) - 1) if leaves else -1
    children = tuple(
        PatternNode(leaf.axis, leaf.name, variable=leaf.variable, selected=i == chosen)
        for i, leaf in enumerate(leaves)
    )
    variable = "top" if rng.random() < 0.5 else None
    name = rng.choice((*TAGS, "*", "doc"))
    return TreePattern(
        PatternNode(rng.choice(("/", "//")), name, variable=variable, children=children, selected=chosen < 0)
    )


def test_flat_patterns_have_the_bindings_of_any_pattern() -> None:
    bindings = 0
    for seed in seed_range(400):
        rng = random.Random(seed)
        pattern, document = random_flat_pattern(rng), Document(random_document(rng))
        assert is_flat(pattern)
        expected = general.Matching(document, False, 10_000).below(pattern.root, general.DOCUMENT)
        assert flat_bindings(pattern, document, 10_000) == expected, seed
        if len(expected) > 1:
            assert flat_bindings(pattern, document, len(expected) - 1) is None
        bindings += len(expected)
    assert bindings > 200


def test_combinations_that_are_one_binding_count_once() -> None:
    nested = Document("<a>" * 200 + "<b/>" * 50 + "</a>" * 200)
    pattern = TreePattern(
        PatternNode("//", "a", children=(PatternNode("//", "b", variable="x"),), selected=True)
    )
    bindings = flat_bindings(pattern, nested, 60)
    assert bindings is not None and len(bindings) == 50 and {*bindings.values()} == {0}


def test_too_much_work_for_few_bindings() -> None:
    nested = Document("<a>" * 250 + "<b/>" * 4_000 + "</a>" * 250)
    children = (PatternNode("/", "b", variable="x"), PatternNode("/", "c"))
    pattern = TreePattern(PatternNode("//", "a", children=children, selected=True))
    assert flat_bindings(pattern, nested, 10) is None
    assert flat_bindings(pattern, nested, 100_000) == {}


def test_what_is_not_flat() -> None:
    name = PatternNode("/", "name", variable="x")
    tested = PatternNode("/", "price", tests=(ValueTest(">", 10.0),))
    attribute = PatternNode("/", "id", is_attribute=True)
    below = PatternNode("/", "author", children=(name,))
    for child in (tested, attribute, below, PatternNode("/", "{urn:x}*")):
        assert not is_flat(TreePattern(PatternNode("//", "a", children=(child,), selected=True)))
    assert is_flat(TreePattern(PatternNode("//", "a", children=(name,), selected=True)))
