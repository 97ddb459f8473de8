"""Rule: push selections down (predicate push-down)."""

from __future__ import annotations

from seine.algebra.event_windows import needs_groups
from seine.algebra.expressions import (
    Call,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
    substitute,
)
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Over, Rank, upper_bound
from seine.optimizer.traverse import stays_small, with_inputs


def push_selections(plan: Plan) -> Plan:
    """Split conjunctions, push each conjunct down as far as its columns allow, and merge those that meet.

    A conjunct is pushed through a projection by substitution, below a join to the side that has its
    columns, into every branch of a set operator, below a distinct, and below an aggregate with keys, or
    a rank with a partition, if it reads these alone. One that reads a relation alone stays at the lookup
    join.

    before: Select(Join(a, b), a.x > 1 AND b.y > 2 AND a.k = b.k)
    after:  Join(Select(a, x > 1), Select(b, y > 2), a.k = b.k)
    """
    return _push(plan, [])


def _push(plan: Plan, parts: list[Expression]) -> Plan:
    match plan:
        case Select(input, predicate):
            return _push(input, conjuncts(predicate) + parts)
        case Project():
            return _push_through_project(plan, parts)
        case Join():
            return _push_below_join(plan, parts)
        case Aggregate():
            return _push_below_aggregate(plan, parts)
        case Rank():
            return _push_below_rank(plan, parts)
        case PartnerLookup(input):
            width = len(input.schema)
            sinking = [part for part in parts if all(index < width for index in columns_of(part))]
            below = with_inputs(plan, (_push(input, sinking),))
            return _select(below, [part for part in parts if part not in sinking])
        case Over():
            sinking = [part for part in parts if columns_of(part) and columns_of(part) <= {*plan.partition}]
            staying = [part for part in parts if part not in sinking]
            return _select(with_inputs(plan, (_push(plan.input, sinking),)), staying)
        case UnionAll() | Distinct() | SetOperation():
            return with_inputs(plan, tuple(_push(child, parts) for child in plan.inputs))
    return _select(plan, parts)


def _select(plan: Plan, parts: list[Expression]) -> Plan:
    predicate = conjunction(parts)
    return plan if predicate is None else Select(plan, predicate)


def _push_through_project(plan: Project, parts: list[Expression]) -> Plan:
    sinking: list[Expression] = []
    staying: list[Expression] = []
    for part in parts:
        (sinking if stays_small([part], plan.expressions) else staying).append(part)
    below = _push(plan.input, [substitute(part, plan.expressions) for part in sinking])
    return _select(Project(below, plan.expressions, plan.names), staying)


def _push_below_join(plan: Join, parts: list[Expression]) -> Plan:
    width = len(plan.left.schema)
    left, right, here = [], [], []
    for part in conjuncts(plan.predicate) + parts:
        columns = columns_of(part)
        if all(index < width for index in columns) and not isinstance(plan.left, Lookup):
            left.append(part)
        elif columns and all(index >= width for index in columns) and not isinstance(plan.right, Lookup):
            right.append(shift_columns(part, lambda index: index - width))
        else:
            here.append(part)
    return Join(_push(plan.left, left), _push(plan.right, right), conjunction(here))


def _push_below_aggregate(plan: Aggregate, parts: list[Expression]) -> Plan:
    # Without keys there is a row even over no tuples: a selection must stay above it.
    # A row is in several groups of a hopping window: which of them are wanted is not decided by row.
    fixed = {place for place, key in enumerate(plan.keys) if not needs_groups(key)}
    sinking = [p for p in parts if fixed and columns_of(p) <= fixed and stays_small([p], plan.keys)]
    staying = [part for part in parts if part not in sinking]
    below = _push(plan.input, [substitute(part, plan.keys) for part in sinking])
    return _select(with_inputs(plan, (below,)), staying)


def _push_below_rank(plan: Rank, parts: list[Expression]) -> Plan:
    """A bound of the number that the rank keeps by itself is said already."""
    sinking = [part for part in parts if columns_of(part) and columns_of(part) <= {*plan.partition}]
    number = len(plan.input.schema)
    staying = [
        part
        for part in parts
        if part not in sinking and not (plan.most is not None and _is_bound(part, number, plan.most))
    ]
    return _select(with_inputs(plan, (_push(plan.input, sinking),)), staying)


def _is_bound(part: Expression, number: int, most: int) -> bool:
    """Whether a condition says no more than that a number, which is at least 1, is at most so many."""
    if upper_bound(part, number) != most or not isinstance(part, Call):
        return False
    return part.name in ("le", "lt", "ge", "gt") or (part.name == "eq" and most == 1)
