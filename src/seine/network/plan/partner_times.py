"""Times of left tuples in semi and anti joins whose results are final: equal rows have equal lives then."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, SetOperation
from seine.optimizer.block import take_apart
from seine.optimizer.traverse import rebuild


def with_times(plan: Plan) -> Plan:
    """The plan in which semi and anti joins keep the times of left tuples: rows that are equal in these have
    equal lives.
    """
    return rebuild(plan, _with_times)


def _with_times(plan: Plan) -> Plan:
    if not isinstance(plan, SetOperation) or not plan.kind.is_of_pairs:
        return plan
    block = take_apart(plan.left)
    times = {first + scan.stream.time for scan, first in block.scans}
    places = {
        place for place, one in enumerate(block.outputs) if isinstance(one, Column) and one.index in times
    }
    return replace(plan, reads=tuple(sorted({*plan.reads, *places})))
