"""Expression simplification: constant folding, and a canonical order of commutative operands."""

from __future__ import annotations

import datetime as dt
import math
from functools import lru_cache
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Call, Column, Expression, Literal, rewrite
from seine.algebra.types import DOUBLE, Kind, Type
from seine.algebra.user_functions import PREFIX
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.spending import TooMuchWork, planning
from seine.optimizer.canonical.exact_numbers import is_exact, literal_of, number_of

_COMMUTATIVE = ("eq", "ne", "eq_null_safe")
_COMMUTATIVE_ON_NUMBERS = ("add", "mul")  # a date stays to the left of an interval
_MAX_FOLDED_TEXT = 1000
_IDEMPOTENT = ("and", "or")  # variadic and idempotent


def simplify(expression: Expression) -> Expression:
    """An equivalent expression in simplified form.

    A function of users is not called: another may have its name later, and what is simplified is remembered.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import DOUBLE
    >>> two = resolve_call("add", [literal(1), literal(1)])
    >>> str(simplify(resolve_call("mul", [two, Column(0, DOUBLE)])))
    'mul(#0, 2.0)'
    """
    return rewrite(expression, _simplify_node)


def rank(expression: Expression) -> tuple[int, int, str]:
    """The sort key of operands: columns by position, then calls, constants last."""
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
    if args and all(isinstance(arg, Literal) for arg in args):
        return expression if expression.name.startswith(PREFIX) else fold(expression)
    if expression.name == "div" and expression.type == DOUBLE and _is_power_of_two(args[1]):
        return Call("mul", (args[0], Literal(1.0 / args[1].value, DOUBLE)), DOUBLE)  # type: ignore[attr-defined]
    on_numbers = expression.name in _COMMUTATIVE_ON_NUMBERS and expression.type.is_numeric
    if on_numbers or expression.name in _COMMUTATIVE:
        ordered = tuple(sorted(args, key=rank))
    elif expression.name in _IDEMPOTENT:
        ordered = tuple(sorted(_flat(expression), key=rank))
    else:
        return expression
    return expression if ordered == args else Call(expression.name, ordered, expression.type)


def _is_power_of_two(divisor: Expression) -> bool:
    """Whether a divisor is a power of two: multiplying by its reciprocal is then exact."""
    if not isinstance(divisor, Literal) or not divisor.value or not math.isfinite(divisor.value):
        return False
    mantissa, exponent = math.frexp(divisor.value)
    return abs(mantissa) == 0.5 and abs(exponent) < 1000


def _flat(call: Call) -> dict[Expression, None]:
    """The operands of nested ANDs or ORs, flattened and deduplicated."""
    operands: dict[Expression, None] = {}
    for arg in call.args:
        operands.update(_flat(arg) if isinstance(arg, Call) and arg.name == call.name else {arg: None})
    return operands


def tidy(constant: Literal) -> Literal:
    """A canonical constant: 5 and 5.00 of one type become equal, 0.0 and -0.0 stay different."""
    if constant.value is None or not is_exact(constant.type):
        return constant
    return literal_of(number_of(constant), constant.type)


@lru_cache(maxsize=1 << 12)
def fold(call: Call) -> Expression:
    """Constant folding: the value of a call of constants; long ones, much work and a user's stay calls."""
    if call.name.startswith(PREFIX):
        return call
    try:
        with planning().counting():
            value = _value(evaluate(call, [], 1)[0], call.type)
    except TooMuchWork:
        return call
    if isinstance(value, str) and len(value) > _MAX_FOLDED_TEXT:
        return call
    return tidy(Literal(value, call.type))


def _value(scalar: pa.Scalar, type_: Type) -> Any:
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.DurationScalar):
        return scalar.value
    value = scalar.as_py()
    return value.astimezone(dt.UTC) if type_.kind is Kind.TIMESTAMP else value
