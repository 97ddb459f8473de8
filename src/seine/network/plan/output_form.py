"""The output format of a query: rows with a lifetime, or a changelog."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan import Aggregate, Distinct, Query, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Rank
from seine.algebra.search_plan import Search
from seine.errors import SeineError

DEFAULT_LIMIT = 10_000_000


@dataclass(frozen=True)
class RecordForm:
    """What records look like. A changelog's have an instant and no end."""

    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int
    importance: str = "min"  # how that of a result follows from those of its tuples


def form_of(query: Query) -> RecordForm:
    """The form of a query's records; refuses one that reads no stream, or two kinds of time."""
    names = tuple(field.name for field in query.plan.schema)
    if isinstance(query.plan, Search):
        changelog = query.plan.is_changelog
    else:
        changelog = any(
            isinstance(p, Aggregate | Distinct | UnionAll | SetOperation | Rank) for p in walk(query.plan)
        )
    importance = str(query.option("importance", "min"))
    return RecordForm(names, changelog, _domain(query), limit_of(query), importance)


def limit_of(query: Query) -> int:
    """How many records a query may deliver."""
    limit = query.option("limit", DEFAULT_LIMIT)
    assert isinstance(limit, int)
    return limit


def _domain(query: Query) -> str:
    if isinstance(query.plan, Search):
        return query.plan.graph.domain
    domains = {scan.stream.domain for scan in walk(query.plan) if isinstance(scan, Scan)}
    if not domains:
        raise SeineError(
            f"query {query.name!r} reads no stream", hint="a standing query needs at least one stream"
        )
    if len(domains) > 1:
        raise SeineError(
            f"query {query.name!r} mixes streams timed by TIMESTAMP with streams timed by BIGINT",
            hint="lives can be compared only within one kind of time",
        )
    return domains.pop()
