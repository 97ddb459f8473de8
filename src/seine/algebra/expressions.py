"""Scalar expressions over the columns of one row, addressed by position.

Four frozen nodes are enough: everything that computes, operators included, is a
`Call` by canonical name. Positions instead of names make two queries that say the
same with other aliases the same expression.

Canonical names of the operators (functions keep Spark's name in lower case):
    add sub mul div mod neg   eq ne lt le gt ge   and or not   is_null is_not_null
    like rlike in coalesce case cast concat  (a front end writes BETWEEN as ge AND le)
`in`   (x, v1, v2, ...)                     three-valued as SQL's
`case` (cond1, value1, ..., [else])         odd number of arguments: the last is ELSE
`cast` (x)                                  the target is the call's own type
`and`, `or`                                 two or more arguments
`like` (x, pattern [, escape])              pattern any string expression
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from seine.algebra.types import Kind, Type

_NO_COLUMNS: frozenset[int] = frozenset()


class Expression:
    """Base of the four nodes; `type` is known from construction.

    Expressions are looked up and searched for columns all the time, so each knows its size (in
    nodes), the positions that it reads, and its hash.
    """

    type: Type
    size: ClassVar[int] = 1
    columns: ClassVar[frozenset[int]] = _NO_COLUMNS
    _hash: ClassVar[int]


@dataclass(frozen=True)
class Column(Expression):
    """The value at a position of the input row."""

    index: int
    type: Type

    def __post_init__(self) -> None:
        known = self.__dict__  # frozen, but these follow from the fields
        known["columns"] = frozenset((self.index,))
        known["_hash"] = hash((self.index, self.type))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"#{self.index}"


@dataclass(frozen=True)
class Literal(Expression):
    """A constant: None, bool, int, float, Decimal, str, date, UTC datetime, or an interval's int.

    Two are equal if either can stand for the other: 0.0 is not -0.0, and NaN is NaN.
    """

    value: Any
    type: Type

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Literal) and self.type == other.type and self._exact == other._exact

    def __hash__(self) -> int:
        return hash(self._exact)

    @property
    def _exact(self) -> str:
        known = self.__dict__
        if "_repr" not in known:
            known["_repr"] = repr(self.value)
        text: str = known["_repr"]
        return text

    def __str__(self) -> str:
        return (
            "NULL"
            if self.value is None
            else repr(self.value)
            if isinstance(self.value, str)
            else str(self.value)
        )


@dataclass(frozen=True)
class Parameter(Expression):
    """A hole of a shape: the constant in column `index` of its parameter table."""

    index: int
    type: Type

    def __str__(self) -> str:
        return f"?{self.index}"


@dataclass(frozen=True)
class Call(Expression):
    """An operator or function applied to arguments."""

    name: str
    args: tuple[Expression, ...]
    type: Type

    def __post_init__(self) -> None:
        known = self.__dict__  # frozen, but these follow from the fields
        known["size"] = 1 + sum(arg.size for arg in self.args)
        known["columns"] = _NO_COLUMNS.union(*[arg.columns for arg in self.args])
        known["_hash"] = hash((self.name, self.args, self.type))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        known = self.__dict__
        if "_text" not in known:
            known["_text"] = f"{self.name}({', '.join(map(str, self.args))})"
        text: str = known["_text"]
        return text


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything beneath it, parents first."""
    yield expression
    if isinstance(expression, Call):
        for arg in expression.args:
            yield from walk(arg)


def columns_of(expression: Expression) -> frozenset[int]:
    """The positions of the input row that an expression reads."""
    return expression.columns


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild bottom-up, passing every node through `change`."""
    if isinstance(expression, Call):
        args = tuple(rewrite(arg, change) for arg in expression.args)
        if any(new is not old for new, old in zip(args, expression.args, strict=True)):
            expression = Call(expression.name, args, expression.type)
    return change(expression)


def shift_columns(expression: Expression, mapping: Callable[[int], int]) -> Expression:
    """Renumber the columns of an expression."""
    if all(mapping(index) == index for index in expression.columns):
        return expression
    return _with_columns(expression, lambda column: Column(mapping(column.index), column.type))


@lru_cache(maxsize=1 << 16)
def renumber(expression: Expression, places: tuple[int, ...]) -> Expression:
    """Renumber by a table of the new positions; what was done before is remembered."""
    return shift_columns(expression, places.__getitem__)


def substitute(expression: Expression, by: tuple[Expression, ...] | list[Expression]) -> Expression:
    """Replace each column by the expression at its position."""
    return _with_columns(expression, lambda column: by[column.index])


def _with_columns(expression: Expression, change: Callable[[Column], Expression]) -> Expression:
    """Rebuild with other columns; what has none stays."""
    if not expression.columns:
        return expression
    if isinstance(expression, Column):
        return change(expression)
    assert isinstance(expression, Call)
    args = tuple([_with_columns(arg, change) for arg in expression.args])
    return Call(expression.name, args, expression.type)


def split_shape(expression: Expression) -> tuple[Expression, tuple[Literal, ...]]:
    """Take the constants out: what remains is the shape that queries share.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> shape, constants = split_shape(Call("gt", (Column(0, BIGINT), Literal(7, BIGINT)), BOOLEAN))
    >>> str(shape), [c.value for c in constants]
    ('gt(#0, ?0)', [7])
    """
    constants: list[Literal] = []

    def change(e: Expression) -> Expression:
        if not isinstance(e, Literal) or e.value is None:
            return e
        constants.append(e)
        return Parameter(len(constants) - 1, e.type)

    return rewrite(expression, change), tuple(constants)


def conjuncts(expression: Expression | None) -> list[Expression]:
    """The parts of a conjunction; none for no expression."""
    if expression is None:
        return []
    if isinstance(expression, Call) and expression.name == "and":
        return [part for arg in expression.args for part in conjuncts(arg)]
    return [expression]


def conjunction(parts: list[Expression]) -> Expression | None:
    """The inverse of `conjuncts`."""
    from seine.algebra.types import BOOLEAN

    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Call("and", tuple(parts), BOOLEAN)


def to_json(expression: Expression) -> list[Any]:
    """A JSON form that `from_json` reads back."""
    match expression:
        case Column(index, type_):
            return ["col", str(type_), index]
        case Parameter(index, type_):
            return ["par", str(type_), index]
        case Literal(value, type_):
            return ["lit", str(type_), value_to_json(value)]
        case Call(name, args, type_):
            return ["call", str(type_), name, *map(to_json, args)]
    raise TypeError(f"not an expression: {expression!r}")


def from_json(form: list[Any]) -> Expression:
    tag, type_ = form[0], Type.parse(form[1])
    if tag == "col":
        return Column(form[2], type_)
    if tag == "par":
        return Parameter(form[2], type_)
    if tag == "lit":
        return Literal(value_from_json(form[2], type_), type_)
    return Call(form[2], tuple(map(from_json, form[3:])), type_)


def value_to_json(value: Any) -> Any:
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value


def value_from_json(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    if type_.kind is Kind.DATE:
        return dt.date.fromisoformat(value)
    if type_.kind is Kind.TIMESTAMP:
        return dt.datetime.fromisoformat(value)
    if type_.kind is Kind.DECIMAL:
        return Decimal(value)
    return value
