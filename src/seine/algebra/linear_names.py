"""Linear functions as calls, their integer coefficients in the name: `linear[1,-2]` (x, y) is x - 2 * y.

So terms with equal coefficients are equal expressions. In a shape, coefficients other than 1 and -1 are
constants like all others: `weighted` (x, y, 1, -2) is the same sum.
"""

from __future__ import annotations

from functools import lru_cache

from seine.algebra.expressions import Call, Expression, Literal
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
