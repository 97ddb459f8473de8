"""Descriptions of nodes in words and SQL, and the parts that node kinds make theirs of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seine.algebra.expressions import Expression, Parameter, conjunction, conjuncts, walk
from seine.algebra.plan_text import column_name
from seine.graph.node import Filter, FilteringNode, Node, SelectingNode
from seine.graph.parameter_table import ParameterTable
from seine.network.show.column_names import ColumnNames
from seine.network.show.wording import Wording, Words, enumerate_names

MOST_SHAPES = 6  # of the conditions of one node that are shown


class Labels(ColumnNames):
    """Names and descriptions of the nodes of a network."""

    def describe(self, node: Node) -> str:
        """What a node does, in words and SQL."""
        return node.describe(self)

    def details(self, node: Node) -> list[str]:
        """Which rows pass it, a line each shape of conditions."""
        return node.details(self)

    def passing_lines(self, node: FilteringNode) -> list[str]:
        """What passes a node, a line for each shape of conditions, with how many queries have it."""
        what = node.passes
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
        shown = parts if whole else node.undecided(parts)
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
