"""The stubs of pyarrow (`stubs/`) say of it what is true, all that the source uses, and nothing else."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import FILES, tree_of
from tests.support.paths import ROOT

STUBS = sorted((ROOT / "stubs" / "pyarrow").glob("*.pyi"))
_SAID_BY_SYNTAX = ("__buffer__",)  # classes of C have it from Python 3.12 on
_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _module(path: Path) -> str:
    return "pyarrow" if path.stem == "__init__" else f"pyarrow.{path.stem}"


def _named(tree: ast.Module) -> dict[str, ast.stmt]:
    """What a stub says that a module has; what begins with `_` is the stub's own."""
    statements = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return {node.name: node for node in statements if not node.name.startswith("_")}


def _members(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (part for part in node.body if isinstance(part, ast.FunctionDef))


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in function.decorator_list)


def _faults(place: str, function: ast.FunctionDef, real: Any) -> list[str]:
    """What a function of a stub says that is not so; nothing is known of one of C without a signature."""
    if _is_property(function):
        return [f"{place} is a function"] if inspect.isroutine(real) else []
    if not callable(real):
        return [f"{place} cannot be called"]
    try:
        signature = inspect.signature(real)
    except ValueError:
        return []
    parameters = {name: one for name, one in signature.parameters.items() if name not in ("self", "cls")}
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        parameters = {name: one for name, one in parameters.items() if one.kind not in _ANY_NUMBER}
    given, arguments = _arguments(function), list(parameters)
    wrong = [name for name, kind in given.items() if _is_wrong(name, kind, parameters)]
    placed = [name for name, kind in given.items() if kind != "keyword"]
    if placed != arguments[: len(placed)]:
        wrong.append("the order")
    needed = {
        name
        for name, one in parameters.items()
        if one.default is inspect.Parameter.empty and one.kind not in _ANY_NUMBER
    }
    wrong += sorted(needed - {*given})
    return [f"{place}: {', '.join(wrong)} of {signature}"] if wrong else []


def _arguments(function: ast.FunctionDef) -> dict[str, str]:
    """The arguments of a function in a stub, and how each is given."""
    spec = function.args
    kinds = {one.arg: "place" for one in spec.posonlyargs}
    kinds |= {one.arg: "either" for one in spec.args}
    kinds |= {one.arg: "keyword" for one in spec.kwonlyargs}
    if spec.vararg is not None:
        kinds = {spec.vararg.arg: "any number", **kinds}
    return {name: kind for name, kind in kinds.items() if name not in ("self", "cls")}


def _is_wrong(name: str, kind: str, parameters: dict[str, inspect.Parameter]) -> bool:
    real = parameters.get(name)
    if real is None:
        return True
    allowed = {
        "place": (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD),
        "either": (inspect.Parameter.POSITIONAL_OR_KEYWORD,),
        "keyword": (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY),
        "any number": (inspect.Parameter.VAR_POSITIONAL,),
    }
    return real.kind not in allowed[kind]


def _class_faults(place: str, node: ast.ClassDef, real: type) -> Iterator[str]:
    bases = [ast.unparse(base) for base in node.bases]
    real_bases = {one.__name__ for one in real.__mro__}
    public = (base for base in bases if not base.startswith("_"))
    yield from (f"{place} is no {base}" for base in public if base not in real_bases)
    for function in _members(node):
        if function.name in _SAID_BY_SYNTAX:
            continue
        if not hasattr(real, function.name):
            yield f"{place}.{function.name} is not there"
        elif function.name != "__init__":
            yield from _faults(f"{place}.{function.name}", function, getattr(real, function.name))
        else:
            yield from _faults(place, function, real)


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.stem)
def test_what_a_stub_says_is_true(path: Path) -> None:
    module, faults = importlib.import_module(_module(path)), []
    named = _named(tree_of(path))
    assert named
    for name, node in named.items():
        place, real = f"{_module(path)}.{name}", getattr(module, name, None)
        if real is None:
            faults.append(f"{place} is not there")
        elif isinstance(node, ast.ClassDef):
            faults += _class_faults(place, node, real)
        elif isinstance(node, ast.FunctionDef):
            faults += _faults(place, node, real)
    assert faults == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def take(self, indices): ...", ""),
        ("def take(self, rows): ...", "rows"),
        ("def take(self): ...", "indices"),
        ("def take(self, indices, more): ...", "more"),
        ("@property\ndef take(self): ...", "is a function"),
        ("def slice(self, length=None, offset=0): ...", "the order"),
        ("def nbytes(self): ...", "cannot be called"),
    ],
)
def test_what_is_not_so_is_seen(text: str, fault: str) -> None:
    import pyarrow as pa

    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    faults = _faults(function.name, function, getattr(pa.Array, function.name))
    assert [fault in one for one in faults] == ([True] if fault else [])


@cache
def _used() -> tuple[frozenset[str], frozenset[str]]:
    """The names of pyarrow that the source uses, as `pyarrow.compute.equal`, and of all attributes."""
    names: set[str] = set()
    attributes: set[str] = set()
    for path in FILES:
        aliases = _aliases(tree_of(path))
        if not aliases:
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
                root, _, rest = ast.unparse(node).partition(".")
                if root in aliases:
                    names.add(f"{aliases[root]}.{rest}")
    return frozenset(names), frozenset(attributes)


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The modules of pyarrow that a file imports, by the name that they have there."""
    imported = (alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names)
    return {one.asname or one.name: one.name for one in imported if one.name.partition(".")[0] == "pyarrow"}


def test_the_stubs_have_what_the_source_uses() -> None:
    stubs = {f"{_module(path)}.{name}" for path in STUBS for name in _named(tree_of(path))}
    modules = {_module(path) for path in STUBS}
    functions = {name for name in _used()[0] if name.rpartition(".")[0] in modules and name not in modules}
    assert len(functions) > 100
    assert sorted(functions - stubs) == []


def test_the_stubs_have_nothing_else() -> None:
    """A name is used by the source, or another part of the stubs is said with it."""
    names, attributes = _used()
    said = {node.id for path in STUBS for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
    unused = []
    for path in STUBS:
        for name, node in _named(tree_of(path)).items():
            place = f"{_module(path)}.{name}"
            if place not in names and name not in said:
                unused.append(place)
            if isinstance(node, ast.ClassDef):
                members = {function.name for function in _members(node)}
                plain = {one for one in members if not one.startswith("__")}
                unused += [f"{place}.{one}" for one in sorted(plain - attributes)]
    assert unused == []
