"""Binds a SELECT with window functions, QUALIFY, or ORDER BY ... LIMIT, as ranks over its rows.

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
from seine.algebra.plan import Distinct, Plan, Project, Select
from seine.algebra.rank_plan import ROW_NUMBER, Ordering, Over, OverFunction, Rank
from seine.algebra.types import BOOLEAN, INT, JSON
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import block_plan
from seine.frontends.sql.group_by import GroupedSelect, refuse_ungrouped_windows
from seine.frontends.sql.over_calls import (
    OverCall,
    OverCalls,
    SortKey,
    has_placeholder,
    over_calls,
    placeholder_number,
    sort_keys,
)
from seine.frontends.sql.scope import Context, FromBlock, NamedExpression, is_pair, key_of

BindOutputs = Callable[[exp.Select, ExpressionBinder], list[NamedExpression]]
_MOST_ROWS = 2**31 - 1  # what a LIMIT may be


def is_ranked(select: exp.Select) -> bool:
    """Whether a SELECT has a window function, QUALIFY, ORDER BY or LIMIT."""
    if any(select.args.get(clause) for clause in ("qualify", "order", "limit", "offset")):
        return True
    windows = (node for item in select.expressions for node in item.find_all(exp.Window))
    return any(node.find_ancestor(exp.Query) is select for node in windows)


def ranked_select(
    select: exp.Select,
    block: FromBlock,
    context: Context,
    bind_outputs: BindOutputs,
    grouping: GroupedSelect | None,
) -> Plan:
    """The plan of such a SELECT; of DISTINCT rows the first ones are those of the distinct rows."""
    over = over_calls(select)
    binder = ExpressionBinder(context, block, "SELECT") if grouping is None else grouping.binder
    binder.over = over
    bound = _BoundSelect(select, block, binder.context, over, bind_outputs(select, binder), None, grouping)
    bound.bind_qualify()
    if select.args.get("distinct") is None:
        return bound.plan(bound.limit())
    distinct = Distinct(bound.plan(None))
    return limited(select, distinct, context)


def limited(node: exp.Expr, plan: Plan, context: Context) -> Plan:
    """The first rows of a plan, as ORDER BY, LIMIT and OFFSET of a node say, in an order of its outputs."""
    names = [field.name for field in plan.schema]

    def bind(key: exp.Expr) -> Expression:
        place = _ordinal(key, len(names), context)
        if place is None and isinstance(key, exp.Column) and key_of(key.this) in names:
            place = names.index(key_of(key.this))
        if place is None:
            raise context.error(key, "ORDER BY of these rows takes their columns", "use a sub-query in FROM")
        return Column(place, plan.schema[place].type)

    limit = _row_limit(node, bind, context)
    if limit is not None and any(field.type == JSON for field in plan.schema):
        raise context.error(node, "LIMIT takes no windows here", "select window.start and window.end")
    return plan if limit is None else limited_plan(plan, limit)


def _row_limit(node: exp.Expr, bind: Callable[[exp.Expr], Expression], context: Context) -> RowLimit | None:
    order, count = node.args.get("order"), row_count(node.args.get("limit"), "LIMIT", 1, context)
    skipped = row_count(node.args.get("offset"), "OFFSET", 0, context)
    if count is None:
        for clause, name in ((order, "ORDER BY"), (node.args.get("offset"), "OFFSET")):
            if clause is not None:
                hint = "results are a changelog without order; write LIMIT n for the first n"
                raise context.error(clause, f"{name} needs a LIMIT", hint)
        return None
    return RowLimit(sort_keys(order, bind, context), count, skipped or 0)


def _ordinal(node: exp.Expr, width: int, context: Context) -> int | None:
    """The place of an output that ORDER BY gives by its number; None for anything else."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    if not node.name.isdigit() or not 1 <= int(node.name) <= width:
        raise context.error(node, f"ORDER BY {node.name}: the SELECT has {width} columns")
    return int(node.name) - 1


@dataclass
class _BoundSelect:
    """A SELECT whose outputs and QUALIFY are bound, over the block and the aggregates."""

    select: exp.Select
    block: FromBlock
    context: Context
    over: OverCalls
    outputs: list[NamedExpression]
    qualify: Expression | None
    grouping: GroupedSelect | None

    def limit(self) -> RowLimit | None:
        """ORDER BY and LIMIT; names are those of outputs first, then of columns."""

        def bind(node: exp.Expr) -> Expression:
            place = _ordinal(node, len(self.outputs), self.context)
            return self._binder("ORDER BY").bind(node) if place is None else self.outputs[place].value

        return _row_limit(self.select, bind, self.context)

    def bind_qualify(self) -> None:
        clause = self.select.args.get("qualify")
        if clause is not None:
            self.qualify = self._binder("QUALIFY").condition(clause.this, "QUALIFY")

    def plan(self, limit: RowLimit | None) -> Plan:
        if self.grouping is None:
            ordered = [] if limit is None else [key.value for key in limit.order]
            windows = [part for call in self.over.calls for part in call.expressions]
            values = [*(output.value for output in self.outputs), *windows, *ordered]
            values += [] if self.qualify is None else [self.qualify]
            refuse_ungrouped_windows(values, self.select, self.context)
        return over_plan(self._project, self.outputs, self.over.calls, self.qualify, limit)

    def _project(self, columns: Sequence[NamedExpression]) -> Plan:
        """The rows that are ranked: of the block, or its groups."""
        if self.grouping is not None:
            return self.grouping.plan(self.outputs, columns)
        values, names = tuple(one.value for one in columns), tuple(one.name for one in columns)
        return Project(block_plan(self.block, self.select, self.context), values, names)

    def _binder(self, clause: str) -> ExpressionBinder:
        aliases = {output.name: output.value for output in self.outputs}
        grouping = self.grouping
        if grouping is None:
            return ExpressionBinder(self.context, self.block, clause, aliases=aliases, over=self.over)
        binder = ExpressionBinder(
            self.context, self.block, clause, grouping.aggregates, aliases, grouping.binder.places
        )
        binder.earlier.update(grouping.windows)
        binder.over = self.over
        return binder


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
