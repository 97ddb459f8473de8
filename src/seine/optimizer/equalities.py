"""The equalities of a join: what can route its two sides to the same bucket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from seine.algebra.expressions import Call, Expression, columns_of
from seine.algebra.functions import common_type, resolve_cast


def is_equality(part: Expression) -> TypeGuard[Call]:
    return isinstance(part, Call) and part.name == "eq"


def connects(part: Expression, is_left: Callable[[int], bool]) -> bool:
    """Whether an equality has all columns of one of its sides on the left, and of the other not.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> connects(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN), lambda index: index < 2)
    True
    """
    if not is_equality(part):
        return False
    sides = [{is_left(index) for index in columns_of(arg)} for arg in part.args]
    return sides in ([{True}, {False}], [{False}, {True}])


def one_type(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Both sides of an equality with the type in which they are compared."""
    if left.type == right.type:
        return left, right
    type_ = common_type([left.type, right.type])
    return resolve_cast(left, type_), resolve_cast(right, type_)
