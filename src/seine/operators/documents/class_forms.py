"""The forms of one class, by the constants that their blocks ask for.

Subscriptions differ in constants: `S//item[category = 'chess']` for one, `[category = 'go']` for another. All
have one class, so all are candidates whenever it holds; but of those that compare one path with constants
only the ones whose constant is a value of the document need be evaluated:

    right //item/category    'chess' -> form 1, form 7     'go' -> form 2     ...
    no such condition        form 3

Path and constant are columns of the parameter table, so forms are read only when they are evaluated.

Law: `wanted` gives every form that has a binding in the pair; forms that it leaves out have none.

Cites: MMQJP R_T
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.tree_pattern import PatternNode, TreePattern
from seine.operators.documents.document_form import DocumentForm, read_form

LEFT, RIGHT = 0, 1
NO_CONSTANT = ("", "")  # of a form that compares nothing with a string
Values = Callable[[int, TreePattern], frozenset[str] | None]  # of a side's document at a path; None: too many


class FormRow(NamedTuple):
    """A form as text, the tag of its results, the weakest bounds of time of its queries, and these.

    `path` and `constant` are its comparison of a path with a string, empty if it has none.
    """

    text: str
    tag: int
    low: int
    high: int
    path: str
    constant: str
    queries: frozenset[str]

    @property
    def form(self) -> DocumentForm:
        return read_form(self.text)


class ClassForms:
    """The forms of one class."""

    def __init__(self, rows: Iterable[FormRow]) -> None:
        self._plain: list[FormRow] = []
        self._keyed: dict[str, dict[str, list[FormRow]]] = {}
        for row in rows:
            if row.path:
                self._keyed.setdefault(row.path, {}).setdefault(row.constant, []).append(row)
            else:
                self._plain.append(row)

    def wanted(self, apart: int, values: Values) -> Iterator[FormRow]:
        """The forms that may have a binding in a pair of documents so far apart in time."""
        for row in self._plain:
            if row.low <= apart <= row.high:
                yield row
        for path, by_constant in self._keyed.items():
            present = values(*read_path(path))
            constants = by_constant.keys() if present is None else sorted(present & by_constant.keys())
            for constant in constants:
                for row in by_constant[constant]:
                    if row.low <= apart <= row.high:
                        yield row


def constant_of(form: DocumentForm) -> tuple[str, str]:
    """The first comparison of a node with a string in the blocks of a form: its path as text, the string."""
    for side, block in ((LEFT, form.left), (RIGHT, form.right)):
        for path in _paths(block.pattern.root, ()) if block is not None else ():
            for test in path[-1].tests:
                if test.operator == "=" and isinstance(test.constant, str):
                    steps = [[node.axis, node.name, node.is_attribute] for node in path]
                    any_namespace = block is not None and block.pattern.any_namespace
                    return json.dumps([side, any_namespace, steps], separators=(",", ":")), test.constant
    return NO_CONSTANT


@lru_cache(maxsize=1 << 12)
def read_path(text: str) -> tuple[int, TreePattern]:
    """The side of a path that was printed, and the path as a pattern that binds its end."""
    side, any_namespace, steps = json.loads(text)
    return side, TreePattern(_chain(steps), any_namespace)


def _chain(steps: list[tuple[str, str, bool]]) -> PatternNode:
    (axis, name, is_attribute), *rest = steps
    if not rest:
        return PatternNode(axis, name, is_attribute, variable="0", selected=True)
    return PatternNode(axis, name, is_attribute, children=(_chain(rest),))


def _paths(node: PatternNode, above: tuple[PatternNode, ...]) -> Iterator[tuple[PatternNode, ...]]:
    path = (*above, node)
    yield path
    for child in node.children:
        yield from _paths(child, path)
