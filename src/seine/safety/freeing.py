"""What frees rows that are grouped and rows that are told: the rules by which it is done when a query runs.

A group, or a row of DISTINCT, UNION or EXCEPT, goes when nothing is left in it; where nothing beneath ever
expires or is deleted, it goes when every stream beneath has promised its keys, or when its key is the time
of every stream beneath and has passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.plan import Aggregate, Distinct, Except, Join, Lookup, Plan
from seine.safety.final_groups import freeing_of
from seine.safety.item_facts import Branch


def groups_go(branches: Sequence[Branch]) -> bool:
    """Whether what is held for each group of the rows of some blocks goes some day."""
    if all(branch.expires for branch in branches):
        return True
    return bool(freeing_of([branch.grouping for branch in branches]))


def ends_are_told(plan: Plan) -> bool:
    """Whether every row ends by an early end that is told, none silently by its window.

    So it is above aggregates, distincts and excepts; such rows need no changelog node.
    """
    match plan:
        case Aggregate() | Distinct() | Except():
            return True
        case Join(left, Lookup()):
            return ends_are_told(left)
    return bool(plan.inputs) and all(map(ends_are_told, plan.inputs))
