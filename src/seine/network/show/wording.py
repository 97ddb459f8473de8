"""Canonical conditions back to readable SQL: constants in their place, no idle casts, sums on both sides.

    linear[2,-1](r2.amount, r1.amount) > 0    r2.amount > 0.5 * r1.amount
    linear[1,-1](r1.d, r2.d) >= -20           r2.d - r1.d <= 20
    amount >= 1000000.01 (whole cents)        amount > 1000000

Of a table with several rows a constant that they have in common is shown; the others are holes.

Formatting of numbers for EXPLAIN: 500, not 500.00; 0.5, not 1/2.
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
from seine.algebra.linear import WEIGHTED, coefficients_of
from seine.algebra.plan_text import SqlText, describe, describe_constant
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DAY_TIME, DOUBLE, TIMESTAMP, Kind, Type
from seine.graph.parameter_table import ParameterTable
from seine.optimizer.canonical.exact_numbers import is_exact, step

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
MOST_NAMES = 8  # of the queries that share a node
MOST_VALUES = 3  # of a hole that are listed
_OPEN = {"ge": ("gt", -1), "le": ("lt", 1)}
_COUNTED = (Kind.INT, Kind.BIGINT, Kind.DECIMAL)
_WIDTHS = {Kind.INT: 0, Kind.BIGINT: 1, Kind.DECIMAL: 2, Kind.DOUBLE: 3}


Weights = list[Fraction]  # the coefficient of a term in each row; one value if it is the same in all


@dataclass(frozen=True)
class Wording:
    """A condition, and what stands in its holes."""

    text: str
    holes: tuple[str, ...]

    def __str__(self) -> str:
        if not self.holes:
            return self.text
        marks = ["?"] if len(self.holes) == 1 else [f"?{i}" for i in range(1, len(self.holes) + 1)]
        said = [f"{mark} is {hole}" for mark, hole in zip(marks, self.holes, strict=True)]
        return f"{self.text}, where {', '.join(said)}"


class Words:
    """Expressions of one parameter table, or of some of its rows, in words."""

    def __init__(self, table: ParameterTable, rows: Iterable[int] | None = None) -> None:
        chosen = [table.rows[i] for i in (table if rows is None else rows)]
        self._columns = [
            [tidy(Literal(row[i], type_)) for row in chosen] for i, type_ in enumerate(table.types)
        ]

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
        text = describe(filled, [*names, *map(SqlText, marks)])
        return Wording(text, tuple(_values(self._columns[i]) for i in holes))

    # ---- forms

    def _changed(self, e: Expression) -> Expression:
        if isinstance(e, Literal):
            return tidy(e)
        if not isinstance(e, Call):
            return e
        if e.name == "cast" and widens(e.args[0].type, e.type):
            return e.args[0]
        if e.name in MIRRORED and isinstance(e.args[1], Literal | Parameter):
            return self._comparison(e, e.args[1])
        return e

    def _comparison(self, e: Call, constant: Expression) -> Expression:
        left = e.args[0]
        terms = self._terms(left)
        if terms is None:
            return self._rounded(e) if is_exact(left.type) else e
        op, constant = self._round(e.name, [arg for _, arg in terms], constant)
        if all(len({*weights}) == 1 for weights, _ in terms):
            return self._sides(op, [(weights[0], arg) for weights, arg in terms], constant)
        return self._weighted(op, terms, constant)

    def _terms(self, left: Expression) -> list[tuple[Weights, Expression]] | None:
        """The terms of a sum, each with its coefficient in every row; None if it is no sum."""
        if not isinstance(left, Call):
            return None
        coefficients = coefficients_of(left.name)
        if coefficients is not None:
            return [([Fraction(c)], arg) for c, arg in zip(coefficients, left.args, strict=True)]
        if left.name != WEIGHTED:
            return None
        half = len(left.args) // 2
        weights = [[Fraction(value) for value in self._values_of(w)] for w in left.args[half:]]
        return [*zip(weights, left.args[:half], strict=True)]

    def _weighted(
        self, op: str, terms: Sequence[tuple[Weights, Expression]], constant: Expression
    ) -> Expression:
        """A sum whose coefficients differ from row to row, with one term alone on the left if it can be."""
        rows = max(len(weights) for weights, _ in terms)
        columns = [(weights * (rows if len(weights) == 1 else 1), arg) for weights, arg in terms]
        values = [Fraction(value) for value in self._values_of(constant)]
        values *= rows if len(values) == 1 else 1
        every = [[(weights[row], arg) for weights, arg in columns] for row in range(rows)]
        alone = next((i for i in _by_column(every[0]) if all(_divides(terms_, i) for terms_ in every)), None)
        if alone is None or len({terms_[alone][0] > 0 for terms_ in every}) > 1:
            return Call(op, (self._total(columns), constant), BOOLEAN)
        factors = columns[alone][0]
        right = [
            ([-w / f for w, f in zip(weights, factors, strict=True)], arg)
            for i, (weights, arg) in enumerate(columns)
            if i != alone
        ]
        total = self._total(right)
        if any(values):
            rest = self._column([v / f for v, f in zip(values, factors, strict=True)])
            total = Call("add", (total, rest), total.type)
        return Call(MIRRORED[op] if factors[0] < 0 else op, (columns[alone][1], total), BOOLEAN)

    def _total(self, terms: Sequence[tuple[Weights, Expression]]) -> Expression:
        total: Expression | None = None
        for weights, arg in terms:
            negative = all(w < 0 for w in weights) and total is not None
            sized = [-w for w in weights] if negative else weights
            unit = all(w == 1 for w in sized)
            term = arg if unit else Call("mul", (self._column(sized), arg), arg.type)
            total = term if total is None else Call("sub" if negative else "add", (total, term), term.type)
        assert total is not None
        return total

    def _column(self, values: Sequence[Fraction]) -> Parameter:
        """A new column of the table."""
        self._columns.append([Literal(decimal(value), DOUBLE) for value in values])
        return Parameter(len(self._columns) - 1, DOUBLE)

    def _rounded(self, e: Call) -> Expression:
        op, constant = self._round(e.name, e.args[:1], e.args[1])
        return Call(op, (e.args[0], constant), e.type)

    def _round(self, op: str, args: Sequence[Expression], constant: Expression) -> tuple[str, Expression]:
        """`>= 5.01` as `> 5` where values are whole multiples of 0.01, if that is shorter to say."""
        steps = {step(arg.type) for arg in args if is_exact(arg.type)}
        if op not in _OPEN or len(steps) != 1 or constant.type.kind not in _COUNTED:
            return op, constant
        open_op, sign = _OPEN[op]
        width = decimal(Fraction(steps.pop()))
        moved = [value + sign * width for value in self._values_of(constant)]
        if sum(map(digits, moved)) >= sum(map(digits, self._values_of(constant))):
            return op, constant
        return open_op, self._each(constant, lambda value: short(value + sign * width))

    def _sides(self, op: str, terms: list[tuple[Fraction, Expression]], constant: Expression) -> Expression:
        """`sum op constant` with the constant positive, or with one term alone on the left."""
        values = self._values_of(constant)
        zero = all(value == 0 for value in values)
        if zero or any(abs(c) != 1 for c, _ in terms):
            alone = _lonely(terms)
            if alone is not None:
                return self._solved(op, terms, alone, None if zero else constant)
        if all(value <= 0 for value in values) and not zero:
            terms, op = [(-c, arg) for c, arg in terms], MIRRORED[op]
            constant = self._each(constant, lambda value: -value)
        if {arg.type for _, arg in terms} == {TIMESTAMP}:
            constant = self._each(constant, lambda value: value, DAY_TIME)
        return Call(op, (_sum(sorted(terms, key=lambda term: term[0] < 0), None), constant), BOOLEAN)

    def _solved(
        self, op: str, terms: list[tuple[Fraction, Expression]], alone: int, constant: Expression | None
    ) -> Expression:
        """The same with one term alone on the left."""
        factor, left = terms[alone]
        right = [(-c / factor, arg) for i, (c, arg) in enumerate(terms) if i != alone]
        rest = None if constant is None else self._each(constant, lambda value: divided(value, factor))
        return Call(MIRRORED[op] if factor < 0 else op, (left, _sum(right, rest)), BOOLEAN)

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
        term = arg if size == 1 else Call("mul", (number(size), arg), arg.type)
        if total is None:
            total = term if coefficient > 0 else Call("neg", (term,), term.type)
        else:
            total = Call("add" if coefficient > 0 else "sub", (total, term), term.type)
    if constant is None:
        return total or Literal(0, BIGINT)
    return constant if total is None else Call("add", (total, constant), total.type)


def _lonely(terms: Sequence[tuple[Fraction, Expression]]) -> int | None:
    """The last term by which the others can be divided to short numbers."""
    return next((i for i in _by_column(terms) if _divides(terms, i)), None)


def _by_column(terms: Sequence[tuple[Fraction, Expression]]) -> list[int]:
    """The numbers of the terms, those of the last columns first."""
    return sorted(range(len(terms)), key=lambda i: -max(columns_of(terms[i][1]), default=-1))


def _divides(terms: Sequence[tuple[Fraction, Expression]], number: int) -> bool:
    return all(is_short(c / terms[number][0]) for c, _ in terms)


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


def enumerate_names(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMES} more" if len(listed) > MOST_NAMES else ""
    return ", ".join(listed[:MOST_NAMES]) + more


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things: 1 node, 2 nodes."""
    return f"{number} {one if number == 1 else many or one + 's'}"


_LARGEST_PLAIN = 1e15  # a DOUBLE that is written without exponent


def number(value: Fraction) -> Literal:
    """A coefficient as a constant."""
    return Literal(int(value), BIGINT) if value.denominator == 1 else Literal(float(value), DOUBLE)


def is_short(value: Fraction) -> bool:
    """Whether it has a short decimal form."""
    return 1000 % value.denominator == 0


def divided(value: Any, factor: Fraction) -> Any:
    """The quotient, whole if it can be."""
    exact = Fraction(value) / factor
    return int(exact) if exact.denominator == 1 else short(decimal(exact))


def decimal(value: Fraction) -> Decimal | int:
    """A fraction in decimals."""
    return int(value) if value.denominator == 1 else Decimal(value.numerator) / value.denominator


def digits(value: Any) -> int:
    """How many digits say it, but zeros at the end."""
    return len(f"{abs(value):f}".replace(".", "").strip("0"))


def short(value: object) -> Any:
    """Without zeros at the end of its fraction."""
    if not isinstance(value, Decimal):
        return value
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def tidy(literal: Literal) -> Literal:
    """A number as one would write it: 500, not 500.00."""
    value = literal.value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return Literal(int(value), BIGINT)
    return Literal(short(value), literal.type)
