"""Rule: drop keys of groups that a condition fixes to a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.plan import Aggregate, Plan, Project
from seine.algebra.types import DOUBLE
from seine.optimizer.block import take_apart
from seine.optimizer.canonical.atoms import PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.rules.push_selections import push_selections
from seine.optimizer.traverse import is_punctuated, rebuild


def drop_constant_keys(plan: Plan) -> Plan:
    """Group by the keys that vary; one stays in any case, since without keys there is a row over no tuples.

    Not above streams with punctuations: which groups these close is judged by the keys as they are written.

    before: Aggregate(Select(a, type = 3), keys [bank, type], calls)
    after:  Project(Aggregate(Select(a, type = 3), keys [bank], calls), [bank, 3, calls])
    """
    better = rebuild(plan, _dropped)
    return plan if better is plan else push_selections(better)  # through the projections


def _dropped(plan: Plan) -> Plan:
    if not isinstance(plan, Aggregate) or len(plan.keys) < 2 or is_punctuated(plan):
        return plan
    constants = _constants(plan)
    kept = [number for number, constant in enumerate(constants) if constant is None] or [0]
    if len(kept) == len(plan.keys):
        return plan
    groups = replace(
        plan,
        keys=tuple(plan.keys[number] for number in kept),
        names=(*(plan.names[number] for number in kept), *plan.names[len(plan.keys) :]),
    )
    return Project(groups, tuple(_outputs(plan, groups, constants, kept)), plan.names)


def _outputs(
    plan: Aggregate, groups: Aggregate, constants: Sequence[Literal | None], kept: Sequence[int]
) -> list[Expression]:
    """The columns of the groups as they were: constants are written out."""
    fields = groups.schema
    outputs: list[Expression] = []
    for number, constant in enumerate(constants):
        if number in kept:
            place = kept.index(number)
            outputs.append(Column(place, fields[place].type))
        else:
            assert constant is not None
            outputs.append(constant)
    return [*outputs, *(Column(place, fields[place].type) for place in range(len(kept), len(fields)))]


def _constants(plan: Aggregate) -> list[Literal | None]:
    """The constant to which each key is fixed, if any."""
    block = take_apart(plan.input)
    clauses = [clause for condition in block.conditions for clause in canonicalise(condition).clauses]
    return [_constant(key, block.outputs, tuple(clauses)) for key in plan.keys]


def _constant(key: Expression, outputs: Sequence[Expression], clauses: PredicateSet) -> Literal | None:
    value = outputs[key.index] if isinstance(key, Column) else None
    if not isinstance(value, Column) or value.type == DOUBLE:  # zeros of both signs are equal
        return None
    for clause in clauses:
        atom = clause[0]
        if len(clause) == 1 and atom.op == "eq" and atom.term == value and atom.constant is not None:
            return atom.constant if atom.constant.type == value.type else None
    return None
