"""Scalar expressions over the columns of one row, addressed by position.

There are four frozen node classes: column, literal, parameter and call; everything that computes,
operators included, is a `Call` by canonical name. Since columns are positions, queries that differ
in aliases alone have equal expressions.

Canonical names of the operators (functions keep Spark's name in lower case):
    add sub mul div mod neg   eq ne lt le gt ge   and or not   is_null is_not_null
    like rlike in coalesce case cast concat  (a front end writes BETWEEN as ge AND le)
`in`   (x, v1, v2, ...)                     three-valued as SQL's
`case` (cond1, value1, ..., [else])         odd number of arguments: the last is ELSE
`cast` (x)                                  the target is the type of the call
`and`, `or`                                 two or more arguments
`like` (x, pattern [, escape])              pattern any string expression
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import is_
from typing import Any, ClassVar

from seine.algebra.types import Kind, Type

_NO_COLUMNS: frozenset[int] = frozenset()


class Expression:
    """Base class of the four node classes; `type` is fixed at construction.

    Expressions serve as keys and are searched for columns all the time, so each stores its size (in
    nodes), the set of positions that it reads, and its hash.
    """

    type: Type
    size: ClassVar[int] = 1
    columns: ClassVar[frozenset[int]] = _NO_COLUMNS
    _hash: ClassVar[int]


@dataclass(frozen=True, init=False)
class Column(Expression):
    """A column reference: the value at a position of the input row.

    Interned: equal references are mostly the same object, since very many are made and few differ.
    """

    index: int
    type: Type

    def __new__(cls, index: int, type: Type) -> Column:
        interned = _INTERNED_COLUMNS.get((index, type))
        return _new_column(index, type) if interned is None else interned

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Column) and self.index == other.index and self.type is other.type

    def __reduce__(self) -> tuple[Any, ...]:
        return Column, (self.index, self.type)  # a hash means nothing in another process

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"#{self.index}"


_MAX_INTERNED_COLUMNS = 1 << 16
_INTERNED_COLUMNS: dict[tuple[int, Type], Column] = {}


def _new_column(index: int, type: Type) -> Column:
    column = object.__new__(Column)
    attributes = column.__dict__  # from now on it is frozen
    attributes["index"] = index
    attributes["type"] = type
    attributes["columns"] = frozenset((index,))
    attributes["_hash"] = hash((index, type))
    if len(_INTERNED_COLUMNS) >= _MAX_INTERNED_COLUMNS:
        _INTERNED_COLUMNS.clear()
    return _INTERNED_COLUMNS.setdefault((index, type), column)


@dataclass(frozen=True, init=False)
class Literal(Expression):
    """A constant: None, bool, int, float, Decimal, str, date, UTC datetime, or an interval's int.

    Two literals are equal if they are interchangeable in every expression: 0.0 is not -0.0, NaN is NaN.
    """

    value: Any
    type: Type
    _repr: ClassVar[str]

    def __init__(self, value: object, type: Type) -> None:
        attributes = self.__dict__  # very many are made, and from now on they are frozen
        attributes["value"] = value
        attributes["type"] = type
        attributes["_repr"] = exact = repr(value)
        attributes["_hash"] = hash(exact)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Literal) and self._repr == other._repr and self.type is other.type

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


@dataclass(frozen=True, init=False)
class Parameter(Expression):
    """A parameter of a shape: stands for the constant in column `index` of a parameter table.

    Interned as columns are.
    """

    index: int
    type: Type

    def __new__(cls, index: int, type: Type) -> Parameter:
        interned = _INTERNED_PARAMETERS.get((index, type))
        return _new_parameter(index, type) if interned is None else interned

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Parameter) and self.index == other.index and self.type is other.type

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameter, (self.index, self.type)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"?{self.index}"


_MAX_INTERNED_PARAMETERS = 1 << 14
_INTERNED_PARAMETERS: dict[tuple[int, Type], Parameter] = {}


def _new_parameter(index: int, type: Type) -> Parameter:
    parameter = object.__new__(Parameter)
    attributes = parameter.__dict__  # from now on it is frozen
    attributes["index"] = index
    attributes["type"] = type
    attributes["_hash"] = hash(("?", index, type))
    if len(_INTERNED_PARAMETERS) >= _MAX_INTERNED_PARAMETERS:
        _INTERNED_PARAMETERS.clear()
    return _INTERNED_PARAMETERS.setdefault((index, type), parameter)


@dataclass(frozen=True, init=False)
class Call(Expression):
    """An operator or function applied to arguments."""

    name: str
    args: tuple[Expression, ...]
    type: Type

    def __init__(self, name: str, args: tuple[Expression, ...], type: Type) -> None:
        attributes = self.__dict__  # very many are made, and from now on they are frozen
        attributes["name"] = name
        attributes["args"] = args
        attributes["type"] = type
        size, columns = 1, _NO_COLUMNS
        for arg in args:
            size += arg.size
            read = arg.columns
            if read and read is not columns:
                columns = columns | read if columns else read
        attributes["size"] = size
        attributes["columns"] = columns
        attributes["_hash"] = hash((name, args, type))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Call) or self._hash != other._hash:
            return False
        return self.type is other.type and self.name == other.name and self.args == other.args

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.name, self.args, self.type)  # a hash means nothing in another process

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        attributes = self.__dict__
        if "_text" not in attributes:
            attributes["_text"] = f"{self.name}({', '.join(map(str, self.args))})"
        text: str = attributes["_text"]
        return text


def walk(expression: Expression) -> Iterator[Expression]:
    """All nodes of the expression tree in pre-order."""
    yield expression
    if isinstance(expression, Call):
        for arg in expression.args:
            yield from walk(arg)


def repeated_calls(expression: Call) -> frozenset[Expression]:
    """The calls that occur more than once in an expression, but for those that only such a call has within.

    >>> from seine.algebra.types import INT
    >>> once = Call("neg", (Column(0, INT),), INT)
    >>> [str(call) for call in repeated_calls(Call("add", (once, once), INT))]
    ['neg(#0)']
    """
    attributes = expression.__dict__
    if "_repeated" not in attributes:
        met: set[Expression] = set()
        repeated: set[Expression] = set()
        left: list[Expression] = [expression]
        while left:
            one = left.pop()
            if not isinstance(one, Call):
                continue
            if one in met:
                repeated.add(one)
            else:
                met.add(one)
                left += one.args
        attributes["_repeated"] = frozenset(repeated)
    known: frozenset[Expression] = attributes["_repeated"]
    return known


@lru_cache(maxsize=1 << 15)
def intern_expression(expression: Expression) -> Expression:
    """Intern an expression: equal ones mostly become one object, so that look-ups compare by identity."""
    return expression


def columns_of(expression: Expression) -> frozenset[int]:
    """The positions of the input row that an expression reads."""
    return expression.columns


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild the tree bottom-up, replacing every node by `change(node)`."""
    if isinstance(expression, Call):
        args = tuple([rewrite(arg, change) for arg in expression.args])
        if not all(map(is_, args, expression.args)):
            expression = Call(expression.name, args, expression.type)
    return change(expression)


