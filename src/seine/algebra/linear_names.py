"""The names of linear functions: `linear[1,-2]` (x, y) is x - 2 * y.

The coefficients are in the name, so that terms with equal coefficients are equal. In a shape those
other than 1 and -1 are constants like others: `weighted` (x, y, 1, -2) is the same sum.
"""

from __future__ import annotations

from functools import lru_cache

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import BIGINT, Kind, Type

WEIGHTED = "weighted"
_PREFIX = "linear["
_MAX_DECIMAL_DIGITS = 38  # digits of a decimal


@lru_cache(maxsize=1 << 12)
def linear_name(coefficients: tuple[int, ...]) -> str:
    """The name of the function with these coefficients.

    >>> linear_name((1, -2))
    'linear[1,-2]'
    """
    return f"{_PREFIX}{','.join(map(str, coefficients))}]"


@lru_cache(maxsize=1 << 12)
def coefficients_of(name: str) -> tuple[int, ...] | None:
    """The coefficients of a function, None if it is not a linear one."""
    if not name.startswith(_PREFIX):
        return None
    return tuple(map(int, name[len(_PREFIX) : -1].split(",")))


def with_weights(condition: Expression) -> Expression:
    """A comparison of a linear term with a constant, its coefficients as constants too.

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
    """The linear term that a weighted one with known weights is."""
    half = len(term.args) // 2
    weights = [arg.value for arg in term.args[half:] if isinstance(arg, Literal)]
    return Call(linear_name(tuple(weights)), term.args[:half], term.type)
