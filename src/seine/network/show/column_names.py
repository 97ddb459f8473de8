"""What the columns of each node are called.

A row of a join is as many rows side by side as it joins; these are r1, r2 and so on, from the left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.plan_text import Written, column_name, describe_aggregate, distinct_names
from seine.algebra.star import StarItem as StarItem
from seine.graph.nodes import (
    AggregateNode,
    DeliverNode,
    DerivedPunctuationsNode,
    FanNode,
    JoinNode,
    LimitedNode,
    LookupNode,
    MultiJoinNode,
    Node,
    PrefilterNode,
    PunctuationsNode,
    RegroupNode,
    ResolveNode,
    SourceNode,
    Static,
)
from seine.network.network import Network
from seine.network.plan.birth import ARRIVAL
from seine.network.show.wording import Words, plain_words

LONGEST_NAME = 40
_TAG = (Written("tag"),)


@dataclass(frozen=True)
class RowPart:
    """One of the rows that stand side by side in a row: what it is, and its columns as SQL.

    A tagged one has its tag first, a dated one its arrival last.
    """

    what: str
    names: tuple[str, ...]
    tagged: bool = False
    dated: bool = False


@dataclass
class ColumnNames:
    """The names of the columns of a network's nodes."""

    network: Network
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, RelationDef] = field(default_factory=dict)
    _items: dict[int, tuple[RowPart, ...]] = field(default_factory=dict)

    def items(self, node_id: int) -> tuple[RowPart, ...]:
        """What stands side by side in a row of a node."""
        if node_id not in self._items:
            waiting = [node_id]
            while waiting:
                node = self.network.nodes[waiting[-1]]
                missing = [i for i in node.inputs if i not in self._items]
                if missing:
                    waiting += missing
                else:
                    self._items[waiting.pop()] = self._derive(node)
        return self._items[node_id]

    def names(self, node_id: int) -> list[str]:
        """The names of a node's columns, as SQL."""
        items = self.items(node_id)
        if len(items) == 1:
            return list(items[0].names)
        return [
            Written(f"r{number}.{_bare(name)}") for number, item in enumerate(items, 1) for name in item.names
        ]

    def hidden(self, node_id: int) -> list[int]:
        """The positions of columns that no query wrote: tags, and in a live network arrivals."""
        found, position = [], 0
        for item in self.items(node_id):
            found += [position] * item.tagged + [position + len(item.names) - 1] * item.dated
            position += len(item.names)
        return found

    def _derive(self, node: Node) -> tuple[RowPart, ...]:
        match node:
            case SourceNode() | ResolveNode():
                names = _declared(self.streams.get(node.stream), len(node.types))
                return (RowPart(column_name(node.stream), names, dated=self.network.live),)
            case PunctuationsNode():
                return (RowPart(f"promises of {column_name(node.stream)}", self.punctuated(node)),)
            case DerivedPunctuationsNode():
                return (RowPart(f"promises of #{node.inputs[0]}", self.punctuated(self.made(node))),)
            case JoinNode():
                return self.items(node.inputs[0]) + self.items(node.inputs[1])
            case LimitedNode():
                return tuple(self._item(node, item) for item in node.star.items)
            case MultiJoinNode():
                rows = [item for i in node.inputs[: node.width] for item in self.items(i)]
                return (*rows, *map(self._relation, node.statics))
            case LookupNode():
                static = Static(node.relation, node.relation_types)
                return (*self.items(node.inputs[0]), self._relation(static))
            case FanNode() | DeliverNode():
                names = self._computed(node)
                tagged = isinstance(node, FanNode) and node.tagged
                return (RowPart(f"#{node.id}", (*_TAG[:tagged], *names), tagged),)
            case AggregateNode():
                return (self._groups(node),)
            case RegroupNode():
                return (self._finer(node),)
            case PrefilterNode():
                return self.items(node.inputs[0])
        below = self.items(node.inputs[0])[0]
        return (RowPart(f"rows #{node.id}", below.names, below.tagged),)

    def _relation(self, static: Static) -> RowPart:
        names = _declared(self.relations.get(static.relation), len(static.types))
        return RowPart(column_name(static.relation), names)

    def _item(self, node: LimitedNode, item: StarItem) -> RowPart:
        if item.port is not None:
            return self.items(node.inputs[item.port])[0]
        relation = item.relation or ""
        return RowPart(column_name(relation), _declared(self.relations.get(relation), len(item.types)))

    def made(self, node: DerivedPunctuationsNode) -> PunctuationsNode:
        """The promises of a stream that a join passes on."""
        below = self.network.nodes[node.inputs[1]]
        assert isinstance(below, DerivedPunctuationsNode | PunctuationsNode)
        return self.made(below) if isinstance(below, DerivedPunctuationsNode) else below

    def punctuated(self, node: PunctuationsNode) -> tuple[str, ...]:
        """The columns that promises name."""
        stream = self.streams.get(node.stream)
        names = _declared(stream, len(node.types))
        return tuple(names[i] for i in stream.schemes[node.scheme].columns) if stream else names

    def _computed(self, node: FanNode | DeliverNode) -> tuple[str, ...]:
        if isinstance(node, DeliverNode):
            return ()
        below = self.names(node.inputs[0])
        words = Words(self.network.tables[node.filter.table])
        return _distinct([_shortened(words.word(e, below).text) for e in node.expressions])

    def _groups(self, node: AggregateNode) -> RowPart:
        below = self.names(node.inputs[0])
        keys = [plain_words(key, below) for key in node.ports[0].key]
        calls = [describe_aggregate(call, below) for call in node.calls]
        return RowPart(
            f"groups #{node.id}", _distinct(list(map(_shortened, keys + calls))), self._is_tagged(node)
        )

    def _finer(self, node: RegroupNode) -> RowPart:
        """The keys of finer groups, and the row that these are made of: of that there are parts."""
        groups = self.items(node.inputs[0])[0]
        finer = self.network.nodes[node.inputs[0]]
        row = self.names(finer.inputs[0])
        return RowPart(groups.what, (*groups.names[: len(node.types)], *row), tagged=True)

    def _is_tagged(self, node: AggregateNode) -> bool:
        return bool(node.ports[0].key) and self.items(node.inputs[0])[0].tagged


def _declared(definition: StreamDef | RelationDef | None, width: int) -> tuple[str, ...]:
    if definition is None:
        return tuple(Written(f"c{index}") for index in range(width))
    names = [column_name(column.name) for column in definition.fields]
    return tuple(map(Written, [*names, *[ARRIVAL] * (width - len(names))]))


def _bare(name: str) -> str:
    """A column's name without the number of its row."""
    head, _, tail = name.partition(".")
    return tail if head[:1] == "r" and head[1:].isdigit() else name


def _distinct(texts: list[str]) -> tuple[str, ...]:
    return tuple(map(Written, distinct_names(texts)))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
