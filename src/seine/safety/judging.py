"""Which streams of a plan are freed of all that the query keeps of them."""

from __future__ import annotations

from seine.algebra.plan import Plan
from seine.safety.sources import Sources
from seine.safety.state import kept_scans
from seine.safety.states import result_state, states_of


def judge(plan: Plan, sources: Sources | None = None) -> dict[str, bool]:
    """For each stream alias that the plan keeps, whether every state with its tuples is freed some day."""
    sources = sources or Sources()
    freed = {scan.alias: True for scan in kept_scans(plan)}
    for state in (*result_state(plan, sources), *states_of(plan, sources)):
        for alias in () if state.freed else state.aliases:
            freed[alias] = False
    return freed
