"""Descriptions of nodes in words and SQL, and the parts that node kinds make theirs of.

Names of the columns of each node, for EXPLAIN.

A row of a join is as many rows side by side as it joins; these are r1, r2 and so on, from the left.

The network as lines, one a node: what it does, who uses it, and why they share it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Expression, Parameter, conjunction, conjuncts, walk
from seine.algebra.plan_text import SqlText, column_name, distinct_names
from seine.errors import SeineError
from seine.graph.node import Filter, FilteringNode, Node, SelectingNode
from seine.graph.parameter_table import ParameterTable
from seine.network.network import Network
from seine.network.plan.running_plan import ARRIVAL
from seine.network.show.kind_words import RowPart
from seine.network.show.wording import Wording, Words, enumerate_names, plain_words
from seine.network.show.words_of import words_of

LONGEST_NAME = 40


@dataclass
class ColumnNames:
    """The names of the columns of a network's nodes."""

    network: Network
    streams: Mapping[str, StreamDef]
    relations: Mapping[str, RelationDef] = field(default_factory=dict)
    _row_parts: dict[int, tuple[RowPart, ...]] = field(default_factory=dict)

    @property
    def nodes(self) -> Mapping[int, Node]:
        return self.network.nodes

    @property
    def tables(self) -> Mapping[int, ParameterTable]:
        return self.network.tables

    def row_parts(self, node_id: int) -> tuple[RowPart, ...]:
        """What stands side by side in a row of a node."""
        if node_id not in self._row_parts:
            waiting = [node_id]
            while waiting:
                node = self.network.nodes[waiting[-1]]
                missing = [i for i in node.inputs if i not in self._row_parts]
                if missing:
                    waiting += missing
                else:
                    self._row_parts[waiting.pop()] = words_of(node).row_parts(node, self)
        return self._row_parts[node_id]

    def names(self, node_id: int) -> list[str]:
        """The names of a node's columns, as SQL."""
        parts = self.row_parts(node_id)
        if len(parts) == 1:
            return list(parts[0].names)
        return [
            SqlText(f"r{number}.{_bare(name)}") for number, part in enumerate(parts, 1) for name in part.names
        ]

    def legend(self, node_id: int) -> str:
        """What stands side by side in a row of a node, numbered if there are several."""
        parts = self.row_parts(node_id)
        if len(parts) == 1:
            return parts[0].what
        return ", ".join(f"r{number} {part.what}" for number, part in enumerate(parts, 1))

    def hidden(self, node_id: int) -> list[int]:
        """The positions of columns that no query wrote: tags, and in a live network arrivals."""
        positions, first = [], 0
        for part in self.row_parts(node_id):
            positions += [first] * part.tagged + [first + len(part.names) - 1] * part.dated
            first += len(part.names)
        return positions

    def stream_part(self, stream: str, width: int, columns: int = 0) -> RowPart:
        """A tuple of a stream, with all its columns or the first so many."""
        names = _declared(self.streams.get(stream), width, columns)
        return RowPart(column_name(stream), names, dated=self.network.live)

    def relation_part(self, relation: str, width: int) -> RowPart:
        """A tuple of a relation."""
        return RowPart(column_name(relation), _declared(self.relations.get(relation), width))

    def short_names(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Computed columns named by what they are: cut where that is long, and all different."""
        return tuple(map(SqlText, distinct_names([_shortened(text) for text in texts])))

    def plain(self, expression: Expression, names: Sequence[str]) -> str:
        """An expression without parameters."""
        return plain_words(expression, names)

    def computed(self, expressions: Sequence[Expression], names: Sequence[str], table: int) -> list[str]:
        """Expressions with the parameters of a table, which are holes where the rows of the table differ."""
        words = Words(self.tables[table])
        return [words.word(expression, names).text for expression in expressions]


def _declared(definition: StreamDef | RelationDef | None, width: int, columns: int = 0) -> tuple[str, ...]:
    if definition is None:
        return tuple(SqlText(f"c{index}") for index in range(width))
    names = [column_name(column.name) for column in definition.fields[: columns or None]]
    return tuple(map(SqlText, [*names, *[ARRIVAL] * (width - len(names))]))


def _bare(name: str) -> str:
    """A column's name without the number of its row."""
    head, _, tail = name.partition(".")
    return tail if head[:1] == "r" and head[1:].isdigit() else name


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


MOST_SHAPES = 6  # of the conditions of one node that are shown


class Labels(ColumnNames):
    """Names and descriptions of the nodes of a network."""

    def describe(self, node: Node) -> str:
        """What a node does, in words and SQL."""
        return words_of(node).describe(node, self)

    def details(self, node: Node) -> list[str]:
        """Which rows pass it, a line each shape of conditions."""
        return words_of(node).details(node, self)

    def passing_lines(self, node: FilteringNode) -> list[str]:
        """What passes a node, a line for each shape of conditions, with how many queries have it."""
        what = words_of(node).passes
        if any(filter_.shape is None for filter_ in node.filters):
            return [f"all {what}"]
        by_text: dict[str, list[Filter]] = {}
        for filter_ in sorted(node.filters, key=lambda f: -len(self.tables[f.table])):
            wording = self.condition(node, filter_)
            text = f"{what} with {wording}" if wording else f"all {what}"
            by_text.setdefault(text, []).append(filter_)
        lines = [f"{text}{self._for_whom(filters)}" for text, filters in by_text.items()]
        return _cut(lines, what + " with conditions of {} more shapes")

    def selection_lines(self, node: SelectingNode) -> list[str]:
        """Which rows a node selects, and for how many queries."""
        wording = self.condition(node, node.filter)
        return [f"rows with {wording}{self._for_whom([node.filter])}"] if wording else []

    def lines_by_user(self, tables: Mapping[int, str], rest: str) -> list[str]:
        """Texts with the queries that have rows in their tables; none if there is one text alone."""
        users: dict[str, list[str]] = {}
        for table, text in tables.items():
            claims = self.tables[table].claims.values()
            users.setdefault(text, []).extend(query for claim in claims for query in claim)
        if len(users) == 1:
            return []
        return _cut([f"{text} for {enumerate_names(queries)}" for text, queries in users.items()], rest)

    def condition(
        self, node: Node, filter_: Filter, rows: Sequence[int] | None = None, *, whole: bool = False
    ) -> Wording | None:
        """Conditions of one shape, or of some of its rows; what inputs decide is there only if `whole`."""
        row = node.id if isinstance(node, FilteringNode) else node.inputs[0]
        words = Words(self.tables[filter_.table], rows)
        parts = conjuncts(filter_.shape)
        shown = parts if whole else words_of(node).undecided(node, parts)
        return words.condition(conjunction(shown), self.names(row), self.hidden(row))

    def select_list(
        self, expressions: Sequence[Expression], names: Sequence[str], below: Sequence[str], table: int
    ) -> str:
        """Computed columns, each with its name: `a + 1 AS b`."""
        words = Words(self.tables[table])
        texts = [str(words.word(e, below)) for e in expressions]
        columns = [
            text if text == column_name(name) else f"{text} AS {column_name(name)}"
            for text, name in zip(texts, names, strict=True)
        ]
        return ", ".join(columns) or "no columns"

    def _for_whom(self, filters: Sequence[Filter]) -> str:
        tables = [self.tables[filter_.table] for filter_ in filters]
        queries = {query for table in tables for claims in table.claims.values() for query in claims}
        rows = sum(_conditions(f, table) for f, table in zip(filters, tables, strict=True))
        if len(queries) == 1:
            return ""
        if rows in (1, len(queries)):
            return f", for {len(queries)} queries"
        return f", {rows} conditions for {len(queries)} queries"


def _conditions(filter_: Filter, table: ParameterTable) -> int:
    """How many different conditions the rows of a table make."""
    used = parameters_of(filter_.shape)
    return len({tuple(row[i] for i in used) for row in table.rows.values()})


def parameters_of(shape: Expression | None) -> list[int]:
    """The columns of the table that a shape reads; the others say what becomes of the rows."""
    return [] if shape is None else [e.index for e in walk(shape) if isinstance(e, Parameter)]


def _cut(lines: list[str], rest: str) -> list[str]:
    more = len(lines) - MOST_SHAPES
    return [*lines[:MOST_SHAPES], rest.format(more)] if more > 1 else lines


Streams = Mapping[str, StreamDef]
Relations = Mapping[str, RelationDef]
States = Mapping[str, Sequence[str]]  # what there is to say about the states of each query


@dataclass(frozen=True)
class NodeLine:
    """One node as it is shown."""

    node: Node
    text: str
    details: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def reason(self) -> str | None:
        """Why the users share the node; None if there is only one."""
        return words_of(self.node).reason if len(self.users) > 1 else None


def explain_lines(
    network: Network, streams: Streams, query: str | None = None, *, relations: Relations | None = None
) -> list[NodeLine]:
    """The nodes of the network, or of one query of it, inputs first."""
    labels = Labels(network, streams, relations or {})
    return [
        NodeLine(node, labels.describe(node), tuple(labels.details(node)), tuple(_users(network, node)))
        for node in _shown(network, query)
    ]


def _users(network: Network, node: Node) -> list[str]:
    """The queries of a node; of a stream that searches read together, those of the nodes that read it."""
    readers = [] if network.users(node.id) else [one for one in network if node.id in one.inputs]
    return [*dict.fromkeys([*network.users(node.id), *(u for one in readers for u in _users(network, one))])]


def _shown(network: Network, query: str | None) -> list[Node]:
    if query is None:
        return list(network)
    known_query(network, query)
    return network.beneath(query)


def known_query(network: Network, query: str) -> None:
    """Refuses a name that no query has."""
    if query not in network.queries:
        raise SeineError(f"there is no query {query!r}", hint=f"queries: {enumerate_names(network.queries)}")
