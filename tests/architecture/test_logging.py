"""Library code logs and does not print, and only the commands say where the log goes."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source_tree import FILES, module_of, package_of, tree_of

SPEAKERS = {"cli", "benchmarks"}  # what they print is what they are for
CONFIGURED_IN = "cli.logging_setup"
CONFIGURING = {"basicConfig", "dictConfig", "fileConfig", "setLevel", "addHandler", "StreamHandler"}


def _calls(path: Path) -> list[str]:
    """The names of all functions and methods that a file calls."""
    called = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    return [
        func.id if isinstance(func, ast.Name) else func.attr
        for func in called
        if isinstance(func, ast.Name | ast.Attribute)
    ]


def _loggers(path: Path) -> list[str]:
    """What a file gives to `logging.getLogger`."""
    return [
        ast.unparse(node.args[0]) if node.args else ""
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "getLogger"
    ]


def test_library_code_does_not_print() -> None:
    library = [path for path in FILES if package_of(path).partition(".")[0] not in SPEAKERS]
    assert len(library) > 100
    assert [module_of(path) for path in library if "print" in _calls(path)] == []
    assert any("print" in _calls(path) for path in FILES if path not in library)


def test_logging_is_configured_in_one_place() -> None:
    configuring = {module_of(path) for path in FILES if CONFIGURING & {*_calls(path)}}
    assert configuring == {CONFIGURED_IN, "__init__"}  # the package itself adds a NullHandler


def test_a_logger_is_named_after_its_module() -> None:
    named = {module_of(path): _loggers(path) for path in FILES if _loggers(path)}
    assert named.pop(CONFIGURED_IN) == ["'seine'"]
    assert len(named) > 5
    assert {module: names for module, names in named.items() if names != ["__name__"]} == {}


@cache
def _logging_calls() -> list[str]:
    return [
        ast.unparse(node)
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("_logger.")
    ]


@pytest.mark.parametrize("secret", ["token", "password"])
def test_secrets_are_not_given_to_the_log(secret: str) -> None:
    """No argument of a logging call is made of a variable that is named after a secret."""
    assert len(_logging_calls()) > 10
    assert [call for call in _logging_calls() if secret in call.lower()] == []
