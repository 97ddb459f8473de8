"""What conditions say of how far times lie apart.

b.ts <= a.ts + 20        b.ts is at most 20 after a.ts
a.due - b.ts > 5         b.ts is at most -5 after a.due (less, in fact: what matters is that it is bounded)
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import NamedTuple

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.types import Kind
from seine.optimizer.canonical.linear import Linear, linear_form

_WHOLE = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP)


class Apart(NamedTuple):
    """`later` <= `earlier` + `span`, the first two by their columns."""

    later: int
    earlier: int
    span: int


def apart(condition: Expression) -> Iterator[Apart]:
    """What holds wherever a condition does.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> list(apart(resolve_call("le", [b, resolve_call("add", [a, literal(20)])])))
    [Apart(later=1, earlier=0, span=20)]
    """
    if not isinstance(condition, Call) or condition.name not in ("lt", "le", "gt", "ge", "eq"):
        return
    left, right = (linear_form(arg) for arg in condition.args)
    if left is None or right is None:
        return
    difference = left.plus(right, -1)
    if condition.name in ("lt", "le", "eq"):
        yield from _at_most_zero(difference)
    if condition.name in ("gt", "ge", "eq"):
        yield from _at_most_zero(difference.times(-1))


def _at_most_zero(form: Linear) -> Iterator[Apart]:
    """What follows if a form of two columns, one less the other, is at most zero."""
    found = {factor: base for base, factor in form.terms.items() if factor}
    if len(found) != 2 or found.keys() != {1, -1} or len([f for f in form.terms.values() if f]) != 2:
        return
    later, earlier = found[1], found[-1]
    if not (isinstance(later, Column) and isinstance(earlier, Column)):
        return
    if later.type.kind in _WHOLE and earlier.type.kind in _WHOLE:
        yield Apart(later.index, earlier.index, floor(-form.constant))
