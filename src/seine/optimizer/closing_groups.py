"""Closing times of groups: after which instant no row joins a group, or leaves it.

Groups of joined tuples are final when nothing that may still come is in a combination with their keys.

    SELECT a.id, a.ts, COUNT(*) FROM a JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + 10
    GROUP BY a.id, a.ts                                                   closes at a.ts + 10
    SELECT window.end, COUNT(b.y) FROM a LEFT JOIN b ON ... GROUP BY window(a.ts, 60)       at window.end + 9

Law: the closing time is a function of the other keys, so the groups are the same; once all instants up to it
are complete, no row of the group begins or ends. It is a key of its own, so that groups of other ranges are
groups of another node, each freed by what its own rows may wait for.
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.event_windows import CLOSING, needs_groups
from seine.algebra.expressions import Call, Column, substitute
from seine.algebra.plan import Aggregate, Join, Plan, Project, Scan, SetOperation, walk
from seine.optimizer.block import block_of
from seine.optimizer.closing_times import CLOSES, Sums, closing_times, greatest_sum, with_closing_times
from seine.optimizer.joins_beneath import with_joins_beneath
from seine.optimizer.traverse import rebuild


def with_all_closing_times(plan: Plan) -> Plan:
    """The plan in which semi and anti joins, and groups of joined tuples, have their closing times."""
    plan = with_closing_times(with_joins_beneath(plan))
    if not any(isinstance(part, Aggregate) for part in walk(plan)):
        return plan
    return rebuild(plan, lambda part: _with_closing_key(part) if isinstance(part, Aggregate) else part)


def _with_closing_key(plan: Aggregate) -> Plan:
    """Groups of lasting rows with their closing time as a further key, where conditions give one.

    before: Aggregate(Join(a, b, b.ts <= a.ts + 10), keys [a.id, a.ts], calls)
    after:  Project(Aggregate(Join(..), keys [a.id, a.ts, closing(a.ts + 10)], calls), [a.id, a.ts, calls])
    """
    if not _may_close(plan):
        return plan
    width, names = len(plan.keys), plan.names
    sums = closing_times(Project(plan.input, plan.keys, names[:width]))
    if not sums or _is_told_by_keys(plan, sums):
        return plan
    until = greatest_sum(sums, [key.type for key in plan.keys])
    if until is None:
        return plan
    closing = Call(CLOSING, (substitute(until, plan.keys),), until.type)
    groups = replace(plan, keys=(*plan.keys, closing), names=(*names[:width], CLOSES, *names[width:]))
    columns = [Column(place, field.type) for place, field in enumerate(groups.schema) if place != width]
    return Project(groups, tuple(columns), names)


def _may_close(plan: Aggregate) -> bool:
    """Whether groups are of joined tuples that last; in hopping windows and sessions a row may be often."""
    parts = [*walk(plan.input)]
    if not any(isinstance(part, Join | SetOperation) for part in parts):
        return False
    if not plan.keys or any(map(needs_groups, plan.keys)):
        return False
    scans = [part for part in parts if isinstance(part, Scan)]
    return not any(scan.stream.retractable or scan.window is not None for scan in scans)


def _is_told_by_keys(plan: Aggregate, sums: Sums) -> bool:
    """Whether the groups are of combinations of tuples of which none is later than a key."""
    return block_of(plan.input, largest=None).is_of_tables and len(sums) == 1 and sums[0].constant <= 0
