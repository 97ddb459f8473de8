"""Equal columns told in one way: by the first of them, or by the constant that they all are.

    bank = branch AND branch = type           bank = branch AND bank = type
    bank = branch AND branch = 5              bank = 5 AND branch = 5
    bank = branch AND branch + id > 7         bank = branch AND bank + id > 7

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

from collections.abc import Iterable

from seine.algebra.expressions import Call, Column, Expression, shift_columns
from seine.algebra.linear_names import coefficients_of
from seine.algebra.types import BOOLEAN, DOUBLE
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, atom_key, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.compare_terms import compare_sum
from seine.optimizer.canonical.exact_numbers import Number, number_of


def with_equals_stated(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions over the first of equal columns each, and plainly which columns are equal to it."""
    classes = _classes((*conditions, *known))
    if not classes:
        return conditions
    first = {column.index: members[0].index for members in classes for column in members}
    others = conjoin(_with_first(clause, first) for clause in conditions if equal_pair(clause) is None)
    known_first = {column: members[0] for members in _classes(known) for column in members}
    return conjoin([others, *(_stated(members, others, known_first) for members in classes)])


def equal_pair(clause: Clause) -> tuple[Column, Column] | None:
    """The two columns that a clause says are the same value; zeros of doubles are equal and not the same."""
    term = clause[0].term
    if len(clause) > 1 or clause[0].op != "holds" or not (isinstance(term, Call) and term.name == "eq"):
        return None
    left, right = term.args
    if not (isinstance(left, Column) and isinstance(right, Column)) or left.type != right.type:
        return None
    return None if left.type == DOUBLE else (left, right)


def _classes(conditions: PredicateSet) -> list[list[Column]]:
    """The columns that are equal to others, by class, in ascending order."""
    groups: dict[Column, set[Column]] = {}
    for pair in filter(None, map(equal_pair, conditions)):
        joined = set[Column]().union(*(groups.get(column, {column}) for column in pair))
        groups.update(dict.fromkeys(joined, joined))
    distinct = {id(group): group for group in groups.values()}.values()
    return [sorted(group, key=lambda column: column.index) for group in distinct]


def _stated(members: list[Column], others: PredicateSet, known_first: dict[Column, Column]) -> PredicateSet:
    """That columns are equal: each to the first, or to its constant; of those known to be equal one each."""
    first = members[0]
    rest = [column for column in members[1:] if known_first.get(column, column) == column]
    for clause in others:
        atom = clause[0]
        if len(clause) == 1 and atom.op == "eq" and atom.term == first:
            return tuple((Atom(column, "eq", atom.constant),) for column in rest)
    return tuple((Atom(Call("eq", (first, column), BOOLEAN), "holds"),) for column in rest)


def _with_first(clause: Clause, first: dict[int, int]) -> PredicateSet:
    """A clause with the first of equal columns in place of each."""
    if not any(first.get(index, index) != index for atom in clause for index in atom.term.columns):
        return (clause,)
    atoms = [_moved(atom, first) for atom in clause]
    parts = [part for part in atoms if part is not None]
    if len(parts) < len(atoms):
        return (clause,)  # beyond the range of a sum: as it is
    alternatives = {alternative for part in parts for alternative in part}
    return conjoin([(tuple(sorted(alternatives, key=atom_key)),)])


def _moved(atom: Atom, first: dict[int, int]) -> Clause | None:
    """An atom over the first of equal columns, as alternatives; None if it cannot be told so."""
    term = shift_columns(atom.term, lambda index: first.get(index, index))
    coefficients = coefficients_of(term.name) if isinstance(term, Call) else None
    if coefficients is None or not isinstance(term, Call) or atom.constant is None:
        return _as_canonical(Atom(term, atom.op, atom.constant, atom.exact))
    formula = compare_sum(
        atom.op, _summed(zip(term.args, coefficients, strict=True)), number_of(atom.constant)
    )
    if formula is None or len(formula) != 1:
        return None
    return tuple(Atom(a.term, a.op, a.constant, atom.exact) for a in formula[0][0])


def _as_canonical(atom: Atom) -> Clause | None:
    form = canonicalise(clause_expression((atom,)))
    return form.clauses[0] if len(form.clauses) == 1 and form.exact else None


def _summed(parts: Iterable[tuple[Expression, int]]) -> dict[Expression, Number]:
    sums: dict[Expression, Number] = {}
    for base, coefficient in parts:
        sums[base] = sums.get(base, 0) + coefficient
    return sums
