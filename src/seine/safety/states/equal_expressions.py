"""What conditions make equal to an expression: by what is equal to all of it, or to a part.

date_trunc('hour', a.ts) = date_trunc('hour', b.ts)
date_trunc('day', date_trunc('hour', a.ts))     is also the day of the hour of b.ts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seine.algebra.expressions import Call, Expression, rewrite

_MOST_EQUAL = 16  # that are looked at


def equal_expressions(expression: Expression, conditions: Iterable[Expression]) -> list[Expression]:
    """An expression, and others that have its value wherever the conditions hold.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(4, BIGINT)
    >>> [str(one) for one in equal_expressions(Call("neg", (a,), BIGINT), [Call("eq", (a, b), BOOLEAN)])]
    ['neg(#0)', 'neg(#4)']
    """
    sides = [pair for condition in conditions for pair in _both_ways(condition)]
    equal = [expression]
    for one in equal:
        made = [_replaced(one, side, other) for side, other in sides]
        equal += [other for other in dict.fromkeys(made) if other not in equal]
        if len(equal) > _MOST_EQUAL:
            break
    return equal


def _both_ways(condition: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Each side of an equality that is computed of columns, and what is equal to it."""
    match condition:
        case Call("eq", (one, other)) if one.type == other.type:
            yield from ((side, equal) for side, equal in ((one, other), (other, one)) if side.columns)


def _replaced(expression: Expression, part: Expression, by: Expression) -> Expression:
    return rewrite(expression, lambda one: by if one == part else one)
