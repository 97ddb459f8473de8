"""Limits of the size of a query after inlining of names and sub-queries.

A few lines of text can denote an exponentially large query: each sub-query may use the one before it
twice. A query that becomes too large or too deep is refused while it grows, before it is walked as a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from sqlglot import exp

from seine.algebra.expressions import Call, Expression
from seine.algebra.plan import Aggregate, Join, Plan, Project, Select
from seine.frontends.sql.block_plan import Projection
from seine.frontends.sql.scope import Context

MAX_EXPRESSION_NODES = 100_000  # in all expressions of one query
MAX_TABLES = 4_000  # streams and relations of one query, counted at each use
MAX_PLAN_NODES = 8 * MAX_TABLES
MAX_TOKENS = 2 * MAX_EXPRESSION_NODES  # of the text of one query; parsing a longer one would take seconds
MAX_EXPRESSION_DEPTH = 120  # levels of nested calls

Node = TypeVar("Node")


def refuse_large(query: Projection | Plan, beside: int, context: Context, node: exp.Expr) -> None:
    """Refuse a query, or a sub-query that is joined with `beside` others, that exceeds any limit."""
    plans = query.block.items if isinstance(query, Projection) else [query]
    nodes = _within(plans, lambda plan: plan.inputs, MAX_PLAN_NODES, MAX_PLAN_NODES)
    if nodes is None or beside + sum(not plan.inputs for plan in nodes) > MAX_TABLES:
        message = f"this query reads more than {MAX_TABLES} streams and relations"
        raise context.error(node, message, "split it; a WITH entry counts each time it is used")
    roots = [root for plan in nodes for root in _expressions(plan)]
    if isinstance(query, Projection):
        roots += [*query.block.conjuncts, *(output.value for output in query.outputs)]
    if _within(roots, _operands, MAX_EXPRESSION_NODES, MAX_EXPRESSION_DEPTH) is None:
        message = f"the expressions of this query are too large, or nested deeper than {MAX_EXPRESSION_DEPTH}"
        raise context.error(node, message, "split it; a column of a sub-query counts each time it is used")


def _within(
    roots: Iterable[Node], parts: Callable[[Node], Sequence[Node]], most: int, deepest: int
) -> list[Node] | None:
    """All nodes of some trees; None if they are too many or too deep."""
    nodes: list[Node] = []
    level = list(roots)
    for _ in range(deepest):
        nodes += level
        level = [part for one in level for part in parts(one)]
        if not level:
            return nodes
        if len(nodes) + len(level) > most:
            return None
    return None


def _operands(expression: Expression) -> Sequence[Expression]:
    return expression.args if isinstance(expression, Call) else ()


def _expressions(plan: Plan) -> Sequence[Expression]:
    match plan:
        case Select(_, predicate):
            return (predicate,)
        case Project(_, expressions):
            return expressions
        case Join(_, _, predicate):
            return () if predicate is None else (predicate,)
        case Aggregate(_, keys, calls):
            return (*keys, *(arg for call in calls for arg in call.args))
    return ()
