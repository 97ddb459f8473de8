"""The output format of a query: rows with a lifetime, or a changelog."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan import Aggregate, Distinct, Plan, Query, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.algebra.search_plan import Search
from seine.errors import SeineError

_BREAKERS = Aggregate | Distinct | UnionAll | SetOperation | Partitioned
DEFAULT_LIMIT = 10_000_000


@dataclass(frozen=True)
class RecordForm:
    """What records look like. A changelog's have an instant and no end. Those of a search are `in_time`.

    Cites: SKWS 3.1 (results in ascending t_start)
    """

    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int
    importance: str = "min"  # how that of a result follows from those of its tuples
    in_time: bool = False


def form_of(query: Query) -> RecordForm:
    """The form of a query's records; refuses one that reads no stream, or two kinds of time."""
    names = tuple(field.name for field in query.record_fields)
    if isinstance(query.plan, Search):
        changelog = query.plan.is_changelog
    else:
        is_final = query.option("emit") == "final" and asks_for_partners(query.plan)
        changelog = not is_final and any(isinstance(part, _BREAKERS) for part in walk(query.plan))
    importance = str(query.option("importance", "min"))
    in_time = isinstance(query.plan, Search) and not changelog
    return RecordForm(names, changelog, _domain(query), limit_of(query), importance, in_time)


def asks_for_partners(plan: Plan) -> bool:
    """Whether results are of outer, semi or anti joins alone: the final ones are combinations with lives."""
    breakers = [part for part in walk(plan) if isinstance(part, _BREAKERS)]
    joins = [part for part in breakers if isinstance(part, SetOperation) and part.kind.is_of_pairs]
    return bool(joins) and all(isinstance(part, UnionAll) or part in joins for part in breakers)


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
