"""Sums that never fall: linear functions whose addends rise with one column.

A key of a join is a sum in one form, however the equality is written: `b = ts - ts % 10` has the key
`linear[1,-1](ts, mod(ts, 10))`. An addend with a positive coefficient may be anything that rises; one with a
negative coefficient has to be the remainder of a column that is added as often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.linear_names import coefficients_of


def rising_sum(expression: Expression, rises_in: Callable[[Expression], int | None]) -> int | None:
    """The column in which a linear function rises; None if it does not, or is none.

    `rises_in` tells it of an addend.

    >>> from seine.algebra.monotone import monotone_in
    >>> from seine.algebra.types import BIGINT
    >>> time, ten = Column(3, BIGINT), Literal(10, BIGINT)
    >>> rest = Call("mod", (time, ten), BIGINT)
    >>> rising_sum(Call("linear[1,-1]", (time, rest), BIGINT), monotone_in)
    3
    >>> rising_sum(Call("linear[1,-2]", (time, rest), BIGINT), monotone_in)
    """
    coefficients = coefficients_of(expression.name) if isinstance(expression, Call) else None
    if coefficients is None:
        return None
    assert isinstance(expression, Call)
    addends = [
        pair for pair in zip(coefficients, expression.args, strict=True) if not isinstance(pair[1], Literal)
    ]
    risen = [rises_in(base) for coefficient, base in addends if coefficient > 0]
    fallen = [base for coefficient, base in addends if coefficient <= 0]
    if not risen or len({*risen}) != 1 or not all(_is_remainder(base, addends) for base in fallen):
        return None
    return risen[0]


def _is_remainder(base: Expression, addends: Sequence[tuple[int, Expression]]) -> bool:
    """Whether an addend takes away the remainder of a column that is added as often."""
    match base:
        case Call("mod", (Column() as column, Literal(int(value)))) if value > 0:
            taken = sum(-c for c, other in addends if c < 0 and other.columns == column.columns)
            return taken <= sum(c for c, other in addends if other == column)
    return False
