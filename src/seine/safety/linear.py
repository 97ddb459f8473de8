"""What a condition says of columns: that two are equal, or that some bound another from above.

Only whole numbers and times are looked at: a DOUBLE may be infinite, and then it bounds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import Kind

_WHOLE = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP, Kind.DAY_TIME)
_FLIPPED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}


@dataclass(frozen=True)
class Sum:
    """Columns with their factors, and a constant."""

    factors: Mapping[int, int]
    constant: int = 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        factors = dict(self.factors)
        for column, factor in other.factors.items():
            factors[column] = factors.get(column, 0) + times * factor
        kept = {column: factor for column, factor in factors.items() if factor}
        return Sum(kept, self.constant + times * other.constant)


@dataclass(frozen=True)
class Bound:
    """`column` is at most a sum of the columns that are known and of those with an upper bound."""

    column: int
    known: frozenset[int]
    bounded: frozenset[int]


def equal_columns(condition: Expression) -> tuple[int, int] | None:
    """The two columns that a condition says are equal, compared without loss.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> equal_columns(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN))
    (3, 0)
    """
    if not isinstance(condition, Call) or condition.name != "eq":
        return None
    one, other = (_uncast(arg) for arg in condition.args)
    if isinstance(one, Column) and isinstance(other, Column):
        return (one.index, other.index)
    difference = _compared(condition)
    if difference is None or difference.constant or sorted(difference.factors.values()) != [-1, 1]:
        return None
    first, second = difference.factors
    return (first, second)


def bounds(condition: Expression) -> Iterator[Bound]:
    """The upper bounds that follow from a condition alone.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> [(b.column, sorted(b.bounded)) for b in bounds(Call("le", (a, b), BOOLEAN))]
    [(0, [1])]
    """
    if isinstance(condition, Call) and condition.name == "not":
        condition = _negated(condition.args[0])
    difference = _compared(condition)
    if difference is None or not isinstance(condition, Call):
        return
    if condition.name in ("lt", "le", "eq"):
        yield from _at_most(difference)
    if condition.name in ("gt", "ge", "eq"):
        yield from _at_most(Sum({}).plus(difference, -1))


def _at_most(difference: Sum) -> Iterator[Bound]:
    """What is bounded if a sum is at most zero: what has a positive factor, by all the others."""
    for column, factor in difference.factors.items():
        if factor > 0:
            others = {c: f for c, f in difference.factors.items() if c != column}
            known = frozenset(c for c, f in others.items() if f > 0)
            yield Bound(column, known, frozenset(c for c, f in others.items() if f < 0))


def _negated(condition: Expression) -> Expression:
    if isinstance(condition, Call) and condition.name in _FLIPPED:
        return Call(_FLIPPED[condition.name], condition.args, condition.type)
    return condition if isinstance(condition, Literal) else Call("not", (condition,), condition.type)


def _compared(condition: Expression) -> Sum | None:
    """The left side of a comparison less its right side."""
    if not isinstance(condition, Call) or condition.name not in ("lt", "le", "gt", "ge", "eq"):
        return None
    left, right = (_sum(arg) for arg in condition.args)
    return left.plus(right, -1) if left is not None and right is not None else None


def _sum(expression: Expression) -> Sum | None:
    expression = _uncast(expression)
    if expression.type.kind not in _WHOLE:
        return None
    match expression:
        case Column(index, _):
            return Sum({index: 1})
        case Literal(value, type_):
            return Sum({}, value) if isinstance(value, int) and type_.kind is not Kind.TIMESTAMP else None
        case Call("add" | "sub" as name, (one, other), _):
            left, right = _sum(one), _sum(other)
            if left is None or right is None:
                return None
            return left.plus(right, 1 if name == "add" else -1)
        case Call("neg", (one,), _):
            negated = _sum(one)
            return None if negated is None else Sum({}).plus(negated, -1)
    return None


def _uncast(expression: Expression) -> Expression:
    """Without casts that lose nothing."""
    while isinstance(expression, Call) and expression.name == "cast":
        if (expression.args[0].type.kind, expression.type.kind) != (Kind.INT, Kind.BIGINT):
            return expression
        expression = expression.args[0]
    return expression
