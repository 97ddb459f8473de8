"""A name means one thing: no class is defined twice, no file name stands for two things."""

from __future__ import annotations

import ast
from collections import Counter

from tests.architecture.source_tree import FILES, SOURCE, module_of, tree_of

LONGEST = 500
BARE_WORDS = {"told", "found", "way", "some", "own", "asked"}


def test_no_class_name_is_defined_twice() -> None:
    classes = [
        node.name for path in FILES for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)
    ]
    assert len(classes) > 100
    assert {name: count for name, count in Counter(classes).items() if count > 1} == {}


def test_no_file_name_is_used_twice() -> None:
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert {name: count for name, count in names.items() if count > 1} == {}


def test_no_file_is_too_long() -> None:
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {module: count for module, count in lengths.items() if count > LONGEST} == {}


def test_every_package_says_what_it_is() -> None:
    packages = [path for path in FILES if path.name == "__init__.py"]
    assert [module_of(path) for path in packages if not ast.get_docstring(tree_of(path))] == []


def test_nothing_is_named_by_a_bare_word() -> None:
    """A name says what a thing is: `matches`, not `found`."""
    named = []
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            name = _named(node)
            if name is not None and name.strip("_").lower() in BARE_WORDS:
                named.append(f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)} {name}")
    assert named == []


def _named(node: ast.AST) -> str | None:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return name
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return name
    return None
