"""Rule: write GROUP BY without functions as DISTINCT, and leave out DISTINCT of rows that are distinct."""

from __future__ import annotations

from seine.algebra.event_windows import needs_groups
from seine.algebra.expressions import Column
from seine.algebra.plan import Aggregate, Distinct, Plan, Project, SetOperation
from seine.optimizer.traverse import rebuild


def state_distinct(plan: Plan) -> Plan:
    """Write groups without functions as distinct rows; rows that are a set already stay as they are.

    before: Aggregate(x, keys [a, b], no calls)
    after:  Distinct(Project(x, [a, b]))
    before: Distinct(Aggregate(x, keys [a], calls [count]))
    after:  Aggregate(x, keys [a], calls [count])
    """
    return rebuild(plan, _stated)


def _stated(plan: Plan) -> Plan:
    match plan:
        case Aggregate(input, keys, (), names) if keys and not any(map(needs_groups, keys)):
            return Distinct(Project(input, keys, names))
        case Distinct(input) if _is_set(input):
            return input
    return plan


def _is_set(plan: Plan) -> bool:
    """Whether no two rows that live at one instant are equal, and none ends just to begin again.

    A row of groups begins anew when a function changes: only a plan that has all of them keeps its rows.
    """
    match plan:
        case Distinct() | Aggregate():
            return True
        case SetOperation(_, _, kind):
            return kind.is_set
        case Project(input, expressions):
            columns = {e.index for e in expressions if isinstance(e, Column)}
            return len(columns) == len(input.schema) and _is_set(input)
    return False
