"""Binds queries: a SELECT's FROM block, condition and outputs; UNION, EXCEPT and INTERSECT of queries.

Clauses that are not supported are refused.

Sub-query conditions beneath OR, and EXISTS among the outputs, as UNION ALL of what is known of them.

    WHERE a > 1 OR EXISTS (S)     WHERE a > 1
                                  UNION ALL WHERE (a > 1) IS NOT TRUE AND EXISTS (S)
    SELECT k, EXISTS (S) AS e     SELECT k, TRUE AS e WHERE EXISTS (S)
                                  UNION ALL SELECT k, FALSE AS e WHERE NOT EXISTS (S)

Law: every row of FROM is in exactly one part, so bags are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from operator import add

from sqlglot import exp

from seine.algebra.expressions import Column, shift_columns
from seine.algebra.functions import TypeMismatch, common_type, is_aggregate, resolve_cast
from seine.algebra.plan import Distinct, Plan, Project, SetKind, SetOperation, UnionAll
from seine.algebra.types import Type
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import Projection, recorded_outputs
from seine.frontends.sql.from_clause import Analyse, implied_name, read_from
from seine.frontends.sql.from_tables import hopping_calls
from seine.frontends.sql.group_by import GroupedSelect, UngroupedHops, is_grouped, refuse_ungrouped_windows
from seine.frontends.sql.partner_joins import refuse_outer
from seine.frontends.sql.ranked_select import is_ranked, limited, ranked_select
from seine.frontends.sql.scope import (
    SCALARS,
    CommonTable,
    Context,
    FromBlock,
    FromItem,
    NamedExpression,
    columns_named,
    distinct_rows,
    is_exact,
    key_of,
    visible_item,
)
from seine.frontends.sql.sub_queries import (
    restrict,
    scalar_plan,
    scalars_in,
    sub_query_condition,
    with_values,
)
from seine.frontends.text.lexer import suggest

_SUPPORTED = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "hint"}
_KINDS = {
    exp.Except: (SetKind.EXCEPT, SetKind.EXCEPT_ALL),
    exp.Intersect: (SetKind.INTERSECT, SetKind.INTERSECT_ALL),
}


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


def analyse(node: exp.Expr, context: Context) -> Projection | Plan:
    """Bind any query: a SELECT, a set operation, or either in parentheses."""
    context = _with_common_tables(node, context)
    if isinstance(node, exp.Select):
        spread = spread_exists(node, context)
        return analyse_select(node, context, analyse) if spread is None else analyse(spread, context)
    if isinstance(node, exp.Subquery):
        refuse_clauses(node, context, {"this", "alias", "with_"})
        return analyse(node.this, context)
    if isinstance(node, exp.Union | exp.Except | exp.Intersect):
        refuse_clauses(node, context, {"this", "expression", "distinct", "with_", "order", "limit", "offset"})
        return limited(node, _set_operation(node, context.without_outer()), context)
    raise context.error(node, "a query is a SELECT", "write SELECT ... FROM ...")


def query_plan(node: exp.Expr, context: Context) -> Plan:
    """The plan of any query."""
    query = analyse(node, context)
    return query.plan() if isinstance(query, Projection) else query


def _with_common_tables(node: exp.Expr, context: Context) -> Context:
    """The context with the entries of WITH: each sees those before it and is inlined where it is used."""
    clause = node.args.get("with_")
    if clause is None:
        return context
    if clause.args.get("recursive"):
        raise context.error(clause, "WITH RECURSIVE is not supported")
    for entry in clause.expressions:
        columns = tuple(entry.args["alias"].args.get("columns") or ())
        table = CommonTable(entry.this, columns, context)
        context = context.with_common(key_of(entry.args["alias"].this), table)
    return context


def _set_operation(node: exp.SetOperation, context: Context) -> Plan:
    left, right = query_plan(node.this, context), query_plan(node.expression, context)
    name = type(node).__name__.upper()
    types = _common_types(left, right, node.expression, name, context)
    left, right = _widened(left, types), _widened(right, types)
    if not isinstance(node, exp.Union):
        kinds = _KINDS[type(node)]
        return SetOperation(left, right, kinds[0] if node.args.get("distinct") else kinds[1])
    branches = left.branches if isinstance(left, UnionAll) else (left,)
    union = UnionAll((*branches, right))
    return Distinct(union) if node.args.get("distinct") else union


def _common_types(left: Plan, right: Plan, at: exp.Expr, name: str, context: Context) -> tuple[Type, ...]:
    """The common type of each pair of columns, by position."""
    if len(left.schema) != len(right.schema):
        message = f"{name} of {len(left.schema)} and {len(right.schema)} columns"
        raise context.error(at, message, "both sides need the same number of columns")
    types = []
    for index, (a, b) in enumerate(zip(left.schema, right.schema, strict=True), 1):
        try:
            types.append(common_type([a.type, b.type]))
        except TypeMismatch as refusal:
            raise context.error(at, f"{name}, column {index}: {refusal.message}", refusal.hint) from None
    return tuple(types)


def _widened(plan: Plan, types: tuple[Type, ...]) -> Plan:
    """The plan with its columns cast to these types."""
    if tuple(field.type for field in plan.schema) == types:
        return plan
    columns = [Column(index, field.type) for index, field in enumerate(plan.schema)]
    casts = tuple(resolve_cast(column, type_) for column, type_ in zip(columns, types, strict=True))
    return Project(plan, casts, tuple(field.name for field in plan.schema))


_MOST_OUTPUTS = 3  # EXISTS among the outputs: each doubles the parts


def spread_exists(select: exp.Select, context: Context) -> exp.Expr | None:
    """The UNION ALL that a SELECT stands for; None without such a condition, or with groups or ranks."""
    plain = not is_grouped(select) and not is_ranked(select) and select.args.get("distinct") is None
    if not plain or context.outer is not None:
        return None
    outputs = [node for item in select.expressions for node in _own_nodes(item, select, exp.Exists)]
    if outputs:
        if len(outputs) > _MOST_OUTPUTS:
            message = f"a SELECT has at most {_MOST_OUTPUTS} EXISTS among its outputs"
            raise context.error(outputs[_MOST_OUTPUTS], message, "use a sub-query in FROM for the others")
        return _by_output(select, outputs[0])
    disjunction = _disjunction(select)
    return None if disjunction is None else _by_disjunct(select, *disjunction)


def _own_nodes(node: exp.Expr, select: exp.Select, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The nodes of a kind that belong to a SELECT itself, and not to a sub-query of it."""
    return [one for one in node.find_all(kind) if one.parent_select is select]


