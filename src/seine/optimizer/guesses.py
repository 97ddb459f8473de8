"""Default selectivities of predicates, for when there is no sample of the data."""

from __future__ import annotations

from math import prod

from seine.algebra.expressions import Call, Expression, Literal

EQUAL = 0.1
RANGE = 0.3
LIKE = 0.25
UNKNOWN = 0.5

_BY_NAME = {
    "eq": EQUAL,
    "ne": 1 - EQUAL,
    "lt": RANGE,
    "le": RANGE,
    "gt": RANGE,
    "ge": RANGE,
    "like": LIKE,
    "rlike": LIKE,
    "is_null": EQUAL,
    "is_not_null": 1 - EQUAL,
}


def guess(predicate: Expression) -> float:
    """The share of rows that satisfy a predicate, by its form alone.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> one = resolve_call("eq", [Column(0, INT), literal(1)])
    >>> guess(one), round(guess(Call("or", (one, one), one.type)), 2)
    (0.1, 0.19)
    """
    match predicate:
        case Literal(value):
            return 1.0 if value is True else 0.0
        case Call("and", args):
            return prod(map(guess, args))
        case Call("or", args):
            return 1 - prod(1 - guess(arg) for arg in args)
        case Call("not", (arg,)):
            return 1 - guess(arg)
        case Call("in", args):
            return min(EQUAL * (len(args) - 1), 1.0)
        case Call(name):
            return _BY_NAME.get(name, UNKNOWN)
    return UNKNOWN
