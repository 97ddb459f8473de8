"""From a SELECT with window functions, QUALIFY or ORDER BY ... LIMIT to ranks over its rows.

    SELECT auction, price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY ts DESC) AS rn FROM bid

    Project auction, price, rn
      Rank ROW_NUMBER() PARTITION BY auction ORDER BY ts DESC AS rn
        Project auction, price, ts

The columns of what is ranked are the outputs, from left to right, and then whatever else is read: so what
breaks ties is what a user sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.over_plan import Over, OverFunction
from seine.algebra.plan import Plan, Project, Select
from seine.algebra.rank_plan import ROW_NUMBER, Ordering, Rank
from seine.algebra.types import BOOLEAN, INT
from seine.frontends.sql.context import Context
from seine.frontends.sql.over_calls import OverCall, has_placeholder, placeholder_number
from seine.frontends.sql.read_frames import SortKey
from seine.frontends.sql.scope import NamedExpression
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
    """The columns of what is ranked, over the rows of the source, and the numbers of window functions."""

    values: list[Expression] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)  # the column of each window function

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

    def place(self, value: Expression) -> int:
        return self.values.index(value)

    def over(self, value: Expression) -> Expression:
        """An expression over the source as one over what is ranked."""
        number = placeholder_number(value)
        if number is not None:
            return Column(self.numbers[number], value.type)
        if value in self.values:
            return Column(self.place(value), value.type)
        if isinstance(value, Call):
            return Call(value.name, tuple(map(self.over, value.args)), value.type)
        return value

    def function(self, framed: OverFunction | None) -> OverFunction:
        """A function over the columns of what is ranked."""
        assert framed is not None
        return replace(framed, call=replace(framed.call, args=tuple(map(self.over, framed.call.args))))

    def ordering(self, key: SortKey) -> Ordering:
        value = self.over(key.value)
        assert isinstance(value, Column)
        return Ordering(value.index, key.descending, key.nulls_first)


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
    for number, expression in enumerate([*(part for call in calls for part in call.expressions), *keys]):
        columns.add(expression, f"over{number}")
    for expression in (*(output.value for output in outputs), *([] if qualify is None else [qualify])):
        columns.add_parts(expression)
    plan = project([*map(NamedExpression, columns.names, columns.values)])
    for window in dict.fromkeys((call.partition, call.order) for call in calls):
        alike = [number for number, call in enumerate(calls) if (call.partition, call.order) == window]
        partition = tuple(dict.fromkeys(columns.place(key) for key in window[0]))
        order = tuple(map(columns.ordering, window[1]))
        framed = [number for number in alike if calls[number].framed is not None]
        if framed:
            functions = tuple(columns.function(calls[number].framed) for number in framed)
            columns.numbers |= {number: len(plan.schema) + i for i, number in enumerate(framed)}
            plan = Over(plan, functions, partition, order, tuple(f"over{number}" for number in framed))
        for number in alike:
            if number not in framed:
                columns.numbers[number] = len(plan.schema)
                plan = Rank(plan, calls[number].function, partition, order, name=f"number{number}")
    if qualify is not None:
        plan = Select(plan, columns.over(qualify))
    if limit is not None:
        plan = _first_rows(plan, tuple(map(columns.ordering, limit.order)), limit)
    values = tuple(columns.over(output.value) for output in outputs)
    return Project(plan, values, tuple(output.name for output in outputs))


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
