"""Rule: drop branches of a union that have no rows, since their conditions contradict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.plan import Plan, Project, UnionAll
from seine.optimizer.block import take_apart
from seine.optimizer.known_empty import is_known_empty
from seine.optimizer.traverse import identity, rebuild

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
STRICT = ("add", "sub", "mul", "neg", "cast")  # NULL if an operand is


def drop_empty_branches(plan: Plan) -> Plan:
    """Drop the branches of unions whose conditions contradict: an outer join of which only the rows without a
    partner are wanted is the anti join.

    before: UnionAll(Join(a, Select(b, k IS NULL), a.k = b.k), Anti(a, ..))
    after:  Anti(a, ..)
    """
    return rebuild(plan, _dropped)


def _dropped(plan: Plan) -> Plan:
    if not isinstance(plan, UnionAll):
        return plan
    branches = [branch for branch in plan.branches if not _is_empty(branch)]
    if len(branches) == len(plan.branches) or not branches:
        return plan
    named = _with_names_of(plan, branches[0])
    return named if len(branches) == 1 else UnionAll((named, *branches[1:]))


def _with_names_of(plan: Plan, branch: Plan) -> Plan:
    """A branch whose columns are called as those of the whole."""
    if branch.schema == plan.schema:
        return branch
    return Project(branch, tuple(identity(branch)), tuple(field.name for field in plan.schema))


def _is_empty(branch: Plan) -> bool:
    """Whether a column has to be NULL that is an event time, or that a comparison finds not NULL; or whether
    other conditions contradict.
    """
    block = take_apart(branch)
    missing = {*_null_columns(block.conditions)}
    times = {first + scan.stream.time for scan, first in block.scans}
    return bool(missing & {*times, *_compared_columns(block.conditions)}) or is_known_empty(branch)


def _null_columns(conditions: Sequence[Expression]) -> Iterator[int]:
    for condition in conditions:
        match condition:
            case Call("is_null", (Column(index),)):
                yield index


def _compared_columns(conditions: Sequence[Expression]) -> Iterator[int]:
    """The columns of which none can be NULL where all conditions hold."""
    for condition in conditions:
        if isinstance(condition, Call) and condition.name in COMPARISONS:
            for operand in condition.args:
                yield from _strict_columns(operand)


def _strict_columns(operand: Expression) -> Iterator[int]:
    match operand:
        case Column(index):
            yield index
        case Call(name, args) if name in STRICT:
            for arg in args:
                yield from _strict_columns(arg)
