"""The bindings of one operand: of a block in a document, or the one of a partial combination.

A *partial* combination is the left operand of a join behind a join. Its text has what is needed of its
documents: numbers of the reported variables, strings of variables that are joined later, selected nodes and
items of SELECT as XML, and the identities of the documents.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from seine.documents.document import Document, DocumentNode, number_of
from seine.documents.match_pattern import first_below, match_pattern
from seine.operators.documents.document_form import DocumentForm, FormBlock, FormItem

MOST_BINDINGS = 100_000  # of one block in one document, and of one form in one pair


class PartialCombination(Struct, frozen=True):
    """A combination of documents on its way to a further join."""

    numbers: dict[str, int | str]
    strings: dict[str, str]
    selected: list[str]
    items: dict[int, str]
    documents: list[int]


class Binding(Protocol):
    """One binding of an operand."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it apart from others that are reported."""
        ...

    @property
    def numbers(self) -> dict[str, int | str]: ...

    def string(self, variable: str) -> str: ...

    @property
    def selected(self) -> list[str]:
        """The selected nodes as XML."""
        ...

    def item(self, number: int, item: FormItem) -> str | None:
        """An item of SELECT as XML; None if its variable is not bound here."""
        ...


@dataclass(frozen=True)
class NodeBinding:
    """A binding of a block in a document."""

    document: Document
    block: FormBlock
    nodes: tuple[DocumentNode, ...]
    node: DocumentNode  # the selected one

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.nodes[number] for number in self.block.telling)

    @property
    def numbers(self) -> dict[str, int | str]:
        return {self.block.names[i]: number_of(self.nodes[i]) for i in self.block.reported}

    def string(self, variable: str) -> str:
        return self.document.string(self.nodes[self.block.names.index(variable)])

    @property
    def selected(self) -> list[str]:
        return [self.document.text(self.node)]

    def item(self, number: int, item: FormItem) -> str | None:
        if item.variable not in self.block.names:
            return None
        node = self.nodes[self.block.names.index(item.variable)]
        if item.path is None:
            return self.document.text(node)
        first = first_below(self.document, node, item.path, self.block.pattern.any_namespace)
        return "" if first is None else self.document.text(first)


@dataclass(frozen=True)
class PartialBinding:
    """The binding of a partial combination."""

    partial: PartialCombination

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return ()

    @property
    def numbers(self) -> dict[str, int | str]:
        return self.partial.numbers

    def string(self, variable: str) -> str:
        return self.partial.strings[variable]

    @property
    def selected(self) -> list[str]:
        return self.partial.selected

    def item(self, number: int, item: FormItem) -> str | None:
        return self.partial.items.get(number)


def bindings_of(block: FormBlock, document: Document) -> list[NodeBinding]:
    """The distinct bindings of all variables of a block in a document; raises TooManyBindings."""
    matches = match_pattern(block.pattern, document, MOST_BINDINGS)
    return [NodeBinding(document, block, match.nodes, match.selected) for match in matches]


def carried_binding(
    form: DocumentForm, left: Binding, right: Binding, documents: Sequence[int]
) -> PartialCombination:
    """What later joins need of a binding."""
    numbers = {**left.numbers, **right.numbers}
    strings = {}
    for name in form.carried or ():
        strings[name] = (right if name in form.right.names else left).string(name)
    items = {}
    for number, item in enumerate(form.select or ()):
        text = right.item(number, item) if item.variable in form.right.names else left.item(number, item)
        if text is not None:
            items[number] = text
    selected = [] if form.select is not None else [*left.selected, *right.selected]
    return PartialCombination(numbers, strings, selected, items, list(documents))


def print_numbers(numbers: dict[str, int | str]) -> str:
    """The nodes of variables as a JSON object."""
    return json.dumps(numbers, separators=(",", ":"))
