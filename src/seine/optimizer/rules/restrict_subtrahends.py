"""Rule: restrict the second operand of a set operation to rows that the first can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from seine.algebra.expressions import Column, Expression, conjunction, shift_columns, substitute
from seine.algebra.plan import Plan, Select, SetOperation, UnionAll
from seine.optimizer.block import take_apart
from seine.optimizer.canonical.atoms import PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.implies import implies
from seine.optimizer.rules.push_selections import push_selections
from seine.optimizer.traverse import rebuild


def restrict_subtrahends(plan: Plan) -> Plan:
    """Ask of the second operand, the rows that EXCEPT takes away, what holds of all rows of the first.

    before: Except(Project(Select(a, id > 3), [id]), Project(b, [id]))
    after:  Except(Project(Select(a, id > 3), [id]), Project(Select(b, id > 3), [id]))
    """
    return rebuild(plan, _restricted)


def _restricted(plan: Plan) -> Plan:
    if not isinstance(plan, SetOperation):
        return plan
    known = [*_common(plan.left)]
    return replace(plan, right=_branchwise(plan.right, known)) if known else plan


def _common(left: Plan) -> Iterator[Expression]:
    """Conditions on the columns of a plan that hold for the rows of all its branches."""
    branches = left.branches if isinstance(left, UnionAll) else (left,)
    sets = [_known(branch) for branch in branches]
    for condition in dict.fromkeys(c for branch in branches for c in _of_outputs(branch)):
        if all(_holds(condition, branch, known) for branch, known in zip(branches, sets, strict=True)):
            yield condition


def _of_outputs(plan: Plan) -> Iterator[Expression]:
    """The conditions of a block that read nothing but its outputs, over these."""
    block = take_apart(plan)
    places: dict[int, int] = {}
    for place, output in enumerate(block.outputs):
        if isinstance(output, Column):
            places.setdefault(output.index, place)
    for condition in block.conditions:
        read = condition.columns
        if read and all(index in places for index in read) and canonicalise(condition).exact:
            yield shift_columns(condition, places.__getitem__)


def _known(plan: Plan) -> PredicateSet:
    return conjoin(canonicalise(condition).clauses for condition in take_apart(plan).conditions)


def _holds(condition: Expression, plan: Plan, known: PredicateSet) -> bool:
    form = canonicalise(substitute(condition, take_apart(plan).outputs))
    return implies(known, (*form.clauses, *form.guards))


def _branchwise(right: Plan, known: Sequence[Expression]) -> Plan:
    if isinstance(right, UnionAll):
        return UnionAll(tuple(_branchwise(branch, known) for branch in right.branches))
    have, outputs = _known(right), take_apart(right).outputs
    plain = [c for c in known if all(isinstance(outputs[index], Column) for index in c.columns)]
    more = conjunction([condition for condition in plain if not _holds(condition, right, have)])
    return right if more is None else push_selections(Select(right, more))
