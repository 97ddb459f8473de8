"""Binds a SELECT with window functions, QUALIFY, or ORDER BY ... LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.expressions import Column, Expression
from seine.algebra.plan import Distinct, Plan, Project
from seine.algebra.types import JSON
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import block_plan
from seine.frontends.sql.group_by import GroupedSelect, refuse_ungrouped_windows
from seine.frontends.sql.over_calls import OverCalls, over_calls, sort_keys
from seine.frontends.sql.plan_over_calls import RowLimit, limited_plan, over_plan, row_count
from seine.frontends.sql.scope import Context, FromBlock, NamedExpression, key_of

BindOutputs = Callable[[exp.Select, ExpressionBinder], list[NamedExpression]]


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
