"""Rule: flatten nested set operators and drop redundant duplicate elimination."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TypeGuard

from seine.algebra.expressions import Column
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Plan,
    Project,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.plan_text import print_plan
from seine.algebra.types import DOUBLE
from seine.optimizer.traverse import identity, is_punctuated, rebuild

_IGNORE_REPEATS = ("min", "max", "bool_and", "bool_or")  # functions of the set of their values


def simplify_unions(plan: Plan) -> Plan:
    """Flatten unions and differences, move projections into their branches, and drop duplicate elimination
    where only the set of rows matters.

    before: Distinct(Project(UnionAll(Distinct(UnionAll(a, b)), c), e))
    after:  Distinct(UnionAll(Project(a, e), Project(b, e), Project(c, e)))
    before: Except(Distinct(a), Distinct(b))
    after:  Except(a, b)
    before: Except(Except(a, b), c)
    after:  Except(a, UnionAll(b, c))
    before: Intersect(Intersect(b, a), a)
    after:  Intersect(a, b)
    before: Distinct(UnionAll(Except(a, c), Except(b, c)))
    after:  Except(UnionAll(a, b), c)
    before: Aggregate(Distinct(a), calls [max])
    after:  Aggregate(a, calls [max])
    """
    return rebuild(plan, _simplify)


def _simplify(plan: Plan) -> Plan:
    match plan:
        case Project(UnionAll(branches), expressions, names):
            return UnionAll(tuple(Project(branch, expressions, names) for branch in branches))
        case UnionAll(branches):
            return UnionAll(tuple(leaf for branch in branches for leaf in _branches(branch)))
        case Distinct(input):
            return _distinct(_bag(input))
        case SetOperation(left, right, kind) if kind.is_set:
            sides = _bag(left), _bag(right)
            return _except(*sides) if kind is SetKind.EXCEPT else _intersection(*sides, kind)
        case SetOperation(left, right, SetKind.INTERSECT_ALL as kind):
            return _intersection(left, right, kind)
        case SetOperation(_, right, kind) if not kind.counts_right:
            return replace(plan, right=_bag(right))
        case Aggregate(input, _, calls) if calls and all(map(_ignores_repeats, calls)):
            return replace(plan, input=_bag(input))
    return plan


def _distinct(rows: Plan) -> Plan:
    """The distinct rows of a plan; a difference has no others."""
    if isinstance(rows, SetOperation) and rows.kind.is_set:
        return rows
    branches = _branches(rows)
    differences = [branch for branch in branches if _is_difference(branch)]
    right = differences[0].right if len(differences) == len(branches) else None
    if right is not None and all(_is_same(one.right, right) for one in differences):
        return _except(UnionAll(tuple(leaf for one in differences for leaf in _branches(one.left))), right)
    return Distinct(rows)


def _is_difference(plan: Plan) -> TypeGuard[SetOperation]:
    return isinstance(plan, SetOperation) and plan.kind is SetKind.EXCEPT


def _except(left: Plan, right: Plan) -> Plan:
    if not _is_difference(left):
        return SetOperation(left, right)
    return SetOperation(left.left, UnionAll((*_branches(left.right), *_branches(right))))


def _intersection(left: Plan, right: Plan, kind: SetKind) -> Plan:
    """The rows that all operands have, each operand once and in one order, as far as their streams tell.

    Not of streams with punctuations, which free what they are written for, nor of doubles: which of two
    zeros is shown must not depend on the order.
    """
    plan = SetOperation(left, right, kind)
    if is_punctuated(plan) or any(field.type == DOUBLE for field in plan.schema):
        return plan
    operands = {rebuild(one, _unnamed): one for side in plan.inputs for one in _operands(side, kind)}
    first, *others = [operands[key] for key in sorted(operands, key=_order_of)]
    if not others and not kind.is_set:
        return plan
    joined: Plan = reduce(lambda one, other: SetOperation(one, other, kind), others, first)
    joined = joined if others else Distinct(joined)
    if joined.schema == plan.schema:
        return joined
    return Project(joined, tuple(identity(joined)), tuple(field.name for field in plan.schema))


def _operands(plan: Plan, kind: SetKind) -> tuple[Plan, ...]:
    """What rows must all be in, nested intersections taken apart."""
    below = plan
    while isinstance(below, Project) and below.expressions == tuple(identity(below.input)):
        below = below.input
    if isinstance(below, SetOperation) and below.kind is kind:
        return (*_operands(below.left, kind), *_operands(below.right, kind))
    return (plan,)


def _order_of(plan: Plan) -> tuple[list[str], str]:
    """An order of plans without names: by the streams that they read first."""
    return sorted(part.stream.name for part in walk(plan) if isinstance(part, Scan)), print_plan(plan)


def _is_same(one: Plan, other: Plan) -> bool:
    """Whether two plans are the same but for what they call their streams."""
    return one == other or rebuild(one, _unnamed) == rebuild(other, _unnamed)


def _unnamed(plan: Plan) -> Plan:
    if isinstance(plan, Project):
        return replace(plan, names=tuple(map(str, range(len(plan.names)))))
    return Scan(plan.stream, "") if isinstance(plan, Scan) else plan


def _ignores_repeats(call: AggregateCall) -> bool:
    return call.distinct or call.function in _IGNORE_REPEATS


def _branches(plan: Plan) -> tuple[Plan, ...]:
    return plan.branches if isinstance(plan, UnionAll) else (plan,)


def _bag(plan: Plan) -> Plan:
    """A plan with the same set of distinct rows, without duplicate elimination where possible."""
    match plan:
        case Distinct(input):
            return _bag(input)
        case UnionAll(branches):
            return UnionAll(tuple(leaf for branch in branches for leaf in _branches(_bag(branch))))
        case Project(input, expressions, names):
            below = _bag(input)
            if _is_difference(below) and _is_permutation(plan):
                left, right = (_simplify(Project(side, expressions, names)) for side in below.inputs)
                return SetOperation(left, right)
            return plan if below == input else _simplify(Project(below, expressions, names))
    return plan


def _is_permutation(plan: Project) -> bool:
    """Whether a projection keeps every column, once, in any order: different rows stay different."""
    columns = [e.index for e in plan.expressions if isinstance(e, Column)]
    return sorted(columns) == [*range(len(plan.input.schema))] and len(columns) == len(plan.expressions)
