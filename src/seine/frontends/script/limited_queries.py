"""Checks that a query can be evaluated by the star join: append-only joins of windowed streams.

This is required of queries with a memory limit, and of those that join streams through a followed relation.
"""

from __future__ import annotations

from seine.algebra.over_plan import Over
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Query,
    Scan,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Rank
from seine.errors import ScriptError
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import Token

_NON_MONOTONE = {
    Aggregate: "aggregates",
    Distinct: "DISTINCT",
    UnionAll: "UNION",
    PartnerLookup: "an outer, semi or anti join",
    SetOperation: "EXCEPT, INTERSECT, semi or anti joins",
    Rank: "ranks and LIMIT",
    Over: "window functions",
}


def refuse_misplaced_limit(cursor: Cursor, query: Query, at: Token) -> None:
    """Raise a ScriptError if the option `memory`, which stands at a token, does not fit its query."""

    def error(message: str, hint: str) -> ScriptError:
        return cursor.error(f"memory does not fit query {query.name}: {message}", hint, at=at)

    parts = [*walk(query.plan)]
    for kind, what in _NON_MONOTONE.items():
        if any(isinstance(part, kind) for part in parts):
            hint = "limit the join alone, in a SELECT without GROUP BY, DISTINCT and set operators"
            raise error(f"a result of {what} is no part of the exact one when tuples are missing", hint)
    scans = [part for part in parts if isinstance(part, Scan)]
    if len(scans) < 2 and not any(isinstance(part, Lookup) for part in parts):
        raise error("it joins nothing, so it holds no tuples", "leave memory out")
    for scan in scans:
        if scan.stream.retractable:
            raise error(
                f"stream {scan.stream.name} is RETRACTABLE, and a tuple that was given up cannot be deleted",
                "leave memory out, or read a stream that only appends",
            )
        if scan.life is not None:
            raise error(f"{scan.alias} has a WINDOW of its own", "declare the WINDOW with the stream")
        if scan.stream.window is None and len(scans) > 1:
            raise error(f"stream {scan.stream.name} has no window", "give it a WINDOW")


def refuse_misplaced_relation(cursor: Cursor, query: Query, at: Name) -> None:
    """Raise a ScriptError if a query joins streams through a followed relation, and does more than that."""
    parts = [*walk(query.plan)]
    followed = [part.relation.name for part in parts if isinstance(part, Lookup) and part.relation.followed]
    scans = [part for part in parts if isinstance(part, Scan)]
    if not followed or len(scans) < 2:
        return
    plain = not any(isinstance(part, tuple(_NON_MONOTONE)) for part in parts)
    if not plain or any(scan.stream.retractable or scan.stream.window is None for scan in scans):
        raise cursor.error(
            f"query {query.name} joins several streams through relation {followed[0]}, which is followed",
            "such a query selects, from streams that have windows and only append; or leave follow out",
            at=at,
        )
