"""Binds one SELECT: its FROM block, its condition and its outputs; refuses unsupported clauses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import add

from sqlglot import exp

from seine.algebra.expressions import Column, shift_columns
from seine.algebra.functions import is_aggregate
from seine.algebra.plan import Plan
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import Projection, recorded_outputs
from seine.frontends.sql.from_clause import Analyse, implied_name, read_from
from seine.frontends.sql.group_by import GroupedSelect, UngroupedHops, is_grouped, refuse_ungrouped_windows
from seine.frontends.sql.partner_joins import refuse_outer
from seine.frontends.sql.ranked_select import is_ranked, ranked_select
from seine.frontends.sql.scope import (
    SCALARS,
    Context,
    FromBlock,
    FromItem,
    NamedExpression,
    columns_named,
    is_exact,
    key_of,
    visible_item,
)
from seine.frontends.sql.sub_query_values import (
    restrict,
    scalar_plan,
    scalars_in,
    with_values,
)
from seine.frontends.sql.window_pairs import distinct_rows
from seine.frontends.sql.window_tables import hopping_calls
from seine.frontends.text.names import suggest

_SUPPORTED = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "hint"}
_SUPPORTED |= {"qualify", "windows", "order", "limit", "offset"}
_HINTS = {
    "sort": "results are a changelog without order",
    "laterals": "a row gives one row: split(text, ' ')[0] and get_json_object(text, '$.a') give one value",
}
_CLAUSES = {"order": "ORDER BY", "sort": "SORT BY", "laterals": "LATERAL VIEW"}


def analyse_select(select: exp.Select, context: Context, analyse: Analyse) -> Projection | Plan:
    """Bind a SELECT; a plain one stays a Projection, so that an outer block can inline it."""
    refuse_clauses(select, context, _SUPPORTED)
    hops = hopping_calls(select) if is_grouped(select) else frozenset()
    try:
        return _analyse_select(select, context, analyse, hops)
    except UngroupedHops as ungrouped:
        return _analyse_select(select, context, analyse, hops - ungrouped.calls)


def _analyse_select(
    select: exp.Select, context: Context, analyse: Analyse, hops: frozenset[int]
) -> Projection | Plan:
    """Bind a SELECT where the windows of some calls of HOP are keys of its groups."""
    block = read_from(select, context, analyse, hops)
    restrict(select, block, context, analyse)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        hint = "write QUALIFY ROW_NUMBER() OVER (PARTITION BY ... ORDER BY ...) = 1 in a sub-query"
        raise context.error(distinct, "DISTINCT ON with LIMIT or QUALIFY is not supported", hint)
    if not is_grouped(select):
        refuse_ungrouped_windows(block.conjuncts, select, context)
    if is_grouped(select) or is_ranked(select) or distinct is not None:
        refuse_outer(block.conjuncts, select, context)
        context = context.without_outer()
    grouping = _grouped_select(select, block, context, analyse) if is_grouped(select) else None
    valued = context if grouping else with_values(select.expressions, select, block, context, analyse)
    if is_ranked(select):
        return ranked_select(select, block, valued, _recorded, grouping)
    if grouping is not None:
        plan = grouping.plan(_recorded(select, grouping.binder))
        return plan if distinct is None else distinct_rows(plan)
    outputs = _outputs(select, ExpressionBinder(valued, block, "SELECT"))
    refuse_ungrouped_windows([output.value for output in outputs], select, context)
    projection = Projection(block, outputs, select, context)
    return projection if distinct is None else distinct_rows(projection.plan())


def _grouped_select(
    select: exp.Select, block: FromBlock, context: Context, analyse: Analyse
) -> GroupedSelect:
    """A SELECT with groups; sub-queries that are values are joined with its groups, or, inside of aggregates,
    with its rows.
    """
    nodes = [*select.expressions, *filter(None, [select.args.get("having")])]
    calls = [call for node in nodes for call in node.find_all(exp.Anonymous) if is_aggregate(call.name)]
    inside = [_with_filter(call) for call in calls if call.parent_select is select]
    context = with_values(inside, select, block, context, analyse)
    above = [query for query in scalars_in(nodes, select) if id(query) not in context.values]
    plans = [scalar_plan(query, context, analyse) for query in above]
    values, first = {}, SCALARS
    for query, (plan, value) in zip(above, plans, strict=True):
        values[id(query)] = shift_columns(value, partial(add, first))
        first += len(plan.schema)
    context = replace(context, values={**context.values, **values})
    return GroupedSelect(select, block, context, tuple(plan for plan, _ in plans))


def _with_filter(call: exp.Expr) -> exp.Expr:
    """An aggregate with its FILTER, which is asked of the same rows."""
    return call.parent if isinstance(call.parent, exp.Filter) else call


def refuse_clauses(node: exp.Expr, context: Context, supported: set[str]) -> None:
    """Refuse a query with any clause that is not supported."""
    for key, value in node.args.items():
        if value and key not in supported:
            clause = _CLAUSES.get(key, key.strip("_").upper())
            at = value if isinstance(value, exp.Expr) else node
            raise context.error(at, f"{clause} is not supported", _HINTS.get(key))


def _recorded(select: exp.Select, binder: ExpressionBinder) -> list[NamedExpression]:
    return recorded_outputs(_outputs(select, binder))


def _outputs(select: exp.Select, binder: ExpressionBinder) -> list[NamedExpression]:
    if not select.expressions:
        raise binder.context.error(select, "SELECT needs something to select", "write SELECT *")
    outputs = []
    for node in select.expressions:
        for output in _output(node, binder):
            outputs.append(output)
            binder.earlier.setdefault(output.name, output.value)
    if not outputs:
        first = select.expressions[0]
        raise binder.context.error(first, "EXCEPT leaves no column", "name what the query gives")
    return outputs


def _output(node: exp.Expr, binder: ExpressionBinder) -> list[NamedExpression]:
    if isinstance(node, exp.Star):
        return _all_columns(node, binder.block.visible, binder)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        item = visible_item(node.args["table"], binder.block, binder.context)
        return _all_columns(node, [FromItem(item.alias, item.columns)], binder)
    if isinstance(node, exp.Alias):
        return [NamedExpression(key_of(node.args["alias"]), binder.bind(node.this))]
    return [NamedExpression(implied_name(node), binder.bind(node))]


def _all_columns(node: exp.Expr, items: list[FromItem], binder: ExpressionBinder) -> list[NamedExpression]:
    star = node if isinstance(node, exp.Star) else node.this
    if any(value for key, value in star.args.items() if key != "except_"):
        raise binder.context.error(node, "* REPLACE and * RENAME are not supported", "name the columns")
    left_out = [_left_out(name, items, binder) for name in star.args.get("except_") or []]
    columns = [
        column
        for item in items
        for column in item.plain_columns()
        if not any(item.alias in aliases and column.name in names for aliases, names in left_out)
    ]
    for column in columns:
        if isinstance(column.value, Column):
            binder.places.setdefault(column.value.index, node)
    return columns


def _left_out(node: exp.Expr, items: list[FromItem], binder: ExpressionBinder) -> tuple[set[str], set[str]]:
    """The aliases and the names of the columns that a name in EXCEPT leaves out; refuses one of none."""
    table = node.args.get("table")
    if table is not None:
        alias = visible_item(table, binder.block, binder.context).alias
        items = [item for item in items if item.alias == alias]
    columns = [(item, column) for item in items for column in item.plain_columns()]
    name, exact = key_of(node.this), is_exact(node.this, binder.context)
    matches = columns_named([column for _, column in columns], name, exact)
    if not matches:
        known = [column.name for _, column in columns]
        of = "" if table is None else f" of {table.name} among these"
        hint = suggest(node.name, known, "columns")
        raise binder.context.error(node, f"no column {node.name}{of}", hint)
    names = {column.name for column in matches}
    return {item.alias for item, column in columns if column.name in names}, names
