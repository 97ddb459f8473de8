"""Which columns conditions bound by others: `b.ts <= a.ts + 20` bounds b.ts by a.ts."""

from __future__ import annotations

from collections.abc import Iterator

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.types import Kind
from seine.optimizer.canonical.linear import Linear, linear_form

_WHOLE = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP)


def bounded_by(condition: Expression) -> Iterator[tuple[int, int]]:
    """Pairs of columns of which the first is at most the second and a constant, wherever a condition holds.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> list(bounded_by(resolve_call("le", [b, resolve_call("add", [a, literal(20)])])))
    [(1, 0)]
    """
    if not isinstance(condition, Call) or condition.name not in ("lt", "le", "gt", "ge", "eq"):
        return
    left, right = (linear_form(arg) for arg in condition.args)
    if left is None or right is None:
        return
    difference = left.plus(right, -1)
    if condition.name in ("lt", "le", "eq"):
        yield from _at_most_constant(difference)
    if condition.name in ("gt", "ge", "eq"):
        yield from _at_most_constant(difference.times(-1))


def _at_most_constant(form: Linear) -> Iterator[tuple[int, int]]:
    """What follows if one column less another is at most a constant."""
    used = {base: factor for base, factor in form.terms.items() if factor}
    if sorted(used.values()) != [-1, 1]:
        return
    earlier, later = sorted(used, key=lambda base: used[base])
    if not (isinstance(later, Column) and isinstance(earlier, Column)):
        return
    if later.type.kind in _WHOLE and earlier.type.kind in _WHOLE:
        yield later.index, earlier.index
