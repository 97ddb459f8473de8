"""A registry of node kinds by name, which decodes a node of any kind from JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seine.graph.dataclass_json import dataclass_from_json, dataclass_to_json
from seine.graph.node import Node


class NodeKinds:
    """A registry of node classes. Every class is whole, and has a name of its own."""

    def __init__(self, *classes: type[Node]) -> None:
        self._classes: dict[str, type[Node]] = {}
        for cls in classes:
            if cls.__abstractmethods__:
                missing = ", ".join(sorted(cls.__abstractmethods__))
                raise TypeError(f"{cls.__name__} is not whole: it has no {missing}")
            if cls.kind in self._classes:
                raise TypeError(f"{cls.__name__}: there is another kind {cls.kind!r}")
            self._classes[cls.kind] = cls

    def __iter__(self) -> Iterator[type[Node]]:
        return iter(self._classes.values())

    def read(self, form: dict[str, Any]) -> Node:
        """The node that `node_to_json` wrote."""
        return dataclass_from_json(self._classes[form["kind"]], form)


def node_to_json(node: Node) -> dict[str, Any]:
    """A node as JSON values: its kind, and its fields by name."""
    return {"kind": node.kind, **dataclass_to_json(node)}
