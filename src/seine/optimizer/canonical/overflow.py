"""Guards that cannot fail: where conditions hold, an expression stays within its type.

    bank > branch                 branch + 1 has a value: bank has one, and it is greater
    b.day - a.day BETWEEN 0 AND 3     the difference has a value, being small

Law: where the conditions hold, so does the guard.
"""

from __future__ import annotations

from seine.algebra.expressions import Call, Expression
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet
from seine.optimizer.canonical.exact_numbers import Number, bounds, is_exact, number_of, quotient, step
from seine.optimizer.canonical.linear_bounds import LinearCondition, Range, conditions_of, ranges
from seine.optimizer.canonical.linear_forms import LinearForm, linear_form


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
