"""Every kind of node is whole: one class with its signature, its JSON, what does its work, and its words."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import types
import typing
from typing import Any

import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.star import MemoryLimit, StarItem
from seine.algebra.types import BIGINT, Type
from seine.graph.node import FilteringNode, Node, SelectingNode
from seine.graph.node_kinds import NodeKinds, node_to_json
from seine.network.show.kind_words import KindWords
from seine.network.show.words_of import WORDS
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.kinds import KINDS
from seine.operators.state.working_nodes import StatefulNode, StatelessNode
from tests.architecture.source_tree import FILES, module_of, package_of, tree_of

BASES = {Node, FilteringNode, SelectingNode, StatefulNode, StatelessNode, SetOperatorNode}
LEAVES = {"SourceNode", "PunctuationsNode"}

every_kind = pytest.mark.parametrize("cls", [*KINDS], ids=lambda cls: cls.kind)


def test_every_class_of_nodes_is_listed() -> None:
    for path in FILES:
        if package_of(path).startswith("operators"):
            importlib.import_module(f"seine.{module_of(path)}")
    assert {*_subclasses(Node)} - BASES == {*KINDS}


@every_kind
def test_a_kind_has_all_its_parts(cls: type[Node]) -> None:
    parts = vars(cls)
    assert isinstance(parts["kind"], str)
    assert dataclasses.is_dataclass(cls) and cls.__doc__ and not cls.__doc__.startswith(cls.__name__ + "(")
    assert not inspect.isabstract(cls), "its signature is missing"
    works_elsewhere = cls.work_at is not Node.work_at
    sorts = [issubclass(cls, StatefulNode), issubclass(cls, StatelessNode), cls.is_leaf, works_elsewhere]
    assert sum(sorts) == 1, "an operator, a step, a leaf, or part of another node's work"
    assert cls.stateful == issubclass(cls, StatefulNode)


def test_every_kind_has_words_in_one_table() -> None:
    assert {*WORDS} == {*KINDS}


@every_kind
def test_a_kind_says_why_it_is_shared_and_what_it_does(cls: type[Node]) -> None:
    words = WORDS[cls]
    assert words.reason and bool(words.text) == (type(words).describe is KindWords.describe)
    assert type(words).row_parts is not KindWords.row_parts


def test_operators_say_nothing_of_themselves() -> None:
    """Sentences and colours of EXPLAIN are in `network/show` alone."""
    saying = {
        f"{module_of(path)} {name}"
        for path in FILES
        if package_of(path).startswith(("graph", "operators"))
        for statement in ast.walk(tree_of(path))
        for name in [getattr(statement, "name", None) or getattr(statement, "id", None)]
        if name in ("tint", "describe", "row_parts", "box_lines", "story")
    }
    assert saying == set()


@every_kind
def test_a_kind_lies_beside_its_work(cls: type[Node]) -> None:
    work = getattr(cls, "make_operator", None) or getattr(cls, "make_step", None)
    if work is None:
        return
    made = typing.get_type_hints(work)["return"]
    assert callable(made) and hasattr(made, "step" if cls.stateful else "__call__")
    if work.__qualname__.startswith(cls.__name__):
        assert made.__module__ == cls.__module__


@every_kind
def test_a_kind_reads_back_from_json(cls: type[Node]) -> None:
    node = _sample(cls)
    form = json.loads(json.dumps(node_to_json(node)))
    assert KINDS.read(form) == node and type(KINDS.read(form)) is cls


def test_a_kind_that_is_not_whole_is_refused() -> None:
    with pytest.raises(TypeError, match="not whole"):
        NodeKinds(FilteringNode)


def test_a_name_stands_for_one_kind() -> None:
    (first, *_) = KINDS
    with pytest.raises(TypeError, match="another kind"):
        NodeKinds(first, first)


def test_who_runs_nodes_names_no_kind() -> None:
    """A new kind is run without a word about it in this package."""
    named = {
        f"{module_of(path)} imports {alias.name}"
        for path in FILES
        if package_of(path) == "runtime.flow"
        for statement in ast.walk(tree_of(path))
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.name in {cls.__name__ for cls in KINDS} - LEAVES
    }
    assert named == set()


def _subclasses(cls: type[Node]) -> set[type[Node]]:
    direct = cls.__subclasses__()
    return {*direct, *(one for sub in direct for one in _subclasses(sub))}


def _sample(annotation: Any) -> Any:
    """A value of a type, with something in every part of it."""
    plain: dict[Any, Any] = {
        int: 3,
        float: 0.5,
        str: "name",
        bool: True,
        Type: BIGINT,
        StarItem: StarItem(0, (BIGINT,), port=1, window=5),
        MemoryLimit: MemoryLimit(10, None, alpha=0.5),
    }
    if annotation in plain:
        return plain[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Expression):
        return Column(1, BIGINT)
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        values = {field.name: _sample(hints[field.name]) for field in dataclasses.fields(annotation)}
        return annotation(**values)  # type: ignore[operator]  # it is a class
    args = typing.get_args(annotation)
    if typing.get_origin(annotation) is types.UnionType:
        return _sample(next(arg for arg in args if arg is not types.NoneType))
    assert typing.get_origin(annotation) is tuple, annotation
    return tuple(map(_sample, args)) if ... not in args else (_sample(args[0]),) * 2
