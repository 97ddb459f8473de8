"""From a SELECT with window functions, QUALIFY or ORDER BY ... LIMIT to ranks over its rows.

    SELECT auction, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY ts DESC) AS rn FROM bid

    Project auction, price, rn
      Rank ROW_NUMBER() PARTITION BY auction ORDER BY ts DESC AS rn
        Project auction, price, ts

The columns of what is ranked are the outputs, from left to right, and then whatever else is read: so what
breaks ties is what a user sees.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, Literal, walk
from seine.algebra.over_plan import Over, OverFunction
from seine.algebra.plan import Plan, Project, Select
from seine.algebra.rank_plan import ROW_NUMBER, Ordering, Rank
from seine.algebra.types import BOOLEAN, INT
from seine.frontends.sql.over_calls import OverCall, has_placeholder, placeholder_number
from seine.frontends.sql.read_frames import SortKey
from seine.frontends.sql.scope import Context, NamedExpression
from seine.frontends.sql.window_pairs import is_pair

_MOST_ROWS = 2**31 - 1  # what a LIMIT may be


@dataclass(frozen=True)
class RowLimit:
    """ORDER BY ... LIMIT count OFFSET skipped."""

    order: tuple[SortKey, ...]
    count: int
    skipped: int = 0


@dataclass
class _RankedColumns:
    """The columns of what is ranked, over the rows of the source."""

    values: list[Expression] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, value: Expression, name: str) -> None:
        """Add what an expression needs; a window, of two parts, is put together above."""
        if is_pair(value) and isinstance(value, Call):
            for part in value.args:
                self.add(part, name)
        elif not has_placeholder(value) and value not in self.values:
            self.values.append(value)
            self.names.append(name)

    def add_parts(self, value: Expression) -> None:
        """Add what an expression with a window function reads beside it."""
        if not has_placeholder(value):
            if not isinstance(value, Literal):
                self.add(value, f"part{len(self.values)}")
        elif isinstance(value, Call):
            for part in value.args:
                self.add_parts(part)


@dataclass
class _RankedRows:
    """A plan of ranked rows, and the places of the expressions and window functions that it has as columns.

    What is computed from window functions, and read by others or by ORDER BY, becomes a column behind them.
    """

    plan: Plan
    places: dict[Expression, int]
    numbers: dict[int, int] = field(default_factory=dict)  # the column of each window function

    def over(self, value: Expression) -> Expression:
        """An expression over the source as one over the plan."""
        number = placeholder_number(value)
        if number is not None:
            return Column(self.numbers[number], value.type)
        if value in self.places:
            return Column(self.places[value], value.type)
        if isinstance(value, Call):
            return Call(value.name, tuple(map(self.over, value.args)), value.type)
        return value

    def column(self, value: Expression) -> Column:
        """The column of an expression, which is computed if there is none."""
        made = self.over(value)
        if isinstance(made, Column):
            return made
        width = len(self.plan.schema)
        columns = [Column(i, column.type) for i, column in enumerate(self.plan.schema)]
        names = [column.name for column in self.plan.schema]
        self.plan = Project(self.plan, (*columns, made), (*names, f"part{width}"))
        self.places[value] = width
        return Column(width, made.type)

    def ordering(self, key: SortKey) -> Ordering:
        return Ordering(self.column(key.value).index, key.descending, key.nulls_first)

    def add(self, alike: Sequence[tuple[int, OverCall]]) -> None:
        """Compute window functions of one partition and order, each with its number."""
        partition, order = alike[0][1].partition, alike[0][1].order
        by = tuple(dict.fromkeys(self.column(key).index for key in partition))
        orderings = tuple(map(self.ordering, order))
        framed = [(number, call.framed) for number, call in alike if call.framed is not None]
        if framed:
            functions = tuple(self._function(function) for _, function in framed)
            width = len(self.plan.schema)
            self.numbers |= {number: width + i for i, (number, _) in enumerate(framed)}
            self.plan = Over(
                self.plan, functions, by, orderings, tuple(f"over{number}" for number, _ in framed)
            )
        for number, call in alike:
            if call.framed is None:
                self.numbers[number] = len(self.plan.schema)
                self.plan = Rank(self.plan, call.function, by, orderings, name=f"number{number}")

    def _function(self, framed: OverFunction) -> OverFunction:
        args = framed.call.args
        read = tuple(arg if isinstance(arg, Literal) else self.column(arg) for arg in args)
        return replace(framed, call=replace(framed.call, args=read))


def over_plan(
    project: Callable[[Sequence[NamedExpression]], Plan],
    outputs: Sequence[NamedExpression],
    calls: Sequence[OverCall],
    qualify: Expression | None,
    limit: RowLimit | None,
) -> Plan:
    """The plan of outputs, its window functions computed and selected by, its first rows.

    `project` gives the rows that are ranked, with these columns.
    """
    columns = _RankedColumns()
    for output in outputs:
        columns.add(output.value, output.name)
    keys = () if limit is None else [key.value for key in limit.order]
    read = [*(part for call in calls for part in call.expressions), *keys]
    for number, expression in enumerate(read):
        columns.add(expression, f"over{number}")
    composed = [expression for expression in read if has_placeholder(expression)]
    for expression in (
        *(output.value for output in outputs),
        *([] if qualify is None else [qualify]),
        *composed,
    ):
        columns.add_parts(expression)
    plan = project([*map(NamedExpression, columns.names, columns.values)])
    rows = _RankedRows(plan, {value: place for place, value in enumerate(columns.values)})
    for alike in _by_window(calls):
        rows.add(alike)
    if qualify is not None:
        rows.plan = Select(rows.plan, rows.over(qualify))
    if limit is not None:
        order = tuple(map(rows.ordering, limit.order))
        rows.plan = _first_rows(rows.plan, order, limit)
    values = tuple(rows.over(output.value) for output in outputs)
    return Project(rows.plan, values, tuple(output.name for output in outputs))


def _by_window(calls: Sequence[OverCall]) -> list[list[tuple[int, OverCall]]]:
    """Window functions with their numbers, those of one window together, behind those that they read."""
    levels: list[int] = []
    alike: dict[Hashable, list[tuple[int, OverCall]]] = {}
    for number, call in enumerate(calls):
        inner = (placeholder_number(part) for value in call.expressions for part in walk(value))
        levels.append(max((levels[one] + 1 for one in inner if one is not None), default=0))
        alike.setdefault((levels[number], call.partition, call.order), []).append((number, call))
    return [alike[key] for key in sorted(alike, key=lambda key: levels[alike[key][0][0]])]


def limited_plan(plan: Plan, limit: RowLimit) -> Plan:
    """The first rows of a plan in an order of its columns."""
    order = tuple(Ordering(_index(key.value), key.descending, key.nulls_first) for key in limit.order)
    ranked = _first_rows(plan, order, limit)
    if not limit.skipped:
        return ranked
    columns = tuple(Column(i, field.type) for i, field in enumerate(plan.schema))
    return Project(ranked, columns, tuple(field.name for field in plan.schema))


def _first_rows(plan: Plan, order: tuple[Ordering, ...], limit: RowLimit) -> Plan:
    """The rows of a plan within a limit; with their numbers where some are skipped."""
    name = "number" if limit.skipped else None
    ranked = Rank(plan, ROW_NUMBER, (), order, limit.skipped + limit.count, name)
    if not limit.skipped:
        return ranked
    number = Column(len(plan.schema), INT)
    return Select(ranked, Call("gt", (number, Literal(limit.skipped, INT)), BOOLEAN))


def _index(value: Expression) -> int:
    assert isinstance(value, Column)
    return value.index


def row_count(node: exp.Expr | None, clause: str, least: int, context: Context) -> int | None:
    """The number in LIMIT or OFFSET; None if there is no such clause."""
    if node is None:
        return None
    number = node.expression
    text = number.name if isinstance(number, exp.Literal) and not number.is_string else ""
    if not text.isdigit() or not least <= int(text) <= _MOST_ROWS:
        raise context.error(node, f"{clause} takes a whole number of rows, {least} or more")
    return int(text)
