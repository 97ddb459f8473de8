"""Rule: flatten nested set operators and drop redundant duplicate elimination."""

from __future__ import annotations

from seine.algebra.plan import Distinct, Except, Plan, Project, UnionAll
from seine.optimizer.traverse import rebuild


def simplify_unions(plan: Plan) -> Plan:
    """Flatten unions, move projections into their branches, and drop a distinct beneath a distinct.

    before: Distinct(Project(UnionAll(Distinct(UnionAll(a, b)), c), e))
    after:  Distinct(UnionAll(Project(a, e), Project(b, e), Project(c, e)))
    before: Except(Distinct(a), Distinct(b))
    after:  Except(a, b)
    before: Except(Except(a, b), c)
    after:  Except(a, UnionAll(b, c))
    """
    return rebuild(plan, _simplify)


def _simplify(plan: Plan) -> Plan:
    match plan:
        case Project(UnionAll(branches), expressions, names):
            return UnionAll(tuple(Project(branch, expressions, names) for branch in branches))
        case UnionAll(branches):
            return UnionAll(tuple(leaf for branch in branches for leaf in _branches(branch)))
        case Distinct(input):
            return Distinct(_bag(input))
        case Except(left, right):
            return _except(_bag(left), _bag(right))
    return plan


def _except(left: Plan, right: Plan) -> Plan:
    if not isinstance(left, Except):
        return Except(left, right)
    return Except(left.left, UnionAll((*_branches(left.right), *_branches(right))))


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
            return plan if below == input else _simplify(Project(below, expressions, names))
    return plan
