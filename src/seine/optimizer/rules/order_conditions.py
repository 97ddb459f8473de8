"""Give conditions one spelling, so that queries that say the same share a node."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import Call, Column, Expression, Literal, conjunction, conjuncts, rewrite
from seine.algebra.plan import Join, Plan, Select
from seine.optimizer.traverse import rebuild

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def order_conditions(plan: Plan) -> Plan:
    """Write constants to the right of a comparison, and each conjunct once, in a fixed order.

    before: Select(x, 7 < b AND a = 1 AND b > 7)
    after:  Select(x, a = 1 AND b > 7)
    """
    return rebuild(plan, _order)


def _order(plan: Plan) -> Plan:
    if isinstance(plan, Select | Join) and plan.predicate is not None:
        return replace(plan, predicate=order_conjuncts(plan.predicate))
    return plan


def order_conjuncts(predicate: Expression) -> Expression:
    """The conjunction of the same parts, oriented, sorted and without repeats."""
    parts = dict.fromkeys(orient(part) for part in conjuncts(predicate))
    ordered = conjunction(sorted(parts, key=str))
    assert ordered is not None
    return ordered


def orient(expression: Expression) -> Expression:
    """Turn every comparison so that columns stand on the left, constants on the right."""
    return rewrite(expression, _turn)


def _turn(expression: Expression) -> Expression:
    if not (isinstance(expression, Call) and expression.name in MIRRORED):
        return expression
    left, right = expression.args
    if _operand_rank(left) <= _operand_rank(right):
        return expression
    return Call(MIRRORED[expression.name], (right, left), expression.type)


def _operand_rank(expression: Expression) -> tuple[int, int, str]:
    """Columns come first, then computed values, constants last."""
    match expression:
        case Column(index, _):
            return (0, index, "")
        case Literal():
            return (2, 0, str(expression))
    return (1, 0, str(expression))
