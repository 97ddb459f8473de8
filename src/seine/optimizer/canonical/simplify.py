"""One spelling for what is computed: constants are folded, operands of commutative operators ordered."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Call, Column, Expression, Literal, rewrite
from seine.algebra.types import Kind, Type
from seine.operators.evaluate import evaluate
from seine.optimizer.canonical.numbers import is_exact, literal_of, number_of

_COMMUTATIVE = ("eq", "ne", "eq_null_safe")
_COMMUTATIVE_ON_NUMBERS = ("add", "mul")  # a date stays to the left of an interval
_REPEATABLE = ("and", "or")  # any number of operands, each needed once


@lru_cache(maxsize=1 << 14)
def simplify(expression: Expression) -> Expression:
    """An expression with the same value in every row.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import DOUBLE
    >>> two = resolve_call("add", [literal(1), literal(1)])
    >>> str(simplify(resolve_call("mul", [two, Column(0, DOUBLE)])))
    'mul(#0, 2.0)'
    """
    return rewrite(expression, _simplify_node)


def rank(expression: Expression) -> tuple[int, int, str]:
    """The order of operands: columns by position, then what is computed, constants last."""
    match expression:
        case Column(index, _):
            return (0, index, "")
        case Literal():
            return (2, 0, str(expression))
    return (1, 0, str(expression))


def _simplify_node(expression: Expression) -> Expression:
    if isinstance(expression, Literal):
        return tidy(expression)
    if not isinstance(expression, Call):
        return expression
    args = expression.args
    if all(isinstance(arg, Literal) for arg in args):
        return fold(expression)
    on_numbers = expression.name in _COMMUTATIVE_ON_NUMBERS and expression.type.is_numeric
    if on_numbers or expression.name in _COMMUTATIVE:
        ordered = tuple(sorted(args, key=rank))
    elif expression.name in _REPEATABLE:
        ordered = tuple(sorted(_flat(expression), key=rank))
    else:
        return expression
    return expression if ordered == args else Call(expression.name, ordered, expression.type)


def _flat(call: Call) -> dict[Expression, None]:
    """The operands of nested ANDs or ORs, each once."""
    found: dict[Expression, None] = {}
    for arg in call.args:
        found.update(_flat(arg) if isinstance(arg, Call) and arg.name == call.name else {arg: None})
    return found


def tidy(constant: Literal) -> Literal:
    """Equal constants get one spelling: 5 and 5.00 of one type, 0.0 and -0.0 stay apart."""
    if constant.value is None or not is_exact(constant.type):
        return constant
    return literal_of(number_of(constant), constant.type)


@lru_cache(maxsize=1 << 12)
def fold(call: Call) -> Literal:
    """The value of a call of constants."""
    scalar = evaluate(call, [], 1)[0]
    return tidy(Literal(_value(scalar, call.type), call.type))


def _value(scalar: pa.Scalar, type_: Type) -> Any:
    if not scalar.is_valid:
        return None
    if type_.kind is Kind.DAY_TIME:
        return scalar.value
    value = scalar.as_py()
    return value.astimezone(dt.UTC) if type_.kind is Kind.TIMESTAMP else value
