"""A name means one thing, and says what: in classes, files, variables and constants."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.architecture.source_tree import FILES, SOURCE, module_of, package_of, parts_of, tree_of
from tests.support.paths import ROOT

MOST_LINES = 600  # of a file
MOST_FILES = 650  # of the product
BARE_WORDS = {"told", "found", "way", "some", "own", "asked"}
BARE_BOUNDS = {
    *("few", "many", "most", "least", "enough", "rare"),
    *("long", "longest", "short", "shortest", "large", "largest", "small", "smallest"),
    *("limit", "bound", "max", "min", "near", "far"),
}
VAGUE_FILES = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "core"}


def test_no_class_name_is_defined_twice_in_a_package() -> None:
    classes = [
        f"{package_of(path)}:{node.name}"
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    ]
    assert len(classes) > 100
    assert _repeated(classes) == {}


def _repeated(names: list[str]) -> dict[str, int]:
    return {name: count for name, count in Counter(names).items() if count > 1}


def test_no_file_is_too_long() -> None:
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {module: count for module, count in lengths.items() if count > MOST_LINES} == {}


def test_there_are_not_too_many_files() -> None:
    """A file holds what a reader looks for in one place; what is short belongs to its one importer."""
    files = [path for path in FILES if path.is_relative_to(SOURCE)]
    assert 100 < len(files) <= MOST_FILES


def test_no_file_is_named_after_nothing() -> None:
    """A file is named after the one concept in it."""
    parts = {part for path in FILES for part in parts_of(path.with_suffix(""))}
    assert len(parts) > 100
    assert sorted(parts & (VAGUE_FILES | BARE_WORDS)) == []


def test_every_module_says_what_it_is() -> None:
    assert [module_of(path) for path in FILES if not ast.get_docstring(tree_of(path))] == []


def test_a_file_that_is_named_is_there() -> None:
    """Where a docstring or comment says `network/build.py`, that file has not been moved since."""
    present = [f"/{path.relative_to(ROOT).as_posix()}" for path in FILES]
    mentions = [
        (module_of(path), name)
        for path in FILES
        for name in re.findall(r"`([\w/]+\.py)`", path.read_text(encoding="utf-8"))
    ]
    assert len(mentions) > 20
    gone = [mention for mention in mentions if not any(one.endswith(f"/{mention[1]}") for one in present)]
    assert gone == []


def test_no_docstring_leans_on_another() -> None:
    """ "The same, and ..." cannot be read alone."""
    documented = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    leaning = [
        f"{module_of(path)}:{node.lineno} {node.name}"
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, documented) and re.match(r"The same, ", ast.get_docstring(node) or "")
    ]
    assert leaning == []


def test_nothing_is_named_by_a_bare_word() -> None:
    """A name says what a thing is: `matches`, not `found`; in tests too."""
    tests = sorted((ROOT / "tests").rglob("*.py"))
    assert len(tests) > 100
    assert _named_by(BARE_WORDS, FILES) == []
    assert _named_by(BARE_WORDS, tests) == []


def test_a_constant_says_what_it_bounds() -> None:
    """`_LONGEST_PATTERN` bounds patterns; `_LONGEST` bounds something."""
    constants = [
        f"{module_of(path)}:{statement.lineno} {name}"
        for path in FILES
        for statement in tree_of(path).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for name, _ in _names(statement)
        if name.isupper() and name.strip("_").lower() in BARE_BOUNDS
    ]
    assert constants == []


def test_the_search_sees_every_way_to_name() -> None:
    text = """
import os as found
def found(found, /, *found, found=1, **found):
    for found in x: pass
    with x as found: pass
    try: pass
    except E as found: pass
    match x:
        case [found, *found]: pass
        case {"a": found, **found}: pass
    (found := 1)
    self.found = 1
    global found
async def found(): pass
class found: found: int = 1
lambda found: 1
[found for found in x]
"""
    assert len(list(_names(ast.parse(text)))) == 21


def _named_by(words: set[str], files: Sequence[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in files
        for name, line in _names(tree_of(path))
        if name.strip("_").lower() in words
    ]


def _names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that code gives to something, with its line."""
    for node in ast.walk(tree):
        for name in _given(node):
            yield name, getattr(node, "lineno", 0)


def _given(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            return [name]
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case ast.MatchMapping(rest=str(name)) | ast.alias(asname=str(name)):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return list(names)
    return []
