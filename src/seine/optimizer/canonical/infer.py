"""Transitive inference: conditions on single columns that all conditions together imply.

r1.amount > 1000000, r2.amount > 0.5 * r1.amount and r3.amount = r2.amount imply that r2.amount and
r3.amount are over 500000, so that a prefilter keeps most rows from a join. Law: every row that
satisfies the conditions satisfies what is inferred. The work is bounded: a bound is propagated
along a limited number of conditions.

Cites: ARGUS 4 (transitivity inference)
"""

from __future__ import annotations

from collections.abc import Iterator

from seine.algebra.expressions import Call, Column, Expression, Literal, columns_of, shift_columns
from seine.algebra.types import DOUBLE
from seine.optimizer.canonical import linear_bounds, order_bounds
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet, atom_key
from seine.optimizer.canonical.canonicalise import conjoin
from seine.optimizer.canonical.exact_numbers import bounds as type_bounds
from seine.optimizer.canonical.exact_numbers import literal_of, step
from seine.optimizer.canonical.implies import clause_implies

MAX_INFERRED_CLAUSES = 64  # more would cost more than they save


def infer(conditions: PredicateSet) -> PredicateSet:
    """New clauses on single columns that the conditions imply; an unsatisfiable one for a contradiction.

    >>> from seine.algebra.types import BOOLEAN, INT
    >>> a, b = Column(0, INT), Column(1, INT)
    >>> over = (Atom(a, "ge", Literal(7, INT)),)
    >>> same = (Atom(Call("eq", (a, b), BOOLEAN), "holds"),)
    >>> [(str(atom.term), atom.op, atom.constant.value) for atom, in infer((over, same))]
    [('#1', 'ge', 7)]
    """
    inferred = [*_exact_bounds(conditions), *_ordered_bounds(conditions)]
    if (NEVER,) in inferred:
        return ((NEVER,),)
    inferred.extend(_through_equalities(conditions))
    fresh = [clause for clause in dict.fromkeys(inferred) if not _known(clause, conditions)]
    return conjoin([tuple(fresh[:MAX_INFERRED_CLAUSES])]) if fresh else ()


def _known(clause: Clause, conditions: PredicateSet) -> bool:
    (column,) = columns_of(clause[0].term)
    about = [other for other in conditions if len(other) > 1 or column in other[0].term.columns]
    return any(clause_implies(other, clause) for other in about)


def _exact_bounds(conditions: PredicateSet) -> Iterator[Clause]:
    """Bounds propagated through linear conditions on exact numbers."""
    linear = linear_bounds.conditions_of(conditions)
    if all(len(condition.variables) == 1 for condition in linear):
        return
    ranges = linear_bounds.ranges(linear)
    if ranges is None:
        yield (NEVER,)
        return
    given, known = ranges
    for base, (low, high) in known.items():
        old = given.get(base, (None, None))
        if (low, high) != old and len(columns_of(base)) == 1:
            yield from _range_clauses(base, low, high, old)


def _range_clauses(
    base: Expression, low: int | None, high: int | None, old: linear_bounds.Range
) -> Iterator[Clause]:
    least, most = (
        int(end / step(base.type)) if base.type.scale else int(end) for end in type_bounds(base.type)
    )
    if (low is not None and low > most) or (high is not None and high < least):
        yield (NEVER,)
    elif low is not None and low == high:
        yield (_atom(base, "eq", low),)
    else:
        if low is not None and low != old[0] and low > least:
            yield (_atom(base, "ge", low),)
        if high is not None and high != old[1] and high < most:
            yield (_atom(base, "le", high),)


def _atom(base: Expression, op: str, steps: int) -> Atom:
    return Atom(base, op, literal_of(steps * step(base.type), base.type))


def _ordered_bounds(conditions: PredicateSet) -> Iterator[Clause]:
    """Bounds propagated through comparisons of doubles and of strings."""
    given, known = order_bounds.limits(conditions)
    for column, (low, high) in known.items():
        old = given.get(column, (None, None))
        if (low, high) == old:
            continue
        if low is not None and high is not None and low.value >= high.value:
            empty = low.value > high.value or low.open or high.open
            yield (NEVER if empty else Atom(column, "eq", _literal(column, low)),)
            continue
        if low is not None and low != old[0]:
            yield (Atom(column, "gt" if low.open else "ge", _literal(column, low)),)
        if high is not None and high != old[1]:
            yield (Atom(column, "lt" if high.open else "le", _literal(column, high)),)


def _literal(column: Column, limit: order_bounds.Limit) -> Literal:
    return Literal(0.0 if limit.value == 0 else limit.value, column.type)


def _through_equalities(conditions: PredicateSet) -> Iterator[Clause]:
    """The conditions on one column, for every column that equals it."""
    partners = _equal_columns(conditions)
    for clause in conditions if partners else ():
        columns = {c for atom in clause for c in columns_of(atom.term)}
        if len(columns) != 1 or _is_bound(clause) or clause[0].op in ("is_null", "is_not_null"):
            continue
        column = columns.pop()
        for other in partners.get(column, ()):
            if other.type != DOUBLE or all(isinstance(atom.term, Column) for atom in clause):
                yield _moved(clause, other.index)


def _is_bound(clause: Clause) -> bool:
    """Whether a clause is a bound of a column, which is propagated as a bound."""
    atom = clause[0]
    return len(clause) == 1 and isinstance(atom.term, Column) and atom.op in ("eq", "lt", "le", "gt", "ge")


def _moved(clause: Clause, column: int) -> Clause:
    moved = (Atom(shift_columns(a.term, lambda _: column), a.op, a.constant, a.exact) for a in clause)
    return tuple(sorted(moved, key=atom_key))


def _equal_columns(conditions: PredicateSet) -> dict[int, set[Column]]:
    """For each column the other columns of its type in its equivalence class."""
    groups: dict[Column, set[Column]] = {}
    for clause in conditions:
        term = clause[0].term
        if len(clause) > 1 or not (isinstance(term, Call) and term.name == "eq" and clause[0].op == "holds"):
            continue
        left, right = term.args
        if isinstance(left, Column) and isinstance(right, Column) and left.type == right.type:
            joined = groups.get(left, {left}) | groups.get(right, {right})
            groups.update(dict.fromkeys(joined, joined))
    return {column.index: group - {column} for column, group in groups.items()}
