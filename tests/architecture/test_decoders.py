"""Types of records are learnt in one place, under a lock: two threads at one type would end the process."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.source_tree import FILES, module_of, tree_of

LEARNS = "typed_json"


def _learning(path: Path) -> list[str]:
    """What a file does that lets msgspec learn a type: decoders, conversions, decoding by a type."""
    nodes = [*ast.walk(tree_of(path))]
    made = [one.attr for one in nodes if isinstance(one, ast.Attribute)]
    imported = [
        name.name
        for one in nodes
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("msgspec")
        for name in one.names
    ]
    by_type = [
        f"decode({keyword.arg})"
        for one in nodes
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "decode"
        for keyword in one.keywords
        if keyword.arg == "type"
    ]
    msgspec = any(isinstance(one, ast.Name) and one.id == "msgspec" for one in nodes)
    return [name for name in (made if msgspec else []) + imported if name in ("Decoder", "convert")] + by_type


def test_msgspec_learns_types_in_one_place() -> None:
    learning = {module_of(path): learnt for path in FILES if (learnt := _learning(path))}
    assert learning.keys() == {LEARNS}, learning
    assert {"Decoder", "convert"} <= {*learning[LEARNS]}
