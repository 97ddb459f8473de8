"""Bounds propagation through linear conditions on exact numbers.

Every variable is counted in steps of its type, so that all arithmetic is on integers and rounding
a bound to the next step loses nothing.

Guards that cannot fail: where conditions hold, an expression stays within its type.

    bank > branch                 branch + 1 has a value: bank has one, and it is greater
    b.day - a.day BETWEEN 0 AND 3     the difference has a value, being small

Law: where the conditions hold, so does the guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import lcm
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression
from seine.algebra.linear import coefficients_of
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet
from seine.optimizer.canonical.exact_numbers import Number, bounds, is_exact, number_of, quotient, step
from seine.optimizer.canonical.linear_forms import LinearForm, linear_form

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


def cannot_fail(guard: Clause, conditions: PredicateSet) -> bool:
    """Whether a guard holds wherever conditions do, because values are within the bounds of their types."""
    atom = guard[0]
    linear = conditions_of(conditions)
    used = dict.fromkeys(variable for condition in linear for variable in condition.variables)
    if len(guard) > 1 or not used:
        return False
    known = ranges([*(_of_type(variable) for variable in used), *linear])
    if known is None:
        return True  # there are no such rows
    if atom.op in ("le", "ge"):
        return _is_within(atom, known[1].get(atom.term, (None, None)))
    form = _plain_form(atom.term) if atom.op == "is_not_null" else None
    if form is None or not all(base in used for base in form.terms):
        return False
    least, most = bounds(atom.term.type)
    return any(low >= least and high <= most for low, high in _spans(form, linear, known[1]))


def _of_type(variable: Expression) -> LinearCondition:
    least, most = bounds(variable.type)
    unit = step(variable.type)
    return LinearCondition((variable,), (1,), int(quotient(least, unit)), int(quotient(most, unit)))


def _is_within(atom: Atom, values: Range) -> bool:
    assert atom.constant is not None
    if not is_exact(atom.term.type):
        return False
    units = quotient(number_of(atom.constant), step(atom.term.type))
    low, high = values
    return (high is not None and high <= units) if atom.op == "le" else (low is not None and low >= units)


def _plain_form(term: Expression) -> LinearForm | None:
    """The form of an operation on operands that themselves cannot fail."""
    if not isinstance(term, Call) or not is_exact(term.type):
        return None
    operands = [linear_form(arg) for arg in term.args]
    if any(operand is None or operand.guards for operand in operands):
        return None
    form = linear_form(term)
    return None if form is None or term in form.terms else form


def _spans(
    form: LinearForm, linear: list[LinearCondition], known: dict[Expression, Range]
) -> list[tuple[Number, Number]]:
    """Ranges of a sum: by the ranges of its addends, and by conditions on that very sum."""
    lows: list[Number] = []
    highs: list[Number] = []
    for condition in linear:
        factor = _factor(form, condition)
        for bound, is_low in ((condition.low, True), (condition.high, False)):
            if factor is not None and bound is not None:
                (lows if is_low == (factor > 0) else highs).append(bound * factor + form.constant)
    spans = [_by_addends(form, known), (max(lows), min(highs)) if lows and highs else None]
    return [span for span in spans if span is not None]


def _by_addends(form: LinearForm, known: dict[Expression, Range]) -> tuple[Number, Number] | None:
    low: Number = form.constant
    high: Number = form.constant
    for base, coefficient in form.terms.items():
        ends = known.get(base, (None, None))
        if ends[0] is None or ends[1] is None:
            return None
        reach = sorted(end * step(base.type) * coefficient for end in ends if end is not None)
        low, high = low + reach[0], high + reach[-1]
    return low, high


def _factor(form: LinearForm, condition: LinearCondition) -> Number | None:
    """By how much the sum of a condition is multiplied to be that of a form; None if by no number."""
    if {*condition.variables} != {*form.terms} or not all(form.terms.values()):
        return None
    parts = zip(condition.variables, condition.coefficients, strict=True)
    factors = {quotient(form.terms[v] * step(v.type), c) for v, c in parts}
    return factors.pop() if len(factors) == 1 else None
