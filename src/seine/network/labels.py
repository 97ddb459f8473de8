"""What each node is called: its columns by name, and what it does in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Call, Column, Expression, conjunction, conjuncts, shift_columns
from seine.algebra.text import column_name, describe, describe_aggregate, distinct_names
from seine.algebra.types import BOOLEAN
from seine.network.network import Network
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    DistinctNode,
    ExceptNode,
    JoinNode,
    LookupNode,
    MergeNode,
    Node,
    OutputNode,
    ProjectNode,
    ResolveNode,
    SelectNode,
    SourceNode,
)

LONGEST_NAME = 40

REASONS = {
    "source": "same stream",
    "resolve": "same deletions",
    "select": "same selection",
    "project": "same columns",
    "lookup": "same lookup",
    "join": "same join",
    "merge": "same union",
    "aggregate": "same aggregate",
    "distinct": "same distinct rows",
    "except": "same difference",
    "changelog": "same changelog",
}


@dataclass
class Labels:
    """Names and descriptions of nodes; nodes are asked for inputs first."""

    network: Network
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, RelationDef] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)

    def names(self, node_id: int) -> list[str]:
        """The display names of a node's columns, derived from the streams up."""
        if node_id not in self._names:
            waiting = [node_id]
            while waiting:
                node = self.network.nodes[waiting[-1]]
                missing = [i for i in node.inputs if i not in self._names]
                if missing:
                    waiting += missing
                else:
                    self._names[waiting.pop()] = self._derive(node)
        return self._names[node_id]

    def _derive(self, node: Node) -> list[str]:
        match node:
            case SourceNode() | ResolveNode():
                return _declared(self.streams.get(node.stream), len(node.types))
            case ProjectNode():
                below = self.names(node.inputs[0])
                return distinct_names([_expression_name(e, below) for e in node.expressions])
            case JoinNode() | LookupNode():
                row = self.row(node)
                return [row[index] for index in node.out]
            case AggregateNode():
                below = self.names(node.inputs[0])
                calls = [_shortened(describe_aggregate(call, below)) for call in node.calls]
                return distinct_names([_expression_name(key, below) for key in node.ports[0].key] + calls)
        return self.names(node.inputs[0])

    def row(self, node: JoinNode | LookupNode) -> list[str]:
        """The names of the two rows that a join or a lookup puts side by side."""
        left = self.names(node.inputs[0])
        if isinstance(node, JoinNode):
            return distinct_names(left + self.names(node.inputs[1]))
        return distinct_names(left + _declared(self.relations.get(node.relation), len(node.relation_types)))

    def describe(self, node: Node) -> str:
        """What a node does, in words and SQL."""
        match node:
            case SourceNode(stream=stream):
                return f"stream {column_name(stream)}"
            case ResolveNode(stream=stream):
                return f"deletions of {column_name(stream)}"
            case SelectNode(predicate=predicate):
                return describe(predicate, self.names(node.inputs[0]))
            case ProjectNode(expressions=expressions):
                return ", ".join(describe(e, self.names(node.inputs[0])) for e in expressions) or "no columns"
            case JoinNode() | LookupNode():
                return self._describe_join(node)
            case AggregateNode():
                return self._describe_aggregate(node)
            case OutputNode():
                names = ", ".join(map(column_name, node.names))
                return f"query {node.query} ({names})" + (" as a changelog" if node.changelog else "")
        return _WORDS[type(node)]

    def _describe_join(self, node: JoinNode | LookupNode) -> str:
        width = len(self.names(node.inputs[0]))
        left, right = _keys(node)
        parts: list[Expression] = [
            Call("eq", (one, shift_columns(other, lambda index: index + width)), BOOLEAN)
            for one, other in zip(left, right, strict=True)
        ]
        condition = conjunction(parts + conjuncts(node.residual))
        text = "every pair" if condition is None else describe(condition, self.row(node))
        return f"{column_name(node.relation)} on {text}" if isinstance(node, LookupNode) else text

    def _describe_aggregate(self, node: AggregateNode) -> str:
        below = self.names(node.inputs[0])
        calls = ", ".join(describe_aggregate(call, below) for call in node.calls) or "groups"
        keys = ", ".join(describe(key, below) for key in node.ports[0].key)
        return f"{calls} by {keys}" if keys else calls


_WORDS: dict[type[Node], str] = {
    MergeNode: "all rows of all inputs",
    DistinctNode: "distinct rows",
    ExceptNode: "rows of the first input that are not in the second",
    ChangelogNode: "tells the end of every row",
}


def _keys(node: JoinNode | LookupNode) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    if isinstance(node, LookupNode):
        return node.row_key, node.relation_key
    return node.ports[0].key, node.ports[1].key


def _declared(definition: StreamDef | RelationDef | None, width: int) -> list[str]:
    if definition is None:
        return [f"c{index}" for index in range(width)]
    return [column.name for column in definition.fields]


def _expression_name(expression: Expression, names: Sequence[str]) -> str:
    if isinstance(expression, Column):
        return names[expression.index]
    return _shortened(describe(expression, names))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
