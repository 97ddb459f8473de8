"""The streams of a plan whose tuples some operator keeps in state."""

from __future__ import annotations

from collections.abc import Iterator

from seine.algebra.document_plan import DocumentJoin
from seine.algebra.plan import Aggregate, Distinct, Join, Plan, Scan, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Partitioned
from seine.algebra.search_plan import Search

_KEEPING = (Aggregate, Distinct, UnionAll, SetOperation, Partitioned, DocumentJoin)


def scans(plan: Plan) -> Iterator[Scan]:
    return (node for node in walk(plan) if isinstance(node, Scan))


def kept_scans(plan: Plan) -> list[Scan]:
    """The scans whose tuples are held, in the order of FROM.

    A join holds what is beneath it when both of its sides have streams (a relation is looked
    up); aggregates, DISTINCT and set operators hold what is beneath them, and so does a search for trees
    of more than one tuple; tuples of a RETRACTABLE stream are held wherever they go, for a negative tuple
    may name them.
    """
    return list(_kept(plan))


def _kept(plan: Plan) -> Iterator[Scan]:
    ahead = [(plan, False)]
    while ahead:
        plan, held = ahead.pop()
        if isinstance(plan, Scan) and (held or plan.stream.retractable):
            yield plan
        held = held or isinstance(plan, _KEEPING) or _joins_streams(plan) or _searches_trees(plan)
        ahead += [(child, held) for child in reversed(plan.inputs)]


def _joins_streams(plan: Plan) -> bool:
    return isinstance(plan, Join) and all(any(scans(side)) for side in plan.inputs)


def _searches_trees(plan: Plan) -> bool:
    """Whether a search keeps tuples: for trees, or because the best of them change as tuples expire.

    The best of a period are few, and are forgotten when it has passed.
    """
    if not isinstance(plan, Search):
        return False
    return not plan.of_single_tuples or plan.is_changelog
