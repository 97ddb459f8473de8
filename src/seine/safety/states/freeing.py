"""Whether the state of groups is freed, and which results end by a retraction that is emitted.

A group, or a row of DISTINCT, UNION or EXCEPT, goes when nothing is left in it; where nothing beneath ever
expires or is deleted, it goes when every stream beneath has punctuated its keys, or when its key is the time
of every stream beneath and has passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.plan import Aggregate, Distinct, Join, Lookup, Plan, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.algebra.search_plan import Search
from seine.safety.states.final_groups import freeing_of
from seine.safety.states.item_facts import Branch


def groups_go(branches: Sequence[Branch]) -> bool:
    """Whether what is held for each group of the rows of some blocks goes some day."""
    if all(branch.expires for branch in branches):
        return True
    return bool(freeing_of([branch.grouping for branch in branches]))


def emits_all_ends(plan: Plan) -> bool:
    """Whether every row ends by a retraction that is emitted, none silently by its window.

    So it is above aggregates, distincts and excepts, and where these are joined or united with tuples that
    never expire; such rows need no changelog node.
    """
    match plan:
        case Aggregate() | Distinct() | SetOperation() | Partitioned():
            return True
        case Search():
            return plan.is_changelog
        case Join(left, Lookup()):
            return emits_all_ends(left)
        case Join() | UnionAll():
            emitted = [*map(emits_all_ends, plan.inputs)]
            lasting = [*map(_never_expires, plan.inputs)]
            return any(emitted) and all(one or other for one, other in zip(emitted, lasting, strict=True))
    return bool(plan.inputs) and all(map(emits_all_ends, plan.inputs))


def _never_expires(plan: Plan) -> bool:
    return all(part.window is None for part in walk(plan) if isinstance(part, Scan))
