"""The verdict on a query: bounded, or which streams nothing can purge and the cure.

Differs: SAFETY also lets punctuations purge; here a window is the one promise that counts.

Cites: SAFETY 2.2 (safety of a query)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seine.algebra.plan import Query
from seine.errors import ScriptError
from seine.frontends.script.script import Script
from seine.safety.state import kept_scans


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
    """Judge a query: it is safe if every stream it keeps has a window.

    `safe` says what is so; WITH (unbounded = true) does not change it, but makes the query
    accepted.
    """
    purgeable: dict[str, bool] = {}
    for scan in kept_scans(query.plan):
        bounded = scan.stream.window is not None
        purgeable[scan.alias] = purgeable.get(scan.alias, True) and bounded
    lasting = [alias for alias, bounded in purgeable.items() if not bounded]
    if not lasting:
        reason = "windows bound all that it keeps" if purgeable else "it keeps no tuples"
        return Verdict(query.name, True, True, purgeable, reason)
    by_wish = query.option("unbounded") is True
    reason = f"query {query.name} could grow without bound: nothing purges {', '.join(lasting)}"
    if by_wish:
        return Verdict(query.name, False, True, purgeable, f"{reason} (accepted: unbounded = true)")
    return Verdict(query.name, False, False, purgeable, reason, _cure(lasting))


def _cure(lasting: list[str]) -> str:
    them = "it" if len(lasting) == 1 else "them"
    return f"give {them} a WINDOW, or say WITH (unbounded = true)"


def refuse_unsafe(script: Script) -> None:
    """Raise a ScriptError at the first query of a script that is not accepted."""
    for query, position in script.queries:
        judged = verdict(query)
        if not judged.accepted:
            raise ScriptError(judged.reason, hint=judged.hint, where=position)
