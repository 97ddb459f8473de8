"""Equi-join conditions: equalities that can be the key of a join and route both sides to one bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard

from seine.algebra.expressions import Call, Column, Expression, columns_of, shift_columns
from seine.algebra.functions import common_type, resolve_cast
from seine.algebra.types import Kind, Type


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


def equal_columns(part: Expression) -> tuple[int, int] | None:
    """The two columns that a condition plainly says are equal, compared without loss.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> equal_columns(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN))
    (3, 0)
    """
    if not is_equality(part):
        return None
    one, other = map(punctuated_column, part.args)
    return None if one is None or other is None or one == other else (one, other)


def with_representatives(
    conditions: Iterable[Expression], expressions: Iterable[Expression]
) -> Iterator[Expression]:
    """Expressions over rows that satisfy conditions, each column replaced by the first that equals it.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(3, BIGINT)
    >>> [str(e) for e in with_representatives([Call("eq", (b, a), BOOLEAN)], [b, Column(4, BIGINT)])]
    ['#0', '#4']
    """
    groups: dict[int, set[int]] = {}
    for part in conditions:
        if is_equality(part) and _is_same_value(*part.args):
            one, other = columns_of(part.args[0]), columns_of(part.args[1])
            joined = {*one, *other}.union(*(groups.get(index, ()) for index in (*one, *other)))
            groups.update(dict.fromkeys(joined, joined))
    return (
        shift_columns(e, lambda index: min(groups.get(index, (index,)))) if groups else e for e in expressions
    )


def _is_same_value(one: Expression, other: Expression) -> bool:
    """Whether two sides of an equality are columns that then have one and the same value; zeros of doubles
    are equal and differ in their sign.
    """
    columns = isinstance(one, Column) and isinstance(other, Column)
    return columns and one.type == other.type and one.type.kind is not Kind.DOUBLE


def punctuated_column(expression: Expression) -> int | None:
    """The column that a key reads, if different values of the column are different keys."""
    match expression:
        case Column(index):
            return index
        case Call("cast", (Column(index, source),), target) if _is_injective(source, target):
            return index
    return None


def _is_injective(source: Type, target: Type) -> bool:
    """
    >>> from seine.algebra.types import BIGINT, DOUBLE, INT
    >>> _is_injective(INT, BIGINT), _is_injective(INT, DOUBLE), _is_injective(BIGINT, DOUBLE)
    (True, True, False)
    """
    if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL:
        return target.scale >= source.scale
    return target.kind in _KEEPING.get(source.kind, ())


_KEEPING = {
    Kind.INT: (Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL),
    Kind.BIGINT: (Kind.DECIMAL,),
    Kind.DATE: (Kind.TIMESTAMP,),
}
