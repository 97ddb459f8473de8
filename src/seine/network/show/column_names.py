"""Names of the columns of each node, for EXPLAIN.

A row of a join is as many rows side by side as it joins; these are r1, r2 and so on, from the left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Expression
from seine.algebra.plan_text import SqlText, column_name, distinct_names
from seine.graph.node import Node
from seine.graph.node_words import RowPart
from seine.graph.parameter_table import ParameterTable
from seine.network.network import Network
from seine.network.plan.birth import ARRIVAL
from seine.network.show.wording import Words, plain_words

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
                    self._row_parts[waiting.pop()] = node.row_parts(self)
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
