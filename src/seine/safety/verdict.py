"""The verdict on a query: bounded, or which streams nothing can purge and the cure.

Cites: SAFETY 2.2 (Def 3), SAFETY 2.4 (Def 5), SAFETY 4.1 (Thm 2), SAFETY 4.2 (Thm 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Plan, Query
from seine.algebra.search_plan import Search
from seine.errors import ScriptError, SeineError
from seine.frontends.script.script import Script
from seine.safety.cures.cures import cures, would_last
from seine.safety.cures.search_cures import search_cures
from seine.safety.states.check_plan import judge, notes
from seine.safety.states.document_states import document_cure
from seine.safety.states.stateful_streams import kept_scans


@dataclass(frozen=True)
class Verdict:
    """`purgeable` has each stream alias that the query keeps; `accepted` counts the user's wish."""

    query: str
    safe: bool
    accepted: bool
    purgeable: dict[str, bool]
    reason: str
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "safe": self.safe,
            "purgeable": self.purgeable,
            "reason": self.reason,
            "hint": self.hint,
        }


def verdict(query: Query) -> Verdict:
    """Judge a query: it is safe if everything it keeps of its streams is freed some day.

    `safe` says what is so; WITH (unbounded = true) does not change it, but makes the query
    accepted.
    """
    try:
        purgeable = judge(query.plan)
    except RecursionError:
        raise SeineError(f"query {query.name!r} is nested too deeply", hint="split it") from None
    lasting = [alias for alias, bounded in purgeable.items() if not bounded]
    if not lasting:
        return Verdict(query.name, True, True, purgeable, _safe_reason(query.plan))
    by_wish = query.option("unbounded") is True
    reason = f"query {query.name} could grow without bound: nothing purges {', '.join(lasting)}"
    reason += "".join(f"; {note}" for note in notes(query.plan))
    if not isinstance(query.plan, Search) and would_last(query.plan, lasting):
        reason += "; a punctuation with a LIFESPAN does not last"
    if by_wish:
        return Verdict(query.name, False, True, purgeable, f"{reason} (accepted: unbounded = true)")
    return Verdict(query.name, False, False, purgeable, reason, _cure(query.plan, lasting))


def _safe_reason(plan: Plan) -> str:
    kept = kept_scans(plan)
    if not kept:
        return "it keeps no tuples"
    if all(scan.stream.window is not None for scan in kept):
        return "windows bound all that it keeps"
    if isinstance(plan, DocumentQuery):
        return "times of joins, windows and watermarks free all that it keeps"
    return "windows, punctuations and watermarks free all that it keeps"


def _cure(plan: Plan, lasting: Sequence[str]) -> str:
    """The additions that were found, in one line."""
    if isinstance(plan, DocumentQuery):
        ways = [document_cure(plan)]
    elif isinstance(plan, Search):
        ways = search_cures(plan, lasting)
    else:
        additions = [" and ".join(map(str, cure)) for cure in cures(plan)]
        ways = [f"declare {', or '.join(additions)}"]
    return "; or ".join([*ways, "say WITH (unbounded = true)"])


def refuse_unsafe(script: Script) -> None:
    """Raise a ScriptError at the first query of a script that is not accepted."""
    for query, position in script.queries:
        judged = verdict(query)
        if not judged.accepted:
            raise ScriptError(judged.reason, hint=judged.hint, where=position)
