"""What each node is called: its columns by name, and what it does in words.

A row of a join is as many rows side by side as it joins; these are r1, r2 and so on, from the left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import (
    Expression,
    Parameter,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
    walk,
)
from seine.algebra.star import Item as StarItem
from seine.algebra.text import Written, column_name, describe_aggregate, distinct_names
from seine.network.live import ARRIVAL
from seine.network.network import Network
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    Filter,
    FilteringNode,
    FinalNode,
    Form,
    GateNode,
    JoinNode,
    LimitedNode,
    LookupNode,
    MergeNode,
    MultiJoinNode,
    Node,
    PromiseNode,
    ResolveNode,
    SourceNode,
)
from seine.network.tables import ParameterTable
from seine.network.wording import Wording, Words, enumerate_names, plain_words

LONGEST_NAME = 40
MOST_SHAPES = 6  # of the conditions of one node that are told

REASONS = {
    "source": "same stream",
    "promises": "same promises",
    "resolve": "same deletions",
    "gate": "same input of the same join",
    "lookup": "same lookup",
    "join": "same join",
    "limited": "same join and the same memory",
    "multijoin": "same join",
    "fan": "same conditions, up to constants",
    "merge": "same union",
    "aggregate": "same aggregate",
    "distinct": "same distinct rows",
    "except": "same difference",
    "changelog": "same changelog",
    "final": "same final results",
    "deliver": "same conditions, up to constants",
}


@dataclass(frozen=True)
class Item:
    """One of the rows that stand side by side in a row: what it is, and its columns as SQL.

    A tagged one has its tag first, a dated one its arrival last.
    """

    what: str
    names: tuple[str, ...]
    tagged: bool = False
    dated: bool = False


@dataclass
class Labels:
    """Names and descriptions of the nodes of a network."""

    network: Network
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, RelationDef] = field(default_factory=dict)
    _items: dict[int, tuple[Item, ...]] = field(default_factory=dict)

    # ---- names

    def items(self, node_id: int) -> tuple[Item, ...]:
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

    def _derive(self, node: Node) -> tuple[Item, ...]:
        match node:
            case SourceNode() | ResolveNode():
                names = _declared(self.streams.get(node.stream), len(node.types))
                return (Item(column_name(node.stream), names, dated=self.network.live),)
            case PromiseNode():
                return (Item(f"promises of {column_name(node.stream)}", self._promised(node)),)
            case JoinNode():
                return self.items(node.inputs[0]) + self.items(node.inputs[1])
            case LimitedNode():
                return tuple(self._item(node, item) for item in node.star.items)
            case MultiJoinNode():
                return tuple(item for i in node.inputs[: node.width] for item in self.items(i))
            case LookupNode():
                names = _declared(self.relations.get(node.relation), len(node.relation_types))
                return (*self.items(node.inputs[0]), Item(column_name(node.relation), names))
            case FanNode() | DeliverNode():
                names = self._computed(node)
                tagged = isinstance(node, FanNode) and node.tagged
                return (Item(f"#{node.id}", (*_TAG[:tagged], *names), tagged),)
            case AggregateNode():
                return (self._groups(node),)
            case GateNode():
                return self.items(node.inputs[0])
        below = self.items(node.inputs[0])[0]
        return (Item(f"rows #{node.id}", below.names, below.tagged),)

    def _item(self, node: LimitedNode, item: StarItem) -> Item:
        if item.port is not None:
            return self.items(node.inputs[item.port])[0]
        relation = item.relation or ""
        return Item(column_name(relation), _declared(self.relations.get(relation), len(item.types)))

    def _promised(self, node: PromiseNode) -> tuple[str, ...]:
        stream = self.streams.get(node.stream)
        names = _declared(stream, len(node.types))
        return tuple(names[i] for i in stream.schemes[node.scheme].columns) if stream else names

    def _computed(self, node: FanNode | DeliverNode) -> tuple[str, ...]:
        if isinstance(node, DeliverNode):
            return ()
        below = self.names(node.inputs[0])
        words = Words(self.network.tables[node.filter.table])
        return _distinct([_shortened(words.word(e, below).text) for e in node.expressions])

    def _groups(self, node: AggregateNode) -> Item:
        below = self.names(node.inputs[0])
        keys = [plain_words(key, below) for key in node.ports[0].key]
        calls = [describe_aggregate(call, below) for call in node.calls]
        return Item(
            f"groups #{node.id}", _distinct(list(map(_shortened, keys + calls))), self._is_tagged(node)
        )

    def _is_tagged(self, node: AggregateNode) -> bool:
        return self.items(node.inputs[0])[0].tagged

    # ---- descriptions

    def describe(self, node: Node) -> str:
        """What a node does, in words and SQL."""
        match node:
            case SourceNode(stream=stream):
                return f"stream {column_name(stream)}"
            case PromiseNode(stream=stream):
                return f"promises of {column_name(stream)} on ({', '.join(self._promised(node))})"
            case ResolveNode(stream=stream):
                return f"finds what deletions in {column_name(stream)} delete"
            case JoinNode() | LookupNode():
                return self._describe_join(node)
            case LimitedNode():
                return self._describe_limited(node)
            case MultiJoinNode():
                return self._describe_multi_join(node)
            case GateNode():
                return self._legend(node.id)
            case AggregateNode():
                return self._describe_aggregate(node)
            case FanNode():
                names = self.items(node.id)[0].names[node.tagged :]
                return self._selected(node, node.expressions, names, node.filter.table)
            case DeliverNode():
                texts = list(dict.fromkeys(self.written(node, form) for form in node.forms))
                return texts[0] if len(texts) == 1 else f"records of {len(texts)} forms"
        return _WORDS[type(node)]

    def details(self, node: Node) -> list[str]:
        """Which rows pass it, a line each shape of conditions."""
        if isinstance(node, FilteringNode):
            return self._passing(node)
        if isinstance(node, FanNode | DeliverNode):
            wording = self.condition(node, node.filter)
            told = [f"rows with {wording}{self._for_whom([node.filter])}"] if wording else []
            return told + (self._forms(node) if isinstance(node, DeliverNode) else [])
        return []

    def _forms(self, node: DeliverNode) -> list[str]:
        """The forms of records, if there are several, each with its queries."""
        users: dict[str, list[str]] = {}
        for form in node.forms:
            claims = self.network.tables[form.table].claims.values()
            users.setdefault(self.written(node, form), []).extend(q for claim in claims for q in claim)
        if len(users) == 1:
            return []
        told = [f"{text} for {enumerate_names(queries)}" for text, queries in users.items()]
        return _limited(told, "records of {} more forms")

    def _passing(self, node: FilteringNode) -> list[str]:
        what = passing(node)
        if any(filter_.shape is None for filter_ in node.filters):
            return [f"all {what}"]
        by_text: dict[str, list[Filter]] = {}
        for filter_ in sorted(node.filters, key=lambda f: -len(self.network.tables[f.table])):
            wording = self.condition(node, filter_)
            text = f"{what} with {wording}" if wording else f"all {what}"
            by_text.setdefault(text, []).append(filter_)
        told = [f"{text}{self._for_whom(filters)}" for text, filters in by_text.items()]
        return _limited(told, what + " with conditions of {} more shapes")

    def condition(
        self, node: Node, filter_: Filter, rows: Sequence[int] | None = None, *, whole: bool = False
    ) -> Wording | None:
        """The conditions of one shape, or of some rows of it. Of pairs, only what neither input decides."""
        row = node.id if isinstance(node, FilteringNode) else node.inputs[0]
        words = Words(self.network.tables[filter_.table], rows)
        parts = conjuncts(filter_.shape)
        if not whole and isinstance(node, JoinNode | LookupNode):
            width = left_width(node)
            least = 1 if isinstance(node, LookupNode) else 2
            parts = [part for part in parts if _sides_of(part, width) >= least] or parts
        if not whole and isinstance(node, MultiJoinNode):
            parts = [part for part in parts if _ports_of(part, node) > 1] or parts
        return words.condition(conjunction(parts), self.names(row), self.hidden(row))

    def _for_whom(self, filters: Sequence[Filter]) -> str:
        tables = [self.network.tables[filter_.table] for filter_ in filters]
        queries = {query for table in tables for claims in table.claims.values() for query in claims}
        rows = sum(_conditions(f, table) for f, table in zip(filters, tables, strict=True))
        if len(queries) == 1:
            return ""
        if rows in (1, len(queries)):
            return f", for {len(queries)} queries"
        return f", {rows} conditions for {len(queries)} queries"

    def _legend(self, node_id: int) -> str:
        items = self.items(node_id)
        if len(items) == 1:
            return items[0].what
        return ", ".join(f"r{number} {item.what}" for number, item in enumerate(items, 1))

    def _describe_join(self, node: JoinNode | LookupNode) -> str:
        left, right = _keys(node)
        width = left_width(node)
        names = self.names(node.id)
        parts = [
            f"{plain_words(one, names)} = {plain_words(_moved(other, width), names)}"
            for one, other in zip(left, right, strict=True)
        ]
        return f"{self._legend(node.id)} on {' AND '.join(parts) or 'every pair'}"

    def _describe_limited(self, node: LimitedNode) -> str:
        names, memory = self.names(node.id), node.memory
        whole = conjunction([c for probe in node.star.ways[0] for c in probe.conditions])
        on = "every pair" if whole is None else plain_words(whole, names)
        held = f"{memory.tuples:,} tuples" if memory.tuples is not None else f"{memory.bytes:,} bytes"
        return f"{self._legend(node.id)} on {on} within {held}, by {memory.shed}"

    def _describe_multi_join(self, node: MultiJoinNode) -> str:
        names = self.names(node.id)
        groups: dict[int, list[str]] = {}
        for member in node.members:
            moved_ = _moved(member.expression, first_column(node, member.port))
            groups.setdefault(member.group, []).append(plain_words(moved_, names))
        equal = " AND ".join(" = ".join(members) for members in groups.values())
        return f"{self._legend(node.id)} on {equal}"

    def _describe_aggregate(self, node: AggregateNode) -> str:
        item = self.items(node.id)[0]
        count = len(node.ports[0].key)
        calls = ", ".join(map(column_name, item.names[count:])) or "groups"
        keys = ", ".join(map(column_name, item.names[item.tagged : count]))
        return f"{calls} by {keys}" if keys else calls

    def written(self, node: DeliverNode, form: Form) -> str:
        """The columns of records."""
        columns = self._selected(node, form.expressions, form.names, form.table)
        return columns + (" (a changelog)" if form.changelog else "")

    def _selected(
        self, node: Node, expressions: Sequence[Expression], names: Sequence[str], table: int
    ) -> str:
        """The columns that leave, each with what it is."""
        below = self.names(node.inputs[0])
        words = Words(self.network.tables[table])
        texts = [str(words.word(e, below)) for e in expressions]
        columns = [
            text if text == column_name(name) else f"{text} AS {column_name(name)}"
            for text, name in zip(texts, names, strict=True)
        ]
        return ", ".join(columns) or "no columns"


_TAG = (Written("tag"),)
_WORDS: dict[type[Node], str] = {
    MergeNode: "all rows of all inputs",
    DistinctNode: "distinct rows",
    ExceptNode: "rows of the first input that are not in the second",
    ChangelogNode: "tells the end of every row",
    FinalNode: "the final result of each group, once",
}


def _keys(node: JoinNode | LookupNode) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    if isinstance(node, LookupNode):
        return node.row_key, node.relation_key
    return node.ports[0].key, node.ports[1].key


def _conditions(filter_: Filter, table: ParameterTable) -> int:
    """How many different conditions the rows of a table make."""
    used = parameters_of(filter_.shape)
    return len({tuple(row[i] for i in used) for row in table.rows.values()})


def parameters_of(shape: Expression | None) -> list[int]:
    """The columns of the table that a shape reads; others tell what becomes of the rows."""
    return [] if shape is None else [e.index for e in walk(shape) if isinstance(e, Parameter)]


def _limited(told: list[str], rest: str) -> list[str]:
    more = len(told) - MOST_SHAPES
    return [*told[:MOST_SHAPES], rest.format(more)] if more > 1 else told


def left_width(node: JoinNode | LookupNode) -> int:
    """Where the right row begins."""
    right = node.relation_types if isinstance(node, LookupNode) else node.ports[1].types
    return len(node.types) - len(right)


def first_column(node: MultiJoinNode, port: int) -> int:
    """Where the row of a port begins."""
    return sum(len(before.types) for before in node.ports[:port])


def _ports_of(part: Expression, node: MultiJoinNode) -> int:
    """How many of the rows side by side it reads."""
    firsts = [first_column(node, port) for port in range(node.width)]
    return len({bisect_right(firsts, index) for index in columns_of(part)})


def passing(node: Node) -> str:
    """What a node lets pass, in a word."""
    return {"join": "pairs", "lookup": "pairs", "multijoin": "combinations"}.get(node.kind, "rows")


def _sides_of(part: Expression, width: int) -> int:
    """0 if it reads the left row alone, 1 the right, 2 both."""
    sides = {index < width for index in columns_of(part)}
    return len(sides) if False in sides else 0


def _moved(expression: Expression, by: int) -> Expression:
    return shift_columns(expression, lambda index: index + by)


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
