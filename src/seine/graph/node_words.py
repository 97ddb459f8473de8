"""The interface by which nodes explain themselves: names of columns, expressions as text, their queries.

`network/show` implements it; each kind of node uses it to describe itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Expression
from seine.graph.parameter_table import ParameterTable

if TYPE_CHECKING:
    from seine.graph.node import FilteringNode, Node, SelectingNode


@dataclass(frozen=True)
class RowPart:
    """One of the rows that stand side by side in a row: what it is, and its columns as SQL.

    A tagged one has its tag first, a dated one its arrival last.
    """

    what: str
    names: tuple[str, ...]
    tagged: bool = False
    dated: bool = False


class ColumnWords(Protocol):
    """The columns of a network's nodes in words."""

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    @property
    def tables(self) -> Mapping[int, ParameterTable]: ...

    @property
    def streams(self) -> Mapping[str, StreamDef]:
        """The definitions of streams that are known."""
        ...

    def row_parts(self, node_id: int) -> tuple[RowPart, ...]:
        """What stands side by side in a row of a node."""
        ...

    def names(self, node_id: int) -> list[str]:
        """The names of a node's columns, as SQL."""
        ...

    def legend(self, node_id: int) -> str:
        """What stands side by side in a row of a node, numbered if there are several."""
        ...

    def stream_part(self, stream: str, width: int, columns: int = 0) -> RowPart:
        """A tuple of a stream, with all its columns or the first so many."""
        ...

    def relation_part(self, relation: str, width: int) -> RowPart:
        """A tuple of a relation."""
        ...

    def short_names(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Computed columns named by what they are: cut where that is long, and all different."""
        ...

    def plain(self, expression: Expression, names: Sequence[str]) -> str:
        """An expression without parameters."""
        ...

    def computed(self, expressions: Sequence[Expression], names: Sequence[str], table: int) -> list[str]:
        """Expressions with the parameters of a table, which are holes where the rows of the table differ."""
        ...


class NodeWords(ColumnWords, Protocol):
    """The nodes of a network in words."""

    def select_list(
        self, expressions: Sequence[Expression], names: Sequence[str], below: Sequence[str], table: int
    ) -> str:
        """Computed columns, each with its name: `a + 1 AS b`."""
        ...

    def describe(self, node: Node) -> str: ...

    def passing_lines(self, node: FilteringNode) -> list[str]:
        """What passes, a line for each shape of conditions, with the number of queries that have it."""
        ...

    def selection_lines(self, node: SelectingNode) -> list[str]:
        """Which rows are selected, and for how many queries."""
        ...

    def lines_by_user(self, tables: Mapping[int, str], rest: str) -> list[str]:
        """Texts with the queries that have rows in their tables; none if there is one text alone.

        `rest` says how many were left out where they are many.
        """
        ...


class QueryWords(Protocol):
    """The part of one query in the network, in words."""

    def about_conditions(self, node: Node) -> Iterator[str]:
        """Its conditions at a node, and how they compare with those of others."""
        ...

    def other_readers(self, node: Node) -> str | None:
        """The other queries that read the same rows of a node's input by themselves; None if nobody does."""
        ...

    def rows_of(self, table: int, alike: int) -> Iterator[tuple[tuple[Any, ...], str]]:
        """Its rows of a parameter table, each with the other queries that have one with the same first
        constants, so many of them, in words."""
        ...

    @property
    def words(self) -> NodeWords:
        """The words of the whole network."""
        ...


class BoxContent(NamedTuple):
    """What there is to write in a box: of its first node, and of nodes without a box that belong to it."""

    text: str
    details: Sequence[str]
    part_details: Sequence[str]
    users: Sequence[str]
    is_pile: bool
