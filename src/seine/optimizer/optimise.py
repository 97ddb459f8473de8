"""The optimiser: a table of contents of its rules."""

from __future__ import annotations

from collections.abc import Callable

from seine.algebra.plan import Aggregate, Distinct, Join, Plan, Project, Select, SetOperation, UnionAll, walk
from seine.optimizer.estimates import Estimates
from seine.optimizer.join_orders import order
from seine.optimizer.rules.drop_constant_keys import drop_constant_keys
from seine.optimizer.rules.drop_contradictions import drop_contradictions
from seine.optimizer.rules.drop_empty_branches import drop_empty_branches
from seine.optimizer.rules.merge_branches import merge_branches
from seine.optimizer.rules.merge_groups import merge_groups
from seine.optimizer.rules.merge_projections import merge_projections
from seine.optimizer.rules.order_joins import order_joins
from seine.optimizer.rules.prune_columns import prune_columns
from seine.optimizer.rules.push_selections import push_selections
from seine.optimizer.rules.restrict_subtrahends import restrict_subtrahends
from seine.optimizer.rules.simplify_unions import simplify_unions
from seine.optimizer.rules.state_distinct import state_distinct
from seine.optimizer.rules.state_equalities import state_equalities

RULES: tuple[Callable[[Plan], Plan], ...] = (
    drop_contradictions,
    state_distinct,
    state_equalities,
    push_selections,
    drop_empty_branches,
    merge_groups,
    drop_constant_keys,
    simplify_unions,
    merge_branches,
    restrict_subtrahends,
    order_joins,
    prune_columns,
    state_distinct,  # of groups whose functions nobody reads
    simplify_unions,
    merge_projections,
)
NEEDED_OPERATORS: dict[Callable[[Plan], Plan], frozenset[type[Plan]]] = {
    drop_contradictions: frozenset({Select, Join}),
    state_distinct: frozenset({Aggregate, Distinct}),
    state_equalities: frozenset({Select, Join}),
    push_selections: frozenset({Select, Join}),
    drop_empty_branches: frozenset({UnionAll}),
    merge_groups: frozenset({Aggregate}),
    drop_constant_keys: frozenset({Aggregate}),
    simplify_unions: frozenset({UnionAll, Distinct, SetOperation}),
    merge_branches: frozenset({UnionAll}),
    restrict_subtrahends: frozenset({SetOperation}),
    order_joins: frozenset({Join}),
    merge_projections: frozenset({Project}),
}  # a rule leaves a plan as it is that has none of these


def optimise(plan: Plan, *, estimates: Estimates | None = None, final: bool = False) -> Plan:
    """Apply every rule once, in order. The result has the same rows, lives and column names.

    With estimates of the data joins are ordered by what they cost. If only `final` rows are told, groups of
    groups stay: a row of the coarser ones begins when those that it is made of are final.
    """
    operators, seen = _operators(plan), plan
    for rule in RULES:
        if rule is merge_groups and final:
            continue
        if plan is not seen:
            operators, seen = _operators(plan), plan
        if operators.isdisjoint(NEEDED_OPERATORS.get(rule, operators)):
            continue
        if rule is order_joins and estimates is not None:
            plan = order_joins(plan, lambda block: order(block, estimates))
        else:
            plan = rule(plan)
    return plan


def _operators(plan: Plan) -> set[type[Plan]]:
    return {type(part) for part in walk(plan)}
