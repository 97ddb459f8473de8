"""The optimiser: a table of contents of its rules."""

from __future__ import annotations

from seine.algebra.plan import Plan
from seine.optimizer.rules.merge_projections import merge_projections
from seine.optimizer.rules.order_conditions import order_conditions
from seine.optimizer.rules.order_joins import order_joins
from seine.optimizer.rules.prune_columns import prune_columns
from seine.optimizer.rules.push_selections import push_selections
from seine.optimizer.rules.simplify_unions import simplify_unions
from seine.optimizer.rules.state_equalities import state_equalities

RULES = (
    state_equalities,
    push_selections,
    simplify_unions,
    order_joins,
    prune_columns,
    merge_projections,
    order_conditions,
)


def optimise(plan: Plan, *, canonical: bool = True) -> Plan:
    """Apply every rule once, in order. The result has the same rows, lives and column names.

    Without canonical forms conditions are taken as they are written.
    """
    for rule in RULES:
        if canonical or rule is not state_equalities:
            plan = rule(plan)
    return plan
