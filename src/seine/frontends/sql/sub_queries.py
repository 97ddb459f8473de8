"""Conditions with sub-queries: EXISTS, NOT EXISTS, IN and NOT IN as semi and anti joins.

    WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k)        s SEMI JOIN t ON t.k = s.k
    WHERE s.k IN (SELECT k FROM t)                        s SEMI JOIN t ON s.k = t.k
    WHERE s.k NOT IN (SELECT k FROM t)                    s ANTI JOIN t ON s.k = t.k, or this is NULL

As in Spark, x NOT IN (...) holds if x = y is false for every y: a NULL on either side keeps a row out, unless
there is no y at all.

Sub-queries that are values: aggregates, as joins with the one row, or the row of a group, that they give.

WHERE x > (SELECT AVG(x) FROM t)                   joined with AVG(x) of t, which always has a row
SELECT (SELECT COUNT(*) FROM t WHERE t.k = s.k)    LEFT JOIN of the groups of t by k; where there is none
                                                   a COUNT is 0, and any other aggregate NULL
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, Literal, conjuncts, shift_columns, substitute
from seine.algebra.functions import TypeMismatch, literal, resolve_call
from seine.algebra.plan import Aggregate, AggregateCall, SetKind
from seine.frontends.sql.bind_expressions import AggregateCalls, ExpressionBinder
from seine.frontends.sql.block_plan import Projection, block_plan
from seine.frontends.sql.dialect import SeineSql
from seine.frontends.sql.from_clause import Analyse, read_from
from seine.frontends.sql.group_by import is_grouped
from seine.frontends.sql.partner_joins import (
    PartnerJoin,
    from_sub_query,
    is_correlated,
    refuse_outer,
    uncorrelated,
)
from seine.frontends.sql.scope import OUTER, Context, FromBlock, NamedExpression, pairs_apart

_SUPPORTED = {"expressions", "from_", "joins", "where"}
_COUNTS = ("count", "count_all", "count_if", "approx_count_distinct")


@dataclass(frozen=True)
class SubQueryCondition:
    """EXISTS or IN with a sub-query, or the opposite; of IN there are `operands` to the left of it."""

    query: exp.Expr
    operands: tuple[exp.Expr, ...]
    negated: bool


def conditions_apart(where: exp.Expr) -> tuple[list[exp.Expr], list[SubQueryCondition]]:
    """The conjuncts of a condition, and apart from them those that are sub-query conditions."""
    plain, with_queries = [], []
    for part in where.flatten() if isinstance(where, exp.And) else [where]:
        condition = sub_query_condition(part)
        if condition is not None:
            with_queries.append(condition)
        elif isinstance(part.unnest(), exp.And):
            more, others = conditions_apart(part.unnest())
            plain += more
            with_queries += others
        else:
            plain.append(part)
    return plain, with_queries


def sub_query_condition(node: exp.Expr, negated: bool = False) -> SubQueryCondition | None:
    """The condition that a node is; None if it is none of these."""
    node = node.unnest()
    if isinstance(node, exp.Not):
        return sub_query_condition(node.this, not negated)
    if isinstance(node, exp.Exists):
        return SubQueryCondition(node.this, (), negated)
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        left = node.this.unnest()
        operands = left.expressions if isinstance(left, exp.Tuple) else [left]
        return SubQueryCondition(node.args["query"], tuple(operands), negated)
    return None


def apply_condition(
    condition: SubQueryCondition, block: FromBlock, context: Context, analyse: Analyse
) -> None:
    """Leave of a block the rows for which a sub-query condition holds."""
    binder = ExpressionBinder(context, block, "WHERE")
    operands = [binder.bind(operand) for operand in condition.operands]
    right, outputs = _bound_query(condition, replace(context, outer=block, where=None), analyse)
    if operands and len(operands) != len(outputs):
        message = f"IN compares {len(operands)} values with {len(outputs)} columns"
        raise context.error(condition.query, message, "a sub-query has a column for each value")
    parts = [part for one in right.conjuncts for part in conjuncts(one)]
    width = block.width
    correlated = [from_sub_query(part, width) for part in parts if is_correlated(part)]
    values = [from_sub_query(output.value, width) for output in outputs]
    try:
        equalities = [resolve_call("eq", [x, y]) for x, y in zip(operands, values, strict=False)]
    except TypeMismatch as refusal:
        raise context.error(condition.query, refusal.message, refusal.hint) from None
    alternatives = [[*equalities]]
    if condition.negated and operands:
        alternatives = [*_not_false(operands, values, equalities, block, right)]
    joined = [[*correlated, *one] for one in alternatives]
    kind = SetKind.ANTI if condition.negated else SetKind.SEMI
    PartnerJoin(block, uncorrelated(right), joined, condition.query, context).with_partner(kind)


def _bound_query(
    condition: SubQueryCondition, context: Context, analyse: Analyse
) -> tuple[FromBlock, list[NamedExpression]]:
    """The block of a sub-query, and its outputs over the row of that block."""
    node = condition.query.unnest()
    if isinstance(node, exp.Select) and node.args.get("distinct") is not None:
        node = node.copy()  # which rows there are matters, not how often
        node.set("distinct", None)
    source = analyse(node, context)
    if isinstance(source, Projection):
        return source.block, source.outputs
    block = FromBlock()
    return block, block.add_item(pairs_apart(source)[0])


def _not_false(
    operands: Sequence[Expression],
    values: Sequence[Expression],
    equalities: Sequence[Expression],
    block: FromBlock,
    right: FromBlock,
) -> Iterator[list[Expression]]:
    """The ways in which a comparison is true or NULL.

    A single equality is apart from what is NULL, so that it is a join by key.
    """
    if len(equalities) > 1:
        whole = resolve_call("and", [*equalities])
        yield [resolve_call("coalesce", [whole, literal(True)])]
        return
    yield [*equalities]
    for value, side, first in ((operands[0], block, 0), (values[0], right, block.width)):
        if not _is_never_null(value, side, first):
            yield [resolve_call("is_null", [value])]


def _is_never_null(value: Expression, block: FromBlock, first: int) -> bool:
    """Whether a value is a constant, or the time of a stream."""
    if isinstance(value, Literal):
        return value.value is not None
    return block.is_time(shift_columns(value, lambda index: index - first))


def restrict(select: exp.Select, block: FromBlock, context: Context, analyse: Analyse) -> None:
    """Restrict the block of a SELECT by its WHERE; conditions with sub-queries are joins."""
    where = select.args.get("where")
    if where is None:
        return
    if context.where is not None:
        block.conjuncts.append(context.where(where.this, block))
        return
    plain, with_queries = conditions_apart(where.this)
    context = with_values(plain, select, block, context, analyse)
    binder = ExpressionBinder(context, block, "WHERE")
    parts = plain if with_queries else [where.this]
    block.conjuncts += [binder.condition(part, "WHERE") for part in parts]
    for condition in with_queries:
        apply_condition(condition, block, context, analyse)


def scalars_in(nodes: Iterable[exp.Expr], select: exp.Select) -> list[exp.Subquery]:
    """The sub-queries in expressions of a SELECT that stand for a value, but not those within them."""
    queries = (query for node in nodes for query in node.find_all(exp.Subquery))
    return [
        query for query in queries if query.parent_select is select and not isinstance(query.parent, exp.In)
    ]


def with_values(
    nodes: Iterable[exp.Expr], select: exp.Select, block: FromBlock, context: Context, analyse: Analyse
) -> Context:
    """A context in which the scalar sub-queries of some expressions have values; their rows are joined."""
    values: dict[int, Expression] = {}
    for queries in _of_the_same_rows(scalars_in(nodes, select)):
        joined = joined_values(queries, block, context, analyse)
        values |= {id(query): value for query, value in zip(queries, joined, strict=True)}
    return context if not values else replace(context, values={**context.values, **values})


def _of_the_same_rows(queries: Iterable[exp.Subquery]) -> list[list[exp.Subquery]]:
    """Sub-queries that differ in what they select alone: one aggregate has the values of them all."""
    alike: dict[str, list[exp.Subquery]] = {}
    for query in queries:
        twin = query.unnest().copy()
        twin.set("expressions", [exp.Star()])
        alike.setdefault(twin.sql(dialect=SeineSql), []).append(query)
    return [*alike.values()]


def scalar_plan(node: exp.Subquery, context: Context, analyse: Analyse) -> tuple[Aggregate, Expression]:
    """The aggregate of a sub-query that reads nothing around it, and its value over the row of that."""
    bound = _bound([node], context.without_outer(), analyse)
    (value,) = bound.values(0, False)
    return bound.plan((), context), value


@dataclass(frozen=True)
class _BoundAggregate:
    """Sub-queries that are aggregates of a block: their outputs over the virtual columns of its calls.

    `compared` are the equalities with the query around it, as expressions inside and outside.
    """

    node: exp.Subquery
    block: FromBlock
    outputs: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...]
    compared: tuple[tuple[Expression, Expression], ...]

    def plan(self, keys: tuple[Expression, ...], context: Context) -> Aggregate:
        names = [f"key{i}" for i in range(len(keys))] + [f"agg{i}" for i in range(len(self.calls))]
        return Aggregate(block_plan(self.block, self.node, context), keys, self.calls, tuple(names))

    def values(self, first: int, may_be_missing: bool) -> list[Expression]:
        """The outputs, if the results of the calls are columns from `first` on."""
        results: list[Expression] = [Column(first + i, call.type) for i, call in enumerate(self.calls)]
        if may_be_missing:
            results = [
                resolve_call("coalesce", [result, literal(0)]) if call.function in _COUNTS else result
                for result, call in zip(results, self.calls, strict=True)
            ]
        moved = [shift_columns(one, lambda index: index - self.block.width) for one in self.outputs]
        return [substitute(output, results) for output in moved]


def joined_values(
    nodes: Sequence[exp.Subquery], block: FromBlock, context: Context, analyse: Analyse
) -> list[Expression]:
    """Join the row of sub-queries of the same rows to a block; their values over the row of the block."""
    bound = _bound(nodes, replace(context, outer=block, where=None), analyse)
    if not bound.compared:
        first = block.width
        block.add_item(bound.plan((), context))
        block.owners.append(None)
        return bound.values(first, False)
    width, right = block.width, FromBlock()
    right.add_item(bound.plan(tuple(inside for inside, _ in bound.compared), context))
    right.owners.append(None)
    conditions = [
        resolve_call(
            "eq", [shift_columns(outside, lambda index: index - OUTER), Column(width + i, inside.type)]
        )
        for i, (inside, outside) in enumerate(bound.compared)
    ]
    PartnerJoin(block, right, [conditions], nodes[0], context).outer(True, False)
    return bound.values(width + len(bound.compared), True)


def _aggregate_of(node: exp.Subquery, context: Context) -> exp.Select:
    """The SELECT of a sub-query that has one row of one aggregate."""
    select = node.unnest()
    if not isinstance(select, exp.Select) or not is_grouped(select) or len(select.expressions) != 1:
        hint = "select one aggregate, such as MAX(x), without GROUP BY"
        raise context.error(node, "a sub-query that is a value has one row", hint)
    extra = [key for key, value in select.args.items() if value and key not in _SUPPORTED]
    if extra:
        hint = "select one aggregate, without GROUP BY; compare columns in its WHERE"
        raise context.error(node, f"{extra[0].strip('_').upper()} is not supported in this sub-query", hint)
    return select


def _bound(nodes: Sequence[exp.Subquery], context: Context, analyse: Analyse) -> _BoundAggregate:
    node, selects = nodes[0], [_aggregate_of(one, context) for one in nodes]
    select = selects[0]
    block = read_from(select, context, analyse)
    restrict(select, block, context, analyse)
    parts = [part for condition in block.conjuncts for part in conjuncts(condition)]
    block.conjuncts[:] = [part for part in parts if not is_correlated(part)]
    compared = tuple(_compared(part, node, context) for part in parts if is_correlated(part))
    calls = AggregateCalls(block.width)
    for one in selects:
        context = with_values(one.expressions, one, block, context, analyse)
    binder = ExpressionBinder(context, block, "SELECT", calls)
    outputs = tuple(binder.bind(one.expressions[0].unalias()) for one in selects)
    refuse_outer([*outputs, *(arg for call in calls.calls for arg in call.args)], node, context)
    if any(index < block.width for output in outputs for index in output.columns):
        raise context.error(node, "a sub-query that is a value has one row", "aggregate its columns")
    return _BoundAggregate(node, block, outputs, tuple(calls.calls), compared)


def _compared(part: Expression, node: exp.Subquery, context: Context) -> tuple[Expression, Expression]:
    """The two sides of an equality with the query around, the inner one first."""
    if isinstance(part, Call) and part.name == "eq":
        for inside, outside in (part.args, part.args[::-1]):
            if not is_correlated(inside) and outside.columns and min(outside.columns) >= OUTER:
                return inside, outside
    hint = "compare by =, or join the streams and group the pairs"
    raise context.error(node, "a sub-query that is a value compares with the query around by =", hint)
