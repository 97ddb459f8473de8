"""The safety check of a plan, by stream: whether every state with its tuples is freed some day.

The streams of a plan whose tuples some operator keeps in state.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from seine.algebra.document_plan import DocumentJoin, DocumentQuery
from seine.algebra.plan import Aggregate, Distinct, Join, Plan, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.algebra.search_plan import Search
from seine.optimizer.closing_groups import with_all_closing_times
from seine.safety.states.item_facts import Sources
from seine.safety.states.operator_states import State, document_states, result_state, states_of


def judge(plan: Plan) -> dict[str, bool]:
    """For each stream alias that the plan keeps, whether every state with its tuples is freed some day."""
    return _judged(plan)[0]


def notes(plan: Plan) -> list[str]:
    """Why punctuations do not free some of what is held, where that is the reason."""
    return _judged(plan)[1]


def _judged(plan: Plan) -> tuple[dict[str, bool], list[str]]:
    kept = kept_scans(plan)
    reasons: dict[str, None] = {}
    freed = {scan.alias: True for scan in kept}
    if all(scan.window is not None for scan in kept):
        return freed, []  # most queries: whatever is made of tuples that expire expires
    if isinstance(plan, Search):  # a punctuation says nothing of the words or edges of later tuples
        return {scan.alias: scan.stream.window is not None for scan in kept}, []
    for state in _states(plan):
        for alias in () if state.freed else state.aliases:
            freed[alias] = False
            reasons |= {state.note: None} if state.note else {}
    return freed, list(reasons)


def _states(plan: Plan) -> Iterator[State]:
    if isinstance(plan, DocumentQuery):
        return document_states(plan)
    sources, plan = Sources(), with_all_closing_times(plan)
    return chain(result_state(plan, sources), states_of(plan, sources))


_KEEPING = (Aggregate, Distinct, UnionAll, SetOperation, Partitioned, DocumentJoin)


def scans(plan: Plan) -> Iterator[Scan]:
    return (node for node in walk(plan) if isinstance(node, Scan))


def kept_scans(plan: Plan) -> list[Scan]:
    """The scans whose tuples are held, in the order of FROM.

    A join holds what is beneath it when both of its sides have streams (a relation is looked
    up); aggregates, DISTINCT and set operators hold what is beneath them, and so does a search for trees
    of more than one tuple; tuples of a RETRACTABLE stream are held wherever they go, for a negative tuple
    may name them.
    """
    return list(_kept(plan))


def _kept(plan: Plan) -> Iterator[Scan]:
    ahead = [(plan, False)]
    while ahead:
        plan, held = ahead.pop()
        if isinstance(plan, Scan) and (held or plan.stream.retractable):
            yield plan
        held = held or isinstance(plan, _KEEPING) or _joins_streams(plan) or _searches_trees(plan)
        ahead += [(child, held) for child in reversed(plan.inputs)]


def _joins_streams(plan: Plan) -> bool:
    return isinstance(plan, Join) and all(any(scans(side)) for side in plan.inputs)


def _searches_trees(plan: Plan) -> bool:
    """Whether a search keeps tuples: for trees, or because the best of them change as tuples expire.

    The best of a period are few, and are forgotten when it has passed.
    """
    if not isinstance(plan, Search):
        return False
    return not plan.of_single_tuples or plan.is_changelog
