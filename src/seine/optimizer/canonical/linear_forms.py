"""Linear forms of expressions over exact numbers: `sum of coefficient * base + constant`.

Law: where an expression is not NULL, its form has the same value; where no base is NULL and every
guard holds, the expression is not NULL. A base is a column, or a subexpression that is not linear.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import floor
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import DATE, DAY_TIME, TIMESTAMP, YEAR_MONTH
from seine.optimizer.canonical.exact_numbers import (
    MICROS_PER_DAY,
    Number,
    bounds,
    int_if_whole,
    is_exact,
    number_of,
    quotient,
    step,
)


class Guard(NamedTuple):
    """The requirement that a node does not overflow: the node, and its form before the range check."""

    node: Expression
    form: LinearForm


class LinearForm(NamedTuple):
    """A linear form; a base that cancels out stays with coefficient 0, since it may be NULL."""

    terms: dict[Expression, Number]
    constant: Number
    guards: tuple[Guard, ...] = ()

    def plus(self, other: LinearForm, factor: Number = 1) -> LinearForm:
        """The form of self + factor * other."""
        terms = dict(self.terms)
        for base, coefficient in other.terms.items():
            terms[base] = int_if_whole(terms.get(base, 0) + coefficient * factor)
        constant = int_if_whole(self.constant + other.constant * factor)
        return LinearForm(terms, constant, self.guards + other.guards)

    def times(self, factor: Number) -> LinearForm:
        """The form multiplied by a factor."""
        terms = {base: int_if_whole(coefficient * factor) for base, coefficient in self.terms.items()}
        return LinearForm(terms, int_if_whole(self.constant * factor), self.guards)

    def span(self) -> tuple[Number, Number]:
        """The least and greatest possible value, by the types of the bases."""
        low = high = self.constant
        for base, coefficient in self.terms.items():
            ends = bounds(base.type)
            low += coefficient * ends[coefficient < 0]
            high += coefficient * ends[coefficient >= 0]
        return low, high

    def is_multiple(self, unit: Number) -> bool:
        """Whether every value of the form is an integer multiple of a unit."""
        parts = [coefficient * step(base.type) for base, coefficient in self.terms.items()]
        return all(quotient(part, unit).denominator == 1 for part in (self.constant, *parts))


@lru_cache(maxsize=1 << 14)
def linear_form(expression: Expression) -> LinearForm | None:
    """The linear form of a simplified expression; None if its values are not exact numbers.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> d = Column(0, DATE)
    >>> form = linear_form(resolve_call("date_add", [d, literal(20)]))
    >>> form.terms[d], form.constant, [str(guard.node) for guard in form.guards]
    (1, 20, ['date_add(#0, 20)'])
    """
    if not is_exact(expression.type):
        return None
    if isinstance(expression, Literal):
        return LinearForm({}, number_of(expression)) if expression.value is not None else _base(expression)
    if isinstance(expression, Call):
        rule = _RULES.get(expression.name)
        form = rule(expression) if rule else None
        if form is not None and form.is_multiple(step(expression.type)):
            return _checked(form, expression)
    return _base(expression)


def _base(expression: Expression) -> LinearForm:
    return LinearForm({expression: 1}, 0)


def _checked(form: LinearForm, node: Expression) -> LinearForm:
    """The form, with a guard if its value may overflow the type of the node."""
    low, high = form.span()
    least, most = bounds(node.type)
    if least <= low and high <= most:
        return form
    guard = Guard(node, LinearForm(form.terms, form.constant))
    inner = form.guards if len(form.terms) == 1 else ()
    return LinearForm(form.terms, form.constant, (*inner, guard))


def _sum(call: Call) -> LinearForm | None:
    sign = 1 if call.name == "add" else -1
    left, right = (linear_form(arg) for arg in call.args)
    if left is None or right is None:
        return None
    types = (call.args[0].type, call.args[1].type)
    if types[0] == DATE and types[1] == DATE:
        return left.plus(right, sign).times(MICROS_PER_DAY)
    if types[0].is_temporal and types[1] == YEAR_MONTH:
        return None
    if types[0] == DATE and types[1] == DAY_TIME:
        if right.terms:
            return None
        right = LinearForm({}, floor(quotient(right.constant, MICROS_PER_DAY)))
    return left.plus(right, sign)


def _product(call: Call) -> LinearForm | None:
    left, right = (linear_form(arg) for arg in call.args)
    if left is None or right is None:
        return None
    if not left.terms:
        left, right = right, left
    return None if right.terms else left.times(right.constant)


def _quotient(call: Call) -> LinearForm | None:
    left, right = (linear_form(arg) for arg in call.args)
    if left is None or right is None or right.terms or not right.constant:
        return None
    return left.times(quotient(1, right.constant))


def _cast(call: Call) -> LinearForm | None:
    source, target = call.args[0].type, call.type
    if source.is_numeric and target.is_numeric:
        return linear_form(call.args[0])
    return _scaled(MICROS_PER_DAY)(call) if (source, target) == (DATE, TIMESTAMP) else None


def _scaled(factor: int) -> Callable[[Call], LinearForm | None]:
    def rule(call: Call) -> LinearForm | None:
        form = linear_form(call.args[0])
        return None if form is None else form.times(factor)

    return rule


def _moved(sign: int) -> Callable[[Call], LinearForm | None]:
    def rule(call: Call) -> LinearForm | None:
        left, right = (linear_form(arg) for arg in call.args)
        return None if left is None or right is None else left.plus(right, sign)

    return rule


_RULES: dict[str, Callable[[Call], LinearForm | None]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "div": _quotient,
    "neg": _scaled(-1),
    "cast": _cast,
    "date_add": _moved(1),
    "date_sub": _moved(-1),
    "datediff": _moved(-1),
    "unix_date": _scaled(1),
    "date_from_unix_date": _scaled(1),
    "unix_micros": _scaled(1),
    "timestamp_micros": _scaled(1),
    "timestamp_millis": _scaled(1000),
    "timestamp_seconds": _scaled(1_000_000),
}
