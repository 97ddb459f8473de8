"""Binds any query, among them UNION, EXCEPT and INTERSECT, to a Projection or a plan.

Sub-query conditions beneath OR, and EXISTS among the outputs, as UNION ALL of what is known of them.

    WHERE a > 1 OR EXISTS (S)     WHERE a > 1
                                  UNION ALL WHERE (a > 1) IS NOT TRUE AND EXISTS (S)
    SELECT k, EXISTS (S) AS e     SELECT k, TRUE AS e WHERE EXISTS (S)
                                  UNION ALL SELECT k, FALSE AS e WHERE NOT EXISTS (S)

Law: every row of FROM is in exactly one part, so bags are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from seine.algebra.expressions import Column
from seine.algebra.functions import TypeMismatch, common_type, resolve_cast
from seine.algebra.plan import Distinct, Plan, Project, SetKind, SetOperation, UnionAll
from seine.algebra.types import Type
from seine.frontends.sql.block_plan import Projection
from seine.frontends.sql.group_by import is_grouped
from seine.frontends.sql.ranked_select import is_ranked, limited
from seine.frontends.sql.scope import CommonTable, Context, key_of
from seine.frontends.sql.select import analyse_select, refuse_clauses
from seine.frontends.sql.sub_query_conditions import sub_query_condition

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
