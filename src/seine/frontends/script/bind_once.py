"""Binds WITH (once = 'columns', per = length) to the columns and the time of a query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from seine.algebra.plan import FOLLOWED, Aggregate, Distinct, Query, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.durations import Duration
from seine.frontends.text.lexer import Token
from seine.frontends.text.names import suggest

_CHANGING = Aggregate | Distinct | UnionAll | SetOperation | Partitioned


def bind_once(cursor: Cursor, query: Query, places: Mapping[str, Token]) -> Query:
    """The query with its options bound; refused where they do not fit it."""
    if "once" not in places:
        return query
    place = places["once"]
    _refuse_others(cursor, query, places)
    names = _columns(cursor, query, place)
    per = query.option("per")
    assert isinstance(per, Duration)
    plain = {scan.stream.domain for scan in walk(query.plan) if isinstance(scan, Scan)} == {"plain"}
    if per.is_interval == plain or not per.length:
        hint = "write per = 100" if plain else "write per = INTERVAL '1' HOUR"
        raise cursor.error("per is a length of this query's event time", hint, at=places["per"])
    bound = {"once": json.dumps(names), "per": per.length}
    return replace(query, options=tuple((key, bound.get(key, value)) for key, value in query.options))


def _refuse_others(cursor: Cursor, query: Query, places: Mapping[str, Token]) -> None:
    """Results that may end or change have no first one; those within a memory are not all there."""
    place, parts = places["once"], [*walk(query.plan)]
    if any(isinstance(part, _CHANGING) for part in parts):
        hint = (
            "leave GROUP BY, DISTINCT, ranks and set operators out; GROUP BY window(ts, n) counts by itself"
        )
        raise cursor.error("once is for results that only come", hint, at=place)
    for part in parts:
        if isinstance(part, Scan) and part.stream.retractable:
            message = f"once is for results that only come: tuples of {part.alias} may be deleted"
            raise cursor.error(message, "read a stream that is not RETRACTABLE", at=place)
    for option in ("memory", "emit"):
        if option in places:
            raise cursor.error(f"once and {option} do not go together", "leave one out", at=places[option])


def _columns(cursor: Cursor, query: Query, place: Token) -> list[str]:
    """The names in `once` as the query has them."""
    known = {field.name.lower(): field.name for field in query.plan.schema}
    if FOLLOWED in known:
        hint = "it is the number of results that followed: SELECT ... AS another_name"
        raise cursor.error(f"the query has a column {FOLLOWED} of its own", hint, at=place)
    names = [name.strip() for name in str(query.option("once")).split(",")]
    for name in names:
        if name.lower() not in known:
            hint = suggest(name, [*known.values()], "columns") or "name columns of its SELECT"
            raise cursor.error(f"once: the query has no column {name}", hint, at=place)
    if len({name.lower() for name in names}) < len(names):
        raise cursor.error("once names a column twice", "name it once", at=place)
    return [known[name.lower()] for name in names]
