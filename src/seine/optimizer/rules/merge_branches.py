"""Rule: merge branches of a union that select from the same rows, by OR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.expressions import Call, Expression, conjunction
from seine.algebra.plan import Distinct, Plan, Project, Scan, Select, SetOperation, UnionAll
from seine.algebra.types import BOOLEAN
from seine.optimizer.block import Block, take_apart
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.traverse import rebuild

_MOST_MERGED = 16  # branches; what their conditions are as one grows with their product


def merge_branches(plan: Plan) -> Plan:
    """Read a stream once where a set is made of several selections from it.

    Only where all conditions remain such that an index finds their rows: each about one term.

    before: Distinct(UnionAll(Select(a, type = 1), Select(a, type = 2)))
    after:  Distinct(Select(a, type = 1 OR type = 2))
    """
    return rebuild(plan, _merged)


def _merged(plan: Plan) -> Plan:
    match plan:
        case Distinct(UnionAll(branches)):
            return Distinct(_union(branches))
        case SetOperation(left, right, kind) if not kind.counts_right:
            return replace(plan, left=_side(left) if kind.is_set else left, right=_side(right))
    return plan


def _side(plan: Plan) -> Plan:
    return _union(plan.branches) if isinstance(plan, UnionAll) else plan


def _union(branches: Sequence[Plan]) -> Plan:
    """The union of branches as a set, those of one input merged."""
    merged: list[Plan] = []
    for branch in branches:
        for place, other in enumerate(merged):
            both = _together(other, branch)
            if both is not None:
                merged[place] = both
                break
        else:
            merged.append(branch)
    if len(merged) == len(branches):
        return UnionAll(tuple(branches))
    return merged[0] if len(merged) == 1 else UnionAll(tuple(merged))


def _together(one: Plan, other: Plan) -> Plan | None:
    """Two branches as one; None if they are of different rows, or an index could not find their rows."""
    first, second = take_apart(one), take_apart(other)
    if not (_is_of_one_stream(first) and _is_of_one_stream(second)) or first.outputs != second.outputs:
        return None
    (scan,), (other_scan,) = first.items, second.items
    assert isinstance(scan, Scan) and isinstance(other_scan, Scan)
    if scan.stream != other_scan.stream:
        return None
    names = tuple(field.name for field in one.schema)
    conditions = [conjunction(list(block.conditions)) for block in (first, second)]
    given = [condition for condition in conditions if condition is not None]
    if len(given) < 2:
        return Project(scan, first.outputs, names)
    either = Call("or", _alternatives(given), BOOLEAN)
    if len(either.args) > _MOST_MERGED or not _is_found_by_index(either):
        return None
    return Project(Select(scan, either), first.outputs, names)


def _is_of_one_stream(block: Block) -> bool:
    return len(block.items) == 1 and isinstance(block.items[0], Scan)


def _alternatives(conditions: Sequence[Expression]) -> tuple[Expression, ...]:
    """What is said by either, those merged before one by one."""
    parts = [c.args if isinstance(c, Call) and c.name == "or" else (c,) for c in conditions]
    return tuple(dict.fromkeys(part for alternatives in parts for part in alternatives))


def _is_found_by_index(condition: Expression) -> bool:
    clauses = canonicalise(condition).clauses
    return all(len({atom.term for atom in clause}) == 1 and clause[0].op != "holds" for clause in clauses)