def shift_columns(expression: Expression, mapping: Callable[[int], int]) -> Expression:
    """The expression with each column position replaced by `mapping(position)`."""
    for index in expression.columns:
        if mapping(index) != index:
            return _shifted(expression, mapping)
    return expression


def _shifted(expression: Expression, mapping: Callable[[int], int]) -> Expression:
    if not expression.columns:
        return expression
    if isinstance(expression, Call):
        args = tuple([_shifted(arg, mapping) for arg in expression.args])
        return Call(expression.name, args, expression.type)
    assert isinstance(expression, Column)
    index, type_ = mapping(expression.index), expression.type
    return _INTERNED_COLUMNS.get((index, type_)) or _new_column(index, type_)


class Renumbering:
    """A memoised renumbering of columns: position i becomes `positions[i]`."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        self._positions = positions
        self._cache: dict[Expression, Expression] = {}

    def __call__(self, expression: Expression) -> Expression:
        renumbered = self._cache.get(expression)
        if renumbered is None:
            if len(self._cache) >= _MAX_CACHED_EXPRESSIONS:
                self._cache.clear()
            renumbered = self._cache[expression] = shift_columns(expression, self._positions.__getitem__)
        return renumbered


_MAX_CACHED_EXPRESSIONS = 1 << 12
renumbering = lru_cache(maxsize=1 << 8)(Renumbering)  # one for each table of positions


def renumber(expression: Expression, positions: tuple[int, ...]) -> Expression:
    """The expression with column i replaced by column `positions[i]`; memoised."""
    return renumbering(positions)(expression)


def substitute(expression: Expression, by: Sequence[Expression]) -> Expression:
    """The expression with each column replaced by the expression at its position in `by`; a part without
    columns stays the same object.
    """
    if not expression.columns:
        return expression
    if isinstance(expression, Call):
        args = tuple([substitute(arg, by) for arg in expression.args])
        return Call(expression.name, args, expression.type)
    assert isinstance(expression, Column)
    return by[expression.index]


def split_shape(expression: Expression) -> tuple[Expression, tuple[Literal, ...]]:
    """Replace the constants by parameters: the shape, which queries share, and the constants in order.

    NULL is no constant: it stays in the shape.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> shape, constants = split_shape(Call("gt", (Column(0, BIGINT), Literal(7, BIGINT)), BOOLEAN))
    >>> str(shape), [c.value for c in constants]
    ('gt(#0, ?0)', [7])
    """
    constants: list[Literal] = []

    def change(node: Expression) -> Expression:
        if not isinstance(node, Literal) or node.value is None:
            return node
        constants.append(node)
        return Parameter(len(constants) - 1, node.type)

    return rewrite(expression, change), tuple(constants)


def conjuncts(expression: Expression | None) -> list[Expression]:
    """The operands of a conjunction, nested ones flattened; none for None."""
    if expression is None:
        return []
    if isinstance(expression, Call) and expression.name == "and":
        return [part for arg in expression.args for part in conjuncts(arg)]
    return [expression]


def conjunction(parts: list[Expression]) -> Expression | None:
    """The conjunction of some conditions, None for none: the inverse of `conjuncts`."""
    from seine.algebra.types import BOOLEAN

    if not parts:
        return None
    return parts[0] if len(parts) == 1 else Call("and", tuple(parts), BOOLEAN)


def to_json(expression: Expression) -> list[Any]:
    """An expression as a JSON value. Law: from_json(to_json(expression)) == expression."""
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
    """The expression that a JSON value of `to_json` stands for."""
    tag, type_ = form[0], Type.parse(form[1])
    if tag == "col":
        return Column(form[2], type_)
    if tag == "par":
        return Parameter(form[2], type_)
    if tag == "lit":
        return Literal(value_from_json(form[2], type_), type_)
    return Call(form[2], tuple(map(from_json, form[3:])), type_)


def value_to_json(value: object) -> Any:
    """The value of a literal as a JSON value: dates, timestamps and decimals as text."""
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return value


def value_from_json(value: Any, type_: Type) -> Any:
    """The value of a literal of a type that `value_to_json` wrote."""
    if value is None:
        return None
    if type_.kind is Kind.DATE:
        return dt.date.fromisoformat(value)
    if type_.kind is Kind.TIMESTAMP:
        return dt.datetime.fromisoformat(value)
    if type_.kind is Kind.DECIMAL:
        return Decimal(value)
    return value
