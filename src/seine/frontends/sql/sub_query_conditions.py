"""Conditions with sub-queries: EXISTS, NOT EXISTS, IN and NOT IN as semi and anti joins.

    WHERE EXISTS (SELECT 1 FROM t WHERE t.k = s.k)        s SEMI JOIN t ON t.k = s.k
    WHERE s.k IN (SELECT k FROM t)                        s SEMI JOIN t ON s.k = t.k
    WHERE s.k NOT IN (SELECT k FROM t)                    s ANTI JOIN t ON s.k = t.k, or this is NULL

As in Spark, x NOT IN (...) holds if x = y is false for every y: a NULL on either side keeps a row out, unless
there is no y at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from seine.algebra.expressions import Expression, Literal, conjuncts, shift_columns
from seine.algebra.functions import TypeMismatch, literal, resolve_call
from seine.algebra.plan import SetKind
from seine.frontends.sql.bind_expressions import ExpressionBinder
from seine.frontends.sql.block_plan import Projection
from seine.frontends.sql.from_clause import Analyse
from seine.frontends.sql.partner_joins import PartnerJoin, from_sub_query, is_correlated, uncorrelated
from seine.frontends.sql.scope import Context, FromBlock, NamedExpression
from seine.frontends.sql.window_pairs import pairs_apart


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
