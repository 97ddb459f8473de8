"""Bounds propagation through linear conditions on exact numbers.

Every variable is counted in steps of its type, so that all arithmetic is on integers and rounding
a bound to the next step loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression
from seine.algebra.linear_names import coefficients_of
from seine.optimizer.canonical.atoms import Clause, PredicateSet
from seine.optimizer.canonical.exact_numbers import Number, is_exact, number_of, step
from seine.optimizer.canonical.linear_forms import linear_form

MAX_ROUNDS = 16  # of propagation; cyclic conditions could tighten bounds for ever

Range = tuple[int | None, int | None]  # in steps of the variable's type; None is no bound
_UNBOUNDED: Range = (None, None)


class LinearCondition(NamedTuple):
    """The condition low <= sum of coefficient * variable <= high; None is no bound."""

    variables: tuple[Expression, ...]
    coefficients: tuple[int, ...]
    low: int | None
    high: int | None


def conditions_of(conditions: PredicateSet) -> list[LinearCondition]:
    """The linear conditions among the clauses."""
    linear = (_of_clause(clause) for clause in conditions)
    return [condition for condition in linear if condition is not None]


def ranges(
    conditions: list[LinearCondition],
) -> tuple[dict[Expression, Range], dict[Expression, Range]] | None:
    """The ranges of the variables by conditions of one variable, and by all; None for a contradiction."""
    known: dict[Expression, Range] = {}
    changed: set[Expression] = set()
    for condition in conditions:
        if len(condition.variables) == 1 and not _tighten(condition, known, changed):
            return None
    given = dict(known)
    rest = [condition for condition in conditions if len(condition.variables) > 1]
    for _ in range(min(MAX_ROUNDS, len(rest) + 1)):
        before, changed = changed, set()
        for condition in rest:
            variables = condition.variables
            if before.isdisjoint(variables) and changed.isdisjoint(variables):
                continue  # it says no more than it did before
            if not _tighten(condition, known, changed):
                return None
        if not changed:
            break
    return given, known


def _tighten(condition: LinearCondition, known: dict[Expression, Range], changed: set[Expression]) -> bool:
    """Tighten the range of each variable by those of the others; False if one becomes empty."""
    variables, coefficients, least, most = condition
    ranges = [known.get(variable, _UNBOUNDED) for variable in variables]
    if len(ranges) > 1 and ranges.count(_UNBOUNDED) > 1:
        return True  # no variable can be bounded if two of them are unbounded
    ends = [*map(_ends, coefficients, ranges)]
    for at, (variable, coefficient, old) in enumerate(zip(variables, coefficients, ranges, strict=True)):
        low = None if least is None else _rest(least, ends, at, 1)
        high = None if most is None else _rest(most, ends, at, 0)
        if coefficient < 0:
            low, high, coefficient = _negative(high), _negative(low), -coefficient
        new_low = _larger(old[0], None if low is None else -(-low // coefficient))
        new_high = _smaller(old[1], None if high is None else high // coefficient)
        if new_low is not None and new_high is not None and new_low > new_high:
            return False
        if new_low != old[0] or new_high != old[1]:
            known[variable] = (new_low, new_high)
            changed.add(variable)
            ends[at] = _ends(coefficients[at], known[variable])
    return True


def _ends(coefficient: int, given: Range) -> Range:
    """The least and the greatest value of coefficient * variable."""
    low, high = given if coefficient > 0 else (given[1], given[0])
    return None if low is None else coefficient * low, None if high is None else coefficient * high


def _rest(bound: int, ends: Sequence[Range], at: int, side: int) -> int | None:
    """The bound of one summand, given that of the sum and the ends of the others."""
    for place, other in enumerate(ends):
        if place != at:
            end = other[side]
            if end is None:
                return None
            bound -= end
    return bound


def _negative(number: int | None) -> int | None:
    return None if number is None else -number


def _larger(old: int | None, new: int | None) -> int | None:
    return new if old is None else old if new is None else max(old, new)


def _smaller(old: int | None, new: int | None) -> int | None:
    return new if old is None else old if new is None else min(old, new)


@lru_cache(maxsize=1 << 14)
def _of_clause(clause: Clause) -> LinearCondition | None:
    if len(clause) > 1:
        return _hull(clause)
    atom = clause[0]
    if atom.op == "holds":
        return _of_equality(atom.term)
    if atom.constant is None or not is_exact(atom.term.type) or atom.op not in ("ge", "le", "eq"):
        return None
    bound = number_of(atom.constant)
    return _of_term(atom.term, bound if atom.op != "le" else None, bound if atom.op != "ge" else None)


def _of_term(term: Expression, low: Number | None, high: Number | None) -> LinearCondition:
    coefficients = coefficients_of(term.name) if isinstance(term, Call) else None
    if coefficients is None or not isinstance(term, Call):
        return _in_steps((term,), (1,), low, high)
    return _in_steps(term.args, coefficients, low, high)


def _of_equality(term: Expression) -> LinearCondition | None:
    """The condition of x = y, perhaps of two types: where neither is NULL, their linear forms are equal."""
    if not (isinstance(term, Call) and term.name == "eq" and is_exact(term.args[0].type)):
        return None
    left, right = (linear_form(arg) for arg in term.args)
    assert left is not None and right is not None
    form = left.plus(right, -1)
    used = {base: c for base, c in form.terms.items() if c}
    return _in_steps(tuple(used), tuple(used.values()), -form.constant, -form.constant) if used else None


def _hull(clause: Clause) -> LinearCondition | None:
    """The hull of a disjunction of equalities: x = 1 OR x = 5 implies 1 <= x <= 5."""
    term = clause[0].term
    if not is_exact(term.type) or any(atom.op != "eq" or atom.term != term for atom in clause):
        return None
    numbers = [number_of(atom.constant) for atom in clause if atom.constant is not None]
    return _of_term(term, min(numbers), max(numbers))


def _in_steps(
    variables: tuple[Expression, ...], coefficients: Iterable[Number], low: Number | None, high: Number | None
) -> LinearCondition:
    """A condition with integer coefficients of variables counted in steps; bounds are rounded inwards."""
    parts = [c * step(variable.type) for c, variable in zip(coefficients, variables, strict=True)]
    scale = lcm(*(part.denominator for part in parts))
    bounded = (None if low is None else -(-low * scale // 1), None if high is None else high * scale // 1)
    return LinearCondition(variables, tuple(int(part * scale) for part in parts), *bounded)
