"""Closing times of groups: after which instant no row joins a group, or leaves it.

Groups of joined tuples are final when nothing that may still come is in a combination with their keys.

    SELECT a.id, a.ts, COUNT(*) FROM a JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts AND a.ts + 10
    GROUP BY a.id, a.ts                                                   closes at a.ts + 10
    SELECT window.end, COUNT(b.y) FROM a LEFT JOIN b ON ... GROUP BY window(a.ts, 60)       at window.end + 9

Law: the closing time is a function of the other keys, so the groups are the same; once all instants up to it
are complete, no row of the group begins or ends. It is a key of its own, so that groups of other ranges are
groups of another node, each freed by what its own rows may wait for.

Inner joins beneath outer, semi and anti joins of lasting tuples, so that every join is one of tuples.

    (a LEFT JOIN b) JOIN c      =  a JOIN b JOIN c  UNION ALL  (a ANTI JOIN b) JOIN c
    (a ANTI JOIN b) JOIN c      =  (a JOIN c) ANTI JOIN b

Law: a row of a has the same partners whatever it is joined with, so which rows have one may be asked after
the join. Rows without a partner change when one comes, and a join that holds such rows cannot tell when it
may forget them; tuples do not change, and watermarks say when the last one that meets them has come.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from seine.algebra.event_windows import CLOSING, needs_groups
from seine.algebra.expressions import Call, Column, Expression, Literal, substitute
from seine.algebra.plan import (
    Aggregate,
    Join,
    Lookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
    walk,
)
from seine.optimizer.block import Block, block_of, take_apart, with_item
from seine.optimizer.closing_times import CLOSES, Sums, closing_times, greatest_sum, with_closing_times
from seine.optimizer.rules.drop_empty_branches import COMPARISONS, STRICT
from seine.optimizer.traverse import identity, rebuild, with_inputs


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


_MOST_READ = 400  # streams and relations of a plan; one that would have more stays as it is


def with_joins_beneath(plan: Plan) -> Plan:
    """The plan with joins beneath unions and pairs of lasting tuples whose rows are settled some day.

    before: Join(UnionAll(Join(a, b), Project(Anti(a, ..))), c)
    after:  UnionAll(Join(Join(a, b), c), Project(Anti(Join(a, c), Join(.., c))))
    """
    if not any(isinstance(part, SetOperation) and part.kind.is_of_pairs for part in walk(plan)):
        return plan
    scans = [part for part in walk(plan) if isinstance(part, Scan)]
    if any(scan.stream.retractable or scan.window is not None for scan in scans):
        return plan
    better = _pushed(plan)
    return better if sum(not part.inputs for part in walk(better)) <= _MOST_READ else plan


def _pushed(plan: Plan) -> Plan:
    if not isinstance(plan, Project | Select | Join):
        return with_inputs(plan, tuple(map(_pushed, plan.inputs)))
    block = take_apart(plan, largest=None)
    place = next((n for n, item in enumerate(block.items) if _goes_up(block, n, item)), None)
    if place is None:
        return _with_items(plan)
    names = tuple(field.name for field in plan.schema)
    item = block.items[place]
    if isinstance(item, UnionAll):
        branches = [with_item(block, place, branch, block.outputs, names) for branch in item.branches]
        kept = [branch for branch in branches if not _is_never_true(take_apart(branch, largest=None))]
        return UnionAll(tuple(map(_pushed, kept or branches)))
    assert isinstance(item, SetOperation)
    first, whole = block.offsets[place], reduce(Join, block.items)
    columns, every = tuple(identity(whole)), tuple(field.name for field in whole.schema)
    left, right = (with_item(block, place, side, columns, every) for side in item.inputs)
    reads = tuple(first + column for column in item.reads)
    above = SetOperation(_pushed(left), _pushed(right), item.kind, reads)
    return Project(above, block.outputs, names)


def _goes_up(block: Block, place: int, item: Plan) -> bool:
    """Whether an item that may change is joined with streams, and is settled some day."""
    others = [other for number, other in enumerate(block.items) if number != place]
    if all(isinstance(other, Lookup) for other in others):
        return False
    changes = isinstance(item, UnionAll) or (isinstance(item, SetOperation) and item.kind.is_of_pairs)
    return changes and closing_times(item) is not None


def _with_items(plan: Plan) -> Plan:
    """A block as it is, with the plans of its items pushed."""
    if isinstance(plan, Project | Select | Join):
        return with_inputs(plan, tuple(map(_with_items, plan.inputs)))
    return _pushed(plan)


def _is_never_true(block: Block) -> bool:
    """Whether a condition of a block compares a NULL, as a row without a partner has."""
    return any(
        isinstance(condition, Call) and condition.name in COMPARISONS and any(map(_is_null, condition.args))
        for condition in block.conditions
    )


def _is_null(operand: Expression) -> bool:
    match operand:
        case Literal(value):
            return value is None
        case Call(name, args) if name in STRICT:
            return any(map(_is_null, args))
    return False
