"""The safety check of a plan, by stream: whether every state with its tuples is freed some day."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Plan
from seine.algebra.search_plan import Search
from seine.optimizer.closing_groups import with_all_closing_times
from seine.safety.states.document_states import document_states
from seine.safety.states.item_facts import Sources
from seine.safety.states.operator_states import State, result_state, states_of
from seine.safety.states.stateful_streams import kept_scans


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
