"""Conditions as people write them: constants in their place, no idle casts, sums on both sides.

    linear[2,-1](r2.amount, r1.amount) > 0    r2.amount > 0.5 * r1.amount
    linear[1,-1](r1.d, r2.d) >= -20           r2.d - r1.d <= 20

Of a table with several rows a constant that they have in common is shown; the others are holes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from seine.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Parameter,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
)
from seine.algebra.linear_names import coefficients_of
from seine.algebra.text import Written, describe, describe_constant
from seine.algebra.types import BIGINT, DATE, DAY_TIME, DOUBLE, TIMESTAMP, Kind, Type
from seine.network.tables import ParameterTable

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
MOST_VALUES = 3  # of a hole that are listed
_WIDTHS = {Kind.INT: 0, Kind.BIGINT: 1, Kind.DECIMAL: 2, Kind.DOUBLE: 3}


@dataclass(frozen=True)
class Wording:
    """A condition, and what stands in its holes."""

    text: str
    holes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.holes:
            return self.text
        if len(self.holes) == 1:
            return f"{self.text}, {self.holes[0]}"
        return f"{self.text}; " + "; ".join(f"?{i + 1} {hole}" for i, hole in enumerate(self.holes))


class Words:
    """Expressions of one parameter table, or of some of its rows, in words."""

    def __init__(self, table: ParameterTable, rows: Iterable[int] | None = None) -> None:
        chosen = [table.rows[i] for i in (table if rows is None else rows)]
        self._columns = [[Literal(row[i], type_) for row in chosen] for i, type_ in enumerate(table.types)]

    def condition(
        self, shape: Expression | None, names: Sequence[str], hidden: Iterable[int] = ()
    ) -> Wording | None:
        """A conjunction; parts that read hidden columns (tags) are left out. None if nothing is left."""
        unseen = set(hidden)
        whole = conjunction([part for part in conjuncts(shape) if not unseen & columns_of(part)])
        return None if whole is None else self.word(whole, names)

    def word(self, expression: Expression, names: Sequence[str]) -> Wording:
        """Constants that all rows share are put in; the other parameters are holes."""
        holes: dict[int, int] = {}

        def fill(e: Expression) -> Expression:
            if not isinstance(e, Parameter):
                return e
            values = self._columns[e.index]
            if values and all(value == values[0] for value in values[1:]):
                return values[0]
            return Column(len(names) + holes.setdefault(e.index, len(holes)), e.type)

        filled = rewrite(rewrite(expression, self._changed), fill)
        marks = ["?"] if len(holes) == 1 else [f"?{number + 1}" for number in range(len(holes))]
        text = describe(filled, [*names, *map(Written, marks)])
        return Wording(text, tuple(_values(self._columns[i]) for i in holes))

    # ---- forms

    def _changed(self, e: Expression) -> Expression:
        if not isinstance(e, Call):
            return e
        if e.name == "cast" and widens(e.args[0].type, e.type):
            return e.args[0]
        if e.name in MIRRORED and isinstance(e.args[1], Literal | Parameter):
            left, right = e.args
            coefficients = coefficients_of(left.name) if isinstance(left, Call) else None
            if coefficients is not None and isinstance(left, Call):
                return self._comparison(e, [*zip(map(Fraction, coefficients), left.args, strict=True)], right)
            return Call(e.name, (left, self._tidied(right)), e.type)
        return e

    def _comparison(
        self, e: Call, terms: list[tuple[Fraction, Expression]], constant: Expression
    ) -> Expression:
        """`sum op constant` with the constant positive, or with the last term alone on the left."""
        values = self._values_of(constant)
        zero = all(value == 0 for value in values)
        op = e.name
        if zero or any(abs(c) != 1 for c, _ in terms):
            last = max(range(len(terms)), key=lambda i: max(columns_of(terms[i][1]), default=-1))
            if terms[last][0] < 0:
                op = MIRRORED[op]
            factor = terms[last][0]
            right = [(-c / factor, arg) for i, (c, arg) in enumerate(terms) if i != last]
            if all(_is_decimal(c) for c, _ in right):
                divided = self._each(constant, lambda value: _divided(value, factor))
                return Call(op, (terms[last][1], _sum(right, None if zero else divided)), e.type)
            op = e.name
        if all(value <= 0 for value in values) and not zero:
            terms, op = [(-c, arg) for c, arg in terms], MIRRORED[op]
            constant = self._each(constant, lambda value: -value)
        ordered = sorted(terms, key=lambda term: term[0] < 0)
        if {arg.type for _, arg in terms} == {TIMESTAMP}:
            constant = self._each(constant, lambda value: value, DAY_TIME)
        return Call(op, (_sum(ordered, None), self._tidied(constant)), e.type)

    def _tidied(self, constant: Expression) -> Expression:
        if constant.type.kind is not Kind.DECIMAL:
            return constant
        return self._each(constant, _short)

    def _values_of(self, constant: Expression) -> list[Any]:
        if isinstance(constant, Parameter):
            return [literal.value for literal in self._columns[constant.index]]
        assert isinstance(constant, Literal)
        return [constant.value]

    def _each(
        self, constant: Expression, change: Callable[[Any], Any], type_: Type | None = None
    ) -> Expression:
        """Another constant in place of each; for a parameter, a column of its own."""
        new = type_ or constant.type
        if isinstance(constant, Literal):
            return Literal(change(constant.value), new)
        assert isinstance(constant, Parameter)
        self._columns.append([Literal(change(v.value), new) for v in self._columns[constant.index]])
        return Parameter(len(self._columns) - 1, new)


def widens(source: Type, target: Type) -> bool:
    """Whether a cast leaves every value what it is to a reader."""
    if (source, target) == (DATE, TIMESTAMP) or source == target:
        return True
    if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL:
        return target.scale >= source.scale
    return source.is_numeric and target.is_numeric and _WIDTHS[source.kind] < _WIDTHS[target.kind]


def _sum(terms: Sequence[tuple[Fraction, Expression]], constant: Expression | None) -> Expression:
    total: Expression | None = None
    for coefficient, arg in terms:
        size = abs(coefficient)
        term = arg if size == 1 else Call("mul", (_number(size), arg), arg.type)
        if total is None:
            total = term if coefficient > 0 else Call("neg", (term,), term.type)
        else:
            total = Call("add" if coefficient > 0 else "sub", (total, term), term.type)
    if constant is None:
        return total or Literal(0, BIGINT)
    return constant if total is None else Call("add", (total, constant), total.type)


def _number(value: Fraction) -> Literal:
    if value.denominator == 1:
        return Literal(int(value), BIGINT)
    return Literal(float(value), DOUBLE)


def _is_decimal(value: Fraction) -> bool:
    """Whether it has a short decimal form."""
    return 1000 % value.denominator == 0


def _divided(value: Any, factor: Fraction) -> Any:
    exact = Fraction(value) / factor
    return int(exact) if exact.denominator == 1 else _short(Decimal(exact.numerator) / exact.denominator)


def _short(value: Any) -> Any:
    """Without zeros at the end of its fraction."""
    if not isinstance(value, Decimal):
        return value
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def _values(literals: Sequence[Literal]) -> str:
    """What stands in a hole: all of few values, else the least and greatest, or the first."""
    distinct = list(dict.fromkeys(literals))
    ordered = distinct[0].type.is_numeric or distinct[0].type.kind in _ORDERED
    if ordered:
        distinct.sort(key=lambda literal: literal.value)
    texts = [describe_constant(literal) for literal in distinct]
    if len(texts) <= MOST_VALUES:
        return ", ".join(texts[:-1]) + f" or {texts[-1]}"
    if ordered:
        return f"from {texts[0]} to {texts[-1]}"
    return f"{', '.join(texts[:MOST_VALUES])} and {len(texts) - MOST_VALUES} more"


_ORDERED = (Kind.DATE, Kind.TIMESTAMP, Kind.DAY_TIME, Kind.YEAR_MONTH)


def plain_words(expression: Expression, names: Sequence[str]) -> str:
    """An expression without parameters."""
    return Words(ParameterTable(())).word(expression, names).text
