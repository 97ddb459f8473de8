"""Forms by the constants that their blocks ask for: none that has a binding is left out."""

from __future__ import annotations

import random

import pytest

from seine.algebra.tree_pattern import COMPARISONS, TEXT_TESTS, PatternNode, TreePattern, ValueTest
from seine.documents.document import Document
from seine.documents.match_pattern import match_pattern
from seine.operators.documents import class_forms
from seine.operators.documents.class_forms import RIGHT, ClassForms, FormRow, constants_of
from seine.operators.documents.document_form import DocumentForm, FormBlock
from tests.support.seeds import seed_range

WORDS = ("", "a", "b", "ab", "aba", "baab", "5", "5.0", "-1e999", "1e999", " 7", "x")


def form_of(*leaves: PatternNode) -> DocumentForm:
    root = PatternNode("//", "item", variable="0", children=leaves, selected=True)
    return DocumentForm(None, FormBlock(TreePattern(root), ("x",), (0,), (0,)), ())


def leaf(name: str, *tests: tuple[str, str | float]) -> PatternNode:
    return PatternNode("/", name, tests=tuple(ValueTest(*test) for test in tests))


def wanted(forms: ClassForms, document: Document) -> set[int]:
    """The numbers of the forms that are evaluated for a document."""

    def values(side: int, path: TreePattern) -> frozenset[str]:
        assert side == RIGHT
        return frozenset(document.string(match.selected) for match in match_pattern(path, document, 100))

    return {row.tag for row in forms.wanted(0, values)}


def class_of(forms: list[DocumentForm]) -> ClassForms:
    return ClassForms(
        FormRow(form.printed(), number, 0, 0, *constants_of(form)) for number, form in enumerate(forms)
    )


ITEM = Document(
    "<r><item><category>c3</category><category>c7</category>"
    "<price>20</price><title>word42 of</title></item></r>"
)


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ([leaf("category", ("=", f"c{i}")) for i in range(1000)], {3, 7}),
        ([leaf("price", ("=", float(i))) for i in range(1000)], {20}),
        ([leaf("price", (">", float(i))) for i in range(1000)], {*range(20)}),
        ([leaf("price", (">=", str(i))) for i in range(1000)], {*range(21)}),
        ([leaf("price", ("<", float(i))) for i in range(30)], {*range(21, 30)}),
        ([leaf("price", (">", float(i)), ("<=", i + 2.0)) for i in range(1000)], {18, 19}),
        ([leaf("title", ("contains", f"word{i}")) for i in range(1000)], {4, 42}),
        ([leaf("title", ("starts-with", f"word{i}")) for i in range(1000)], {4, 42}),
        ([leaf("nothing", ("!=", f"word{i}")) for i in range(1000)], set()),
    ],
)
def test_only_forms_whose_constant_fits_the_document_are_evaluated(
    leaves: list[PatternNode], expected: set[int]
) -> None:
    forms = class_of([form_of(one) for one in leaves] + [form_of()])
    for _ in range(2):
        assert wanted(forms, ITEM) == {*expected, len(leaves)}


def test_several_comparisons_of_a_form_are_all_used() -> None:
    forms = [
        form_of(
            leaf("price", (">", float(i))), leaf("category", ("=", f"c{i % 5}")), leaf("title", ("!=", "x"))
        )
        for i in range(100)
    ]
    assert wanted(class_of(forms), ITEM) == {3, 8, 13, 18}


def test_values_that_are_too_many_leave_all_forms() -> None:
    forms = class_of([form_of(leaf("category", ("=", f"c{i}"))) for i in range(10)])
    assert len([*forms.wanted(0, lambda side, path: None)]) == 10
    assert [*forms.wanted(1, lambda side, path: None)] == []


def test_no_form_with_a_binding_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = left_out = 0
    monkeypatch.setattr(class_forms, "MOST_REMEMBERED", 40)
    for seed in seed_range(100):
        rng = random.Random(seed)
        forms = [form_of(*_random_leaves(rng)) for _ in range(30)]
        known = class_of(forms)
        for _ in range(6):
            inner = "".join(f"<{name}>{rng.choice(WORDS)}</{name}>" for name in rng.choices("pq", k=3))
            document = Document(f"<item>{inner}</item>")
            chosen = wanted(known, document)
            left_out += len(forms) - len(chosen)
            for number, form in enumerate(forms):
                if match_pattern(form.right.pattern, document, 100):
                    assert number in chosen, (seed, number)
                    bound += 1
    assert bound > 2000 and left_out > 2000


def _random_leaves(rng: random.Random) -> list[PatternNode]:
    def test() -> tuple[str, str | float]:
        operator = rng.choice((*COMPARISONS, *TEXT_TESTS))
        return operator, rng.choice(WORDS if operator in TEXT_TESTS else (*WORDS, 5.0, 7.0, -1.0))

    return [
        leaf(rng.choice("pq"), *(test() for _ in range(rng.randint(1, 2)))) for _ in range(rng.randint(0, 3))
    ]
