"""The output format of a query: rows with a lifetime, or a changelog.

The importance of a result, from the importances of the stream tuples that it is made of.

Of streams that declare IMPORTANCE BY: the least of theirs, or what the query's option says. Streams that
declare none do not count, and a result of such streams alone has no importance.

Cites: STAR 2.1 (importance of an output tuple)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions.casting import implied_cast
from seine.algebra.functions.resolve_call import resolve_call
from seine.algebra.plan import Aggregate, Distinct, Plan, Query, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.algebra.search_plan import Search
from seine.algebra.types import DOUBLE
from seine.errors import SeineError
from seine.optimizer.block import Block

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


def importances(block: Block) -> list[Expression]:
    """The importance of each stream tuple of a combination, over the columns of a block."""
    places = zip(block.items, block.offsets, strict=False)
    return [
        _number(item, start + item.stream.importance)
        for item, start in places
        if isinstance(item, Scan) and item.stream.importance is not None
    ]


def importance_of(block: Block, how: str) -> Expression | None:
    """The importance of a combination; None if it has none."""
    given = importances(block)
    return COMBINED[how](given) if given else None


def _number(scan: Scan, place: int) -> Expression:
    index = scan.stream.importance
    assert index is not None
    return implied_cast(Column(place, scan.schema[index].type), DOUBLE, "an importance")


def _least(given: Sequence[Expression]) -> Expression:
    return resolve_call("least", given) if len(given) > 1 else given[0]


def _folded(name: str) -> Callable[[Sequence[Expression]], Expression]:
    return lambda given: reduce(lambda a, b: resolve_call(name, [a, b]), given)


COMBINED: dict[str, Callable[[Sequence[Expression]], Expression]] = {
    "min": _least,
    "sum": _folded("add"),
    "product": _folded("mul"),
}
