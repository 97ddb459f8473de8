"""The values of columns that conditions fix, put into the sums of other conditions.

    id = 1 AND type = id + 1                  id = 1 AND type = 2
    id = 1 AND type - id > n                  id = 1 AND type - n > 1

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

from collections.abc import Mapping

from seine.algebra.expressions import Call, Expression
from seine.algebra.linear_names import coefficients_of
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet, atom_key
from seine.optimizer.canonical.canonicalise import conjoin
from seine.optimizer.canonical.compare_terms import compare_sum
from seine.optimizer.canonical.exact_numbers import Number, is_exact, number_of

_MOST_PASSES = 8  # a value that is put in may fix another column


def with_fixed_values(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions with the values of fixed columns in sums in place of these."""
    for _ in range(_MOST_PASSES):
        fixed = _fixed((*conditions, *known))
        if not fixed:
            break
        before = conditions
        conditions = conjoin([tuple(_without_fixed(clause, fixed) for clause in before)])
        if conditions == before:
            break
    return conditions


def _fixed(conditions: PredicateSet) -> dict[Expression, Number]:
    """The values of the terms that have one only."""
    atoms = [clause[0] for clause in conditions if len(clause) == 1]
    return {
        atom.term: number_of(atom.constant)
        for atom in atoms
        if atom.op == "eq" and atom.constant is not None and is_exact(atom.constant.type)
    }


def _without_fixed(clause: Clause, fixed: Mapping[Expression, Number]) -> Clause:
    """A clause without fixed columns in its sums; as it is where that cannot be told."""
    alternatives: list[Atom] = []
    for atom in clause:
        parts = _without(atom, fixed)
        if parts is None:
            return clause
        alternatives += parts
    return tuple(sorted({*alternatives}, key=atom_key)) or (NEVER,)


def _without(atom: Atom, fixed: Mapping[Expression, Number]) -> Clause | None:
    """An atom with fixed terms of its sum on the other side, as alternatives."""
    term = atom.term
    coefficients = coefficients_of(term.name) if isinstance(term, Call) else None
    if coefficients is None or not isinstance(term, Call) or atom.constant is None:
        return (atom,)
    parts = [*zip(term.args, coefficients, strict=True)]
    rest: dict[Expression, Number] = {base: weight for base, weight in parts if base not in fixed}
    if len(rest) in (0, len(parts)):
        return (atom,)
    number = number_of(atom.constant) - sum(
        fixed[base] * coefficient for base, coefficient in parts if base in fixed
    )
    formula = compare_sum(atom.op, rest, number)
    if formula is None or len(formula) != 1:
        return None
    return tuple(Atom(a.term, a.op, a.constant, atom.exact) for a in formula[0][0])
