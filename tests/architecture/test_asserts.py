"""`assert` tells mypy what a type is; what else must hold raises an error, with `python -O` too."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.source_tree import FILES, module_of, tree_of


def _narrows(test: ast.expr) -> bool:
    """Whether it is made of `isinstance` and comparisons with None alone."""
    match test:
        case ast.BoolOp(values=values):
            return all(map(_narrows, values))
        case ast.Call(func=ast.Name(id="isinstance" | "is_dataclass")):
            return True
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
    return False


@pytest.mark.parametrize(
    ("text", "narrows"),
    [
        ("x is not None and isinstance(x.y, int)", True),
        ("x is None or isinstance(x, int)", True),
        ("x > 0", False),
        ("isinstance(x, int) and x > 0", False),
        ("x is not y", False),
        ("x", False),
    ],
)
def test_what_narrows(text: str, narrows: bool) -> None:
    assert _narrows(ast.parse(text, mode="eval").body) is narrows


def test_an_assert_narrows_a_type_and_nothing_else() -> None:
    """An invariant has an error of its own; what has a message is meant to be read, so it is an error too."""
    asserts = [
        (f"{module_of(path)}:{node.lineno}", node)
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert) and not module_of(path).startswith("benchmarks")
    ]
    assert len(asserts) > 10
    assert [place for place, node in asserts if node.msg is not None or not _narrows(node.test)] == []
