"""Binds any query, among them UNION, EXCEPT and INTERSECT, to a Projection or a plan."""

from __future__ import annotations

from sqlglot import exp

from seine.algebra.expressions import Column
from seine.algebra.functions import TypeMismatch, common_type, resolve_cast
from seine.algebra.plan import Distinct, Plan, Project, SetKind, SetOperation, UnionAll
from seine.algebra.types import Type
from seine.frontends.sql.block_plan import Projection
from seine.frontends.sql.context import CommonTable, Context
from seine.frontends.sql.ranked_select import limited
from seine.frontends.sql.scope import key_of
from seine.frontends.sql.select import analyse_select, refuse_clauses
from seine.frontends.sql.spread_exists import spread_exists

_KINDS = {
    exp.Except: (SetKind.EXCEPT, SetKind.EXCEPT_ALL),
    exp.Intersect: (SetKind.INTERSECT, SetKind.INTERSECT_ALL),
}


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
