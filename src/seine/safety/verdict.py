"""The verdict on a query: bounded, or which streams nothing can purge and the cure.

Cites: SAFETY 2.2 (Def 3), SAFETY 2.4 (Def 5), SAFETY 4.1 (Thm 2), SAFETY 4.2 (Thm 4)

Parses statements on top of existing declarations, and refuses unsafe queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Plan, Query
from seine.algebra.search_plan import Search
from seine.errors import ScriptError, SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script
from seine.optimizer.known_empty import is_known_empty
from seine.safety.held_punctuations import BOUNDED, HeldScheme, growth_words, held_schemes
from seine.safety.states.check_plan import judge, kept_scans, notes
from seine.safety.states.operator_states import document_cure

if TYPE_CHECKING:
    from seine.safety.cures.cures import Cure

NEVER_REPORTS = "it can never report anything: its conditions contradict one another"


@dataclass(frozen=True)
class Verdict:
    """`purgeable` has each stream alias that the query keeps; `accepted` counts the user's wish.

    `safe` is about tuples. Punctuations are held too, and may grow without end where nothing punctuates
    them away: `punctuations` says so of each scheme that a safe query listens to.
    """

    query: str
    safe: bool
    accepted: bool
    purgeable: dict[str, bool]
    reason: str
    hint: str | None = None
    punctuations: dict[str, bool] = field(default_factory=dict)  # by scheme: whether those held are bounded

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "safe": self.safe,
            "purgeable": self.purgeable,
            "reason": self.reason,
            "hint": self.hint,
            "punctuations": self.punctuations,
        }


def verdict(query: Query) -> Verdict:
    """Judge a query: it is safe if everything it keeps of its streams is freed some day.

    `safe` says what is so; WITH (unbounded = true) does not change it, but makes the query
    accepted.
    """
    try:
        if is_known_empty(query.plan):
            kept = {scan.alias: True for scan in kept_scans(query.plan)}
            return Verdict(query.name, True, True, kept, NEVER_REPORTS)
        judged = _of_tuples(query, judge(query.plan))
        held = held_schemes(query.plan) if judged.safe else []
    except RecursionError:
        raise SeineError(f"query {query.name!r} is nested too deeply", hint="split it") from None
    judged = replace(judged, punctuations={scheme.name: scheme.is_bounded for scheme in held})
    growing = [scheme for scheme in held if not scheme.is_bounded]
    if not growing:
        return judged
    reason = f"{judged.reason}; but punctuations of {', '.join(s.name for s in growing)} grow without end"
    if query.option("punctuations") != BOUNDED:
        return replace(judged, reason=reason)
    reason = f"query {query.name} could grow without bound: {growth_words(growing)}"
    if query.option("unbounded") is True:
        return replace(judged, safe=False, reason=f"{reason} (accepted: unbounded = true)")
    return replace(judged, safe=False, accepted=False, reason=reason, hint=_punctuation_cure(growing))


def _of_tuples(query: Query, purgeable: dict[str, bool]) -> Verdict:
    """The verdict that counts tuples alone."""
    lasting = [alias for alias, bounded in purgeable.items() if not bounded]
    if not lasting:
        return Verdict(query.name, True, True, purgeable, _safe_reason(query.plan))
    by_wish = query.option("unbounded") is True
    reason = f"query {query.name} could grow without bound: nothing purges {', '.join(lasting)}"
    reason += "".join(f"; {note}" for note in notes(query.plan))
    from seine.safety.cures.cures import would_last  # what is bounded needs no cure

    if not isinstance(query.plan, Search) and would_last(query.plan, lasting):
        reason += "; a punctuation with a LIFESPAN does not last"
    if by_wish:
        return Verdict(query.name, False, True, purgeable, f"{reason} (accepted: unbounded = true)")
    return Verdict(query.name, False, False, purgeable, reason, _cure(query.plan, lasting))


def _punctuation_cure(growing: Sequence[HeldScheme]) -> str:
    additions = dict.fromkeys(scheme.cure for scheme in growing)
    return f"declare {' and '.join(additions)}; or leave out punctuations = 'bounded'"


def _safe_reason(plan: Plan) -> str:
    kept = kept_scans(plan)
    if not kept:
        return "it keeps no tuples"
    if all(scan.window is not None for scan in kept):
        return "windows bound all that it keeps"
    if isinstance(plan, DocumentQuery):
        return "times of joins, windows and watermarks free all that it keeps"
    return "windows, punctuations and watermarks free all that it keeps"


def _cure(plan: Plan, lasting: Sequence[str]) -> str:
    """The additions that were found, in one line."""
    from seine.safety.cures.cures import cures, reusing_cures
    from seine.safety.cures.time_cures import search_cures, time_cures

    if isinstance(plan, DocumentQuery):
        ways = [document_cure(plan)]
    elif isinstance(plan, Search):
        ways = search_cures(plan, lasting)
    else:
        lasting_cures = cures(plan)
        additions = map(_words_of, [*lasting_cures, *reusing_cures(plan, lasting_cures)])
        ways = [f"declare {', or '.join(additions)}", *time_cures(plan)]
    return "; or ".join([*ways, "say WITH (unbounded = true)"])


def _words_of(cure: Cure) -> str:
    """Additions in words; a window is one that changes the answer."""
    words = " and ".join(map(str, cure))
    if any(addition.reuses is not None for addition in cure):
        return f"{words} (values that come again join no older tuples)"
    return words if all(addition.columns for addition in cure) else f"{words} (older tuples no longer count)"


def refuse_unsafe(script: Script) -> None:
    """Raise a ScriptError at the first query of a script that is not accepted."""
    for query, position in script.queries:
        judged = verdict(query)
        if not judged.accepted:
            raise ScriptError(judged.reason, hint=judged.hint, where=position)


def read_statements(
    text: str,
    file: str,
    folder: str,
    known: Declarations,
    *,
    replace: bool = False,
    pushed: str | None = None,
    within: tuple[str, ...] | None = None,
) -> Script:
    """Add statements to what is known already; refuses what is wrong or unsafe in them."""
    script = parse_script(
        text, file=file, folder=folder, known=known, replace=replace, pushed=pushed, within=within
    )
    refuse_unsafe(script)
    return script
