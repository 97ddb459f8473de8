"""The form of a query of documents: its blocks, equalities, output and limit, apart from T, birth and name.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]
    left   //book->0[.//author->1]   names b, x          equal  (1, 1)
    right  //blog->0[.//author->1]   names g, y          select None: the nodes that both blocks select

A block's variables are called by number, so that blocks which differ in names are one pattern. In a chain of
joins the left operand is a *partial* combination, which carries what later joins need of its documents.
Printed, a form is a constant of a parameter table: three lines of JSON, the left block, the right block and
the rest. Very many forms are made of few blocks, so reading a new one is mostly two looks for its blocks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from seine.algebra.serialise import node_from_json, node_to_json
from seine.algebra.tree_pattern import PatternNode, TreePattern


@dataclass(frozen=True)
class FormBlock:
    """A tree pattern, the name of each of its variables, and which of them tell bindings apart."""

    pattern: TreePattern
    names: tuple[str, ...]
    reported: tuple[int, ...]  # numbers of variables that are written
    telling: tuple[int, ...]  # numbers of variables that tell bindings apart

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each variable."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def printed_names(self) -> tuple[tuple[int, str], ...]:
        """The numbers of reported variables, and how each begins as a member of a JSON object."""
        return tuple((number, f"{_written(self.names[number])}:") for number in self.reported)

    @cached_property
    def printed(self) -> str:
        """The block as JSON."""
        root, any_namespace = node_to_json(self.pattern.root), self.pattern.any_namespace
        return _written([root, any_namespace, self.names, self.reported, self.telling])


@dataclass(frozen=True)
class FormItem:
    """An item of SELECT: a variable of a block, by name, and the path below it."""

    variable: str
    path: PatternNode | None = None


@dataclass(frozen=True)
class DocumentForm:
    """What is computed of a pair of documents, or of a partial combination and a document."""

    left: FormBlock | None  # None: one block alone, or a partial combination on the left
    right: FormBlock
    equal: tuple[tuple[str, str], ...]  # names of a left variable and a right one
    select: tuple[FormItem, ...] | None = None
    carried: tuple[str, ...] | None = (
        None  # variables whose strings later joins need; None: this is the last join
    )
    most: int | None = None  # bindings of one pair that are wanted, by the limit of its queries; None: all

    @cached_property
    def left_joined(self) -> tuple[str, ...]:
        """The left variables of its equalities."""
        return tuple(left for left, _ in self.equal)

    @cached_property
    def right_joined(self) -> tuple[str, ...]:
        """The right variables of its equalities, in the same order."""
        return tuple(right for _, right in self.equal)

    def printed(self) -> str:
        """The form as text; `read_form` takes it back."""
        left = "null" if self.left is None else self.left.printed
        rest = _printed_rest(self.equal, self.select, self.carried, self.most)
        return f"{left}\n{self.right.printed}\n{rest}"


def read_form(text: str) -> DocumentForm:
    """The form that was printed."""
    left, right, rest = text.split("\n")
    return DocumentForm(None if left == "null" else _read_block(left), _read_block(right), *_read_rest(rest))


_Equal = tuple[tuple[str, str], ...]
_Select = tuple[FormItem, ...] | None
_Carried = tuple[str, ...] | None


@lru_cache(maxsize=1 << 12)
def _printed_rest(equal: _Equal, select: _Select, carried: _Carried, most: int | None) -> str:
    return _written([equal, None if select is None else [*map(_item_to_json, select)], carried, most])


@lru_cache(maxsize=1 << 12)
def _read_rest(text: str) -> tuple[_Equal, _Select, _Carried, int | None]:
    equal, select, carried, most = json.loads(text)
    return (
        tuple((one, other) for one, other in equal),
        None if select is None else tuple(map(_item_from_json, select)),
        None if carried is None else tuple(carried),
        most,
    )


@lru_cache(maxsize=1 << 16)
def _read_block(text: str) -> FormBlock:
    root, any_namespace, names, reported, telling = json.loads(text)
    pattern = _read_pattern(_written(root), any_namespace)
    return FormBlock(pattern, tuple(names), tuple(reported), tuple(telling))


def _written(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@lru_cache(maxsize=1 << 16)
def _read_pattern(text: str, any_namespace: bool) -> TreePattern:
    return TreePattern(node_from_json(json.loads(text)), any_namespace)


def _item_to_json(item: FormItem) -> list[Any]:
    return [item.variable, None if item.path is None else node_to_json(item.path)]


def _item_from_json(form: list[Any]) -> FormItem:
    variable, path = form
    return FormItem(variable, None if path is None else node_from_json(path))
