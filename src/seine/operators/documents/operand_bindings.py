"""The bindings of one operand: of a block in a document, or the one of a partial combination.

A *partial* combination is the left operand of a join behind a join. Its text has what is needed of its
documents: numbers of the reported variables, strings of variables that are joined later, selected nodes and
items of SELECT as XML, and the identities of the documents. Where paths in predicates leave a choice of
nodes, its strings have several options, of which one has to fit: they are one combination, and one result.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from seine.documents.document import Document, DocumentNode, number_of
from seine.documents.match_pattern import first_below
from seine.operators.documents.document_form import DocumentForm, FormBlock, FormItem

MOST_BINDINGS = 100_000  # of one block in one document, and of one form in one pair


class PartialCombination(Struct, frozen=True):
    """A combination of documents on its way to a further join."""

    numbers: dict[str, int | str]
    options: list[dict[str, str]]
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

    def printed_numbers(self) -> list[str]:
        """The numbers as members of a JSON object."""
        ...

    def string(self, variable: str) -> str: ...

    def strings(self, variables: tuple[str, ...]) -> tuple[str, ...]: ...

    @property
    def selected(self) -> list[str]:
        """The selected nodes as XML."""
        ...

    def item(self, number: int, item: FormItem) -> str | None:
        """An item of SELECT as XML; None if its variable is not bound here."""
        ...


class NodeBinding(NamedTuple):
    """A binding of a block in a document."""

    document: Document
    block: FormBlock
    nodes: tuple[DocumentNode, ...]
    node: DocumentNode  # the selected one

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple([self.nodes[number] for number in self.block.telling])

    @property
    def numbers(self) -> dict[str, int | str]:
        return {self.block.names[i]: number_of(self.nodes[i]) for i in self.block.reported}

    def printed_numbers(self) -> list[str]:
        nodes = self.nodes
        return [
            f"{name}{nodes[i]}" if isinstance(nodes[i], int) else name + json.dumps(number_of(nodes[i]))
            for i, name in self.block.printed_names
        ]

    def string(self, variable: str) -> str:
        return self.document.string(self.nodes[self.block.places[variable]])

    def strings(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        string, nodes, places = self.document.string, self.nodes, self.block.places
        return tuple([string(nodes[places[name]]) for name in variables])

    @property
    def selected(self) -> list[str]:
        return [self.document.text(self.node)]

    def item(self, number: int, item: FormItem) -> str | None:
        if item.variable not in self.block.names:
            return None
        node = self.nodes[self.block.places[item.variable]]
        if item.path is None:
            return self.document.text(node)
        first = first_below(self.document, node, item.path, self.block.pattern.any_namespace, MOST_BINDINGS)
        return "" if first is None else self.document.text(first)


@dataclass(frozen=True)
class PartialBinding:
    """The binding of a partial combination, with one of its options."""

    partial: PartialCombination
    chosen: dict[str, str]
    key: tuple[Any, ...] = ()

    @property
    def numbers(self) -> dict[str, int | str]:
        return self.partial.numbers

    def printed_numbers(self) -> list[str]:
        return [f"{json.dumps(name)}:{json.dumps(number)}" for name, number in self.numbers.items()]

    def string(self, variable: str) -> str:
        return self.chosen[variable]

    def strings(self, variables: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.string, variables))

    @property
    def selected(self) -> list[str]:
        return self.partial.selected

    def item(self, number: int, item: FormItem) -> str | None:
        return self.partial.items.get(number)


NO_BINDING = PartialBinding(PartialCombination({}, [], [], {}, []), {})  # on the left of a query of one block


def carried_binding(
    form: DocumentForm, alike: Sequence[tuple[Binding, Binding]], documents: Sequence[int]
) -> PartialCombination:
    """What later joins need of a binding; `alike` are those that differ in what is not reported alone."""
    left, right = alike[0]
    options = [
        {name: (one if name in form.right.names else other).string(name) for name in form.carried or ()}
        for other, one in alike
    ]
    items = {}
    for number, item in enumerate(form.select or ()):
        text = right.item(number, item) if item.variable in form.right.names else left.item(number, item)
        if text is not None:
            items[number] = text
    selected = [] if form.select is not None else [*left.selected, *right.selected]
    distinct = list({tuple(option.items()): option for option in options}.values())
    return PartialCombination({**left.numbers, **right.numbers}, distinct, selected, items, list(documents))
