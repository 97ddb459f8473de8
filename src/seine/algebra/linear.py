"""Linear functions as calls, their integer coefficients in the name: `linear[1,-2]` (x, y) is x - 2 * y.

So terms with equal coefficients are equal expressions. In a shape, coefficients other than 1 and -1 are
constants like all others: `weighted` (x, y, 1, -2) is the same sum.

Upper bounds of event-time columns, by other columns and a constant, that canonical conditions imply.

The safety check, the network builder and the operators all derive bounds by these rules, so that state which
is judged to be purgeable is purged.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BIGINT, Kind, Type

WEIGHTED = "weighted"
_PREFIX = "linear["
_MAX_DECIMAL_DIGITS = 38


@lru_cache(maxsize=1 << 12)
def linear_name(coefficients: tuple[int, ...]) -> str:
    """The name of the linear function with these coefficients.

    >>> linear_name((1, -2))
    'linear[1,-2]'
    """
    return f"{_PREFIX}{','.join(map(str, coefficients))}]"


@lru_cache(maxsize=1 << 12)
def coefficients_of(name: str) -> tuple[int, ...] | None:
    """The coefficients in the name of a linear function; None for any other function."""
    if not name.startswith(_PREFIX):
        return None
    return tuple(map(int, name[len(_PREFIX) : -1].split(",")))


def with_weights(condition: Expression) -> Expression:
    """Rewrite a comparison of a linear term with a constant so that the coefficients are constants too.

    A term whose coefficients are all 1 or -1, and any other condition, stays as it is.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BOOLEAN
    >>> term = Call("linear[1,-2]", (Column(0, BIGINT), Column(1, BIGINT)), BIGINT)
    >>> str(with_weights(Call("ge", (term, Literal(0, BIGINT)), BOOLEAN)))
    'ge(weighted(#0, #1, 1, -2), 0)'
    """
    match condition:
        case Call(op, (Call(name, args) as term, Literal(value)), type_):
            coefficients = coefficients_of(name)
            if coefficients is None or all(abs(c) == 1 for c in coefficients):
                return condition
            wide = (
                Type(Kind.DECIMAL, _MAX_DECIMAL_DIGITS, term.type.scale)
                if term.type.kind is Kind.DECIMAL
                else BIGINT
            )
            weights = tuple(Literal(c, BIGINT) for c in coefficients)
            return Call(op, (Call(WEIGHTED, (*args, *weights), wide), Literal(value, wide)), type_)
    return condition


def without_weights(term: Call) -> Call:
    """The linear term that a `weighted` call with constant weights stands for."""
    half = len(term.args) // 2
    weights = [arg.value for arg in term.args[half:] if isinstance(arg, Literal)]
    return Call(linear_name(tuple(weights)), term.args[:half], term.type)


_TIME_KINDS = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP)
Terms = tuple[tuple[int, int], ...]  # a sum of columns, each with its sign (1 or -1)


class UpperBound(NamedTuple):
    """The inequality `column` <= sum of `terms` + `sign` * `constant`; a constant of None is zero."""

    column: int
    terms: Terms
    sign: int = 1
    constant: Expression | None = None


def is_time(expression: Expression) -> bool:
    """Whether an expression is a column of integers or timestamps (a DOUBLE may be infinite)."""
    return isinstance(expression, Column) and expression.type.kind in _TIME_KINDS


def time_column(expression: Expression) -> int | None:
    """The column of integers or timestamps that an expression is, perhaps cast to BIGINT; else None."""
    match expression:
        case Column(index) if is_time(expression):
            return index
        case Call("cast", (Column(index) as column,), type_) if is_time(column) and type_ == BIGINT:
            return index
    return None


def upper_bounds(part: Expression) -> Iterator[UpperBound]:
    """The upper bounds that a canonical condition implies: of each column it bounds above, by all others.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> [(bound.column, bound.terms) for bound in upper_bounds(Call("eq", (a, b), BOOLEAN))]
    [(0, ((1, 1),)), (1, ((0, 1),))]
    >>> term = Call("linear[1,-1]", (a, b), BIGINT)
    >>> [(bound.column, bound.terms, bound.sign) for bound in upper_bounds(Call("ge", (term, a), BOOLEAN))]
    [(1, ((0, 1),), -1)]
    """
    match part:
        case Call("eq", (Column() as one, Column() as other)) if is_time(one) and is_time(other):
            yield UpperBound(one.index, ((other.index, 1),))
            yield UpperBound(other.index, ((one.index, 1),))
        case Call("eq" | "le" | "lt" | "ge" | "gt" as op, (Call(name, args), constant)):
            signs = coefficients_of(name)
            columns = [arg.index for arg in args if isinstance(arg, Column) and is_time(arg)]
            if signs is None or len(columns) != len(args) or any(abs(sign) != 1 for sign in signs):
                return
            for place, sign in enumerate(signs):
                if op == "eq" or op in (("le", "lt") if sign > 0 else ("ge", "gt")):
                    pairs = zip(columns, signs, strict=True)
                    terms = [(column, -sign * s) for at, (column, s) in enumerate(pairs) if at != place]
                    yield UpperBound(columns[place], tuple(terms), sign, constant)
