"""The equalities of a join: what can route its two sides to the same bucket."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression, columns_of, conjunction, conjuncts, shift_columns
from seine.algebra.functions import common_type, resolve_cast


class JoinKeys(NamedTuple):
    """Keys over each side's own row, pairwise of one type, and what remains over both rows."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    residual: Expression | None


def split_equalities(predicate: Expression | None, width: int) -> JoinKeys:
    """Separate the equi-keys of a join whose left row has `width` columns from the rest.

    An equality is a key if each of its sides reads columns of one input alone, another each.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> keys = split_equalities(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN), 2)
    >>> str(keys.left[0]), str(keys.right[0]), keys.residual
    ('#0', '#1', None)
    """
    left, right, rest = [], [], []
    for part in conjuncts(predicate):
        pair = equated(part, lambda index: index < width)
        if pair is None:
            rest.append(part)
        else:
            left.append(pair[0])
            right.append(shift_columns(pair[1], lambda index: index - width))
    return JoinKeys(tuple(left), tuple(right), conjunction(rest))


def equated(part: Expression, is_left: Callable[[int], bool]) -> tuple[Expression, Expression] | None:
    """The left and the right side of an equality between the two sides, else None."""
    if not (isinstance(part, Call) and part.name == "eq"):
        return None
    one, other = part.args
    sides = [{is_left(index) for index in columns_of(arg)} for arg in (one, other)]
    if sides == [{True}, {False}]:
        return _one_type(one, other)
    if sides == [{False}, {True}]:
        return _one_type(other, one)
    return None


def _one_type(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    if left.type == right.type:
        return left, right
    type_ = common_type([left.type, right.type])
    return resolve_cast(left, type_), resolve_cast(right, type_)
