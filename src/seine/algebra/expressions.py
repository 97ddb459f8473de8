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
from collections.abc import Callable, Iterator, Sequence
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


@dataclass(frozen=True, init=False)
class Column(Expression):
    """The value at a position of the input row.

    Very many are asked for, and few are different: mostly, equal ones are the same object.
    """

    index: int
    type: Type

    def __new__(cls, index: int, type: Type) -> Column:
        found = _COLUMNS.get((index, type))
        return _new_column(index, type) if found is None else found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Column) and self.index == other.index and self.type == other.type

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.index, self.type)  # a hash means nothing in another process

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"#{self.index}"


_MOST_COLUMNS = 1 << 16
_COLUMNS: dict[tuple[int, Type], Column] = {}


def _new_column(index: int, type: Type) -> Column:
    column = object.__new__(Column)
    known = column.__dict__  # from now on it is frozen
    known["index"] = index
    known["type"] = type
    known["columns"] = frozenset((index,))
    known["_hash"] = hash((index, type))
    if len(_COLUMNS) >= _MOST_COLUMNS:
        _COLUMNS.clear()
    return _COLUMNS.setdefault((index, type), column)


@dataclass(frozen=True, init=False)
class Literal(Expression):
    """A constant: None, bool, int, float, Decimal, str, date, UTC datetime, or an interval's int.

    Two are equal if either can stand for the other: 0.0 is not -0.0, and NaN is NaN.
    """

    value: Any
    type: Type
    _exact: ClassVar[str]

    def __init__(self, value: Any, type: Type) -> None:
        known = self.__dict__  # very many are made, and from now on they are frozen
        known["value"] = value
        known["type"] = type
        known["_exact"] = exact = repr(value)
        known["_hash"] = hash(exact)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Literal) and self._exact == other._exact and self.type == other.type

    def __reduce__(self) -> tuple[Any, ...]:
        return Literal, (self.value, self.type)  # a hash means nothing in another process

    def __hash__(self) -> int:
        return self._hash

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


@dataclass(frozen=True, init=False)
class Call(Expression):
    """An operator or function applied to arguments."""

    name: str
    args: tuple[Expression, ...]
    type: Type

    def __init__(self, name: str, args: tuple[Expression, ...], type: Type) -> None:
        known = self.__dict__  # very many are made, and from now on they are frozen
        known["name"] = name
        known["args"] = args
        known["type"] = type
        known["size"] = 1 + sum([arg.size for arg in args])
        known["columns"] = _NO_COLUMNS.union(*[arg.columns for arg in args])
        known["_hash"] = hash((name, args, type))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Call) or self._hash != other._hash:
            return False
        same_type = self.type is other.type or self.type == other.type
        return same_type and self.name == other.name and self.args == other.args

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.name, self.args, self.type)  # a hash means nothing in another process

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


@lru_cache(maxsize=1 << 15)
def same(expression: Expression) -> Expression:
    """Of equal expressions mostly the same object: whatever is looked up by it is found at first sight."""
    return expression


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


class Renumbering:
    """Moves columns by a table of the new positions; what was done before is remembered."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self._places = places
        self._known: dict[Expression, Expression] = {}

    def __call__(self, expression: Expression) -> Expression:
        found = self._known.get(expression)
        if found is None:
            if len(self._known) >= _MOST_RENUMBERED:
                self._known.clear()
            found = self._known[expression] = shift_columns(expression, self._places.__getitem__)
        return found


_MOST_RENUMBERED = 1 << 13
renumbering = lru_cache(maxsize=64)(Renumbering)  # one for each table


def renumber(expression: Expression, places: tuple[int, ...]) -> Expression:
    """Renumber by a table of the new positions."""
    return renumbering(places)(expression)


def substitute(expression: Expression, by: Sequence[Expression]) -> Expression:
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