def _by_output(select: exp.Select, exists: exp.Expr) -> exp.Expr:
    """Rows for which it holds, with TRUE instead of it, then the others."""
    parts = []
    for holds in (True, False):
        part = _twin(select, [exists])
        (place,) = part.marks
        condition = place.copy()
        place.replace(exp.Boolean(this=holds))
        parts.append(_with_conjunct(part.select, condition if holds else exp.Not(this=condition)))
    return _union(*parts)


def _disjunction(select: exp.Select) -> tuple[exp.Expr, exp.Expr] | None:
    """A conjunct of WHERE that is an OR with one sub-query condition, and that condition."""
    where = select.args.get("where")
    for part in _conjuncts(where.this) if where is not None else ():
        operands = list(part.unnest().flatten()) if isinstance(part.unnest(), exp.Or) else []
        queries = [operand for operand in operands if sub_query_condition(operand) is not None]
        if len(queries) == 1:
            return part, queries[0]
    return None


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        inner = part.unnest()
        if isinstance(inner, exp.And):
            yield from _conjuncts(inner)
        else:
            yield part


def _by_disjunct(select: exp.Select, disjunction: exp.Expr, query: exp.Expr) -> exp.Expr:
    """Rows that satisfy the plain operands of an OR, then the others that satisfy the sub-query condition."""
    parts = []
    for is_plain in (True, False):
        part = _twin(select, [disjunction, query])
        whole, condition = part.marks
        others = [one for one in whole.unnest().flatten() if one is not condition]
        plain = exp.Paren(this=exp.or_(*others, copy=False))
        if is_plain:
            whole.replace(plain)
        else:
            not_true = exp.Not(this=exp.Is(this=plain, expression=exp.Boolean(this=True)))
            whole.replace(exp.and_(not_true, condition.copy(), copy=False))
        parts.append(part.select)
    return _union(*parts)


class _Twin:
    """A copy of a SELECT without its WITH, and the copies of some of its nodes."""

    def __init__(self, select: exp.Select, marks: list[exp.Expr]) -> None:
        self.select = select
        self.marks = marks


def _twin(select: exp.Select, nodes: list[exp.Expr]) -> _Twin:
    copied = select.copy()
    pairs = dict(zip((id(node) for node in select.walk()), copied.walk(), strict=True))
    marks = [pairs[id(node)] for node in nodes]
    copied.set("with_", None)  # the context has its tables already
    return _Twin(copied, marks)


def _with_conjunct(select: exp.Select, condition: exp.Expr) -> exp.Select:
    where = select.args.get("where")
    both = condition if where is None else exp.and_(where.this, condition, copy=False)
    select.set("where", exp.Where(this=both))
    return select


def _union(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Union(this=left, expression=right, distinct=False)
