"""Forms by the constants that their blocks ask for: none that has a binding is left out."""

from __future__ import annotations

import random

from seine.algebra.tree_pattern import PatternNode, TreePattern, ValueTest
from seine.documents.document import Document
from seine.documents.match_pattern import match_pattern
from seine.operators.documents.class_forms import NO_CONSTANT, RIGHT, ClassForms, FormRow, constant_of
from seine.operators.documents.document_form import DocumentForm, FormBlock
from tests.support.seeds import seed_range


def form_of(*leaves: PatternNode) -> DocumentForm:
    root = PatternNode("//", "item", variable="0", children=leaves, selected=True)
    return DocumentForm(None, FormBlock(TreePattern(root), ("x",), (0,), (0,)), ())


def category(name: str) -> PatternNode:
    return PatternNode("/", "category", tests=(ValueTest("=", name),))


def wanted(forms: list[DocumentForm], document: Document) -> set[int]:
    """The numbers of the forms that are evaluated for a document."""
    rows = [
        FormRow(form.printed(), number, 0, 0, *constant_of(form), frozenset())
        for number, form in enumerate(forms)
    ]

    def values(side: int, path: TreePattern) -> frozenset[str]:
        assert side == RIGHT
        return frozenset(document.string(match.selected) for match in match_pattern(path, document, 100))

    return {row.tag for row in ClassForms(rows).wanted(0, values)}


def test_only_forms_with_a_constant_of_the_document_are_evaluated() -> None:
    forms = [form_of(category(f"c{i}")) for i in range(1000)] + [form_of()]
    document = Document("<r><item><category>c3</category><category>c7</category></item></r>")
    assert wanted(forms, document) == {3, 7, 1000}


def test_no_form_with_a_binding_is_left_out() -> None:
    bound = 0
    for seed in seed_range(100):
        rng = random.Random(seed)
        names = [f"c{rng.randint(0, 4)}" for _ in range(rng.randint(0, 3))]
        inner = "".join(f"<category>{name}</category>" for name in names)
        document = Document(f"<item>{inner}<price>{rng.randint(1, 9)}</price></item>")
        forms = [
            form_of(
                *rng.sample([category(f"c{i}"), PatternNode("/", "price", tests=(ValueTest(">", 4.0),))], 2)
            )
            for i in range(5)
        ]
        chosen = wanted(forms, document)
        for number, form in enumerate(forms):
            if match_pattern(form.right.pattern, document, 100):
                assert number in chosen
                bound += 1
    assert bound > 20


def test_comparisons_that_are_no_equality_of_strings_are_always_evaluated() -> None:
    for test in (ValueTest("!=", "x"), ValueTest("contains", "x"), ValueTest("=", 5.0), ValueTest(">", 5.0)):
        assert constant_of(form_of(PatternNode("/", "price", tests=(test,)))) == NO_CONSTANT
