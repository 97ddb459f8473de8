"""Rule: flatten nested set operators and drop redundant duplicate elimination."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import Column
from seine.algebra.plan import Aggregate, AggregateCall, Distinct, Except, Plan, Project, Scan, UnionAll
from seine.optimizer.traverse import rebuild

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
        case Except(left, right):
            return _except(_bag(left), _bag(right))
        case Aggregate(input, _, calls) if calls and all(map(_ignores_repeats, calls)):
            return replace(plan, input=_bag(input))
    return plan


def _distinct(rows: Plan) -> Plan:
    """The distinct rows of a plan; a difference has no others."""
    if isinstance(rows, Except):
        return rows
    branches = _branches(rows)
    right = branches[0].right if isinstance(branches[0], Except) else None
    if right is not None and all(isinstance(b, Except) and _is_same(b.right, right) for b in branches):
        lefts = [leaf for b in branches if isinstance(b, Except) for leaf in _branches(b.left)]
        return _except(UnionAll(tuple(lefts)), right)
    return Distinct(rows)


def _except(left: Plan, right: Plan) -> Plan:
    if not isinstance(left, Except):
        return Except(left, right)
    return Except(left.left, UnionAll((*_branches(left.right), *_branches(right))))


def _is_same(one: Plan, other: Plan) -> bool:
    """Whether two plans are the same but for what they call their streams."""
    return one == other or rebuild(one, _unnamed) == rebuild(other, _unnamed)


def _unnamed(plan: Plan) -> Plan:
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
            if isinstance(below, Except) and _is_permutation(plan):
                return Except(*(_simplify(Project(side, expressions, names)) for side in below.inputs))
            return plan if below == input else _simplify(Project(below, expressions, names))
    return plan


def _is_permutation(plan: Project) -> bool:
    """Whether a projection keeps every column, once, in any order: different rows stay different."""
    columns = [e.index for e in plan.expressions if isinstance(e, Column)]
    return sorted(columns) == [*range(len(plan.input.schema))] and len(columns) == len(plan.expressions)
