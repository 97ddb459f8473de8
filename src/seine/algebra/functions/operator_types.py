"""Type resolution of operators: arithmetic, comparisons, logic, LIKE, CASE, COALESCE and IN.

Arithmetic is over numbers, dates and intervals. Numbers follow Spark: INT + INT is INT, INT / INT is DOUBLE,
decimals get the precision that holds every result, capped at 38 digits. A string beside a number is read as a
number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import (
    TypeMismatch,
    as_decimal,
    capped,
    common_type,
    implied_cast,
    literal,
    never_parses,
)
from seine.algebra.java_patterns import PatternFault, has_assertions, matches_empty, re2_pattern
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    Kind,
    Type,
)

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "pmod": "pmod", "int_div": "DIV"}
_MICROS_PER_DAY = 86_400_000_000
_INTERVALS = (DAY_TIME, YEAR_MONTH)
# the values without a negative of their type
_MINIMUM_OF_TYPE = {INT: -(2**31), YEAR_MONTH: -(2**31), BIGINT: -(2**63), DAY_TIME: -(2**63)}


def resolve_arithmetic(name: str, left: Expression, right: Expression) -> Expression:
    """The typed call of a binary arithmetic operator, by its canonical name.

    >>> from seine.algebra.expressions import Column
    >>> str(resolve_arithmetic("div", Column(0, INT), Column(1, INT)))
    'div(cast(#0), cast(#1))'
    """
    types = (left.type, right.type)
    if any(t.is_temporal or t in _INTERVALS for t in types):
        return _temporal(name, left, right)
    if not all(t.is_numeric or t in (STRING, NULL) for t in types):
        raise _refusal(name, left.type, right.type)
    left, right = _as_numbers(left, right)
    if name == "int_div":
        return _integral_division(left, right)
    if name == "div" and not _exact_decimal(left.type, right.type):
        return Call(name, (_to(left, DOUBLE), _to(right, DOUBLE)), DOUBLE)
    if _exact_decimal(left.type, right.type):
        return _decimal(name, left, right)
    widest = common_type([left.type, right.type])
    return Call(name, (_to(left, widest), _to(right, widest)), widest)


def resolve_negation(operand: Expression) -> Expression:
    """The typed call of -x; of a constant, the negated constant."""
    if operand.type in (STRING, NULL):
        operand = _to(operand, DOUBLE)
    if not (operand.type.is_numeric or operand.type in _INTERVALS):
        raise TypeMismatch(f"cannot negate {operand.type}", hint="- takes a number or an interval")
    if isinstance(operand, Literal) and operand.value not in (None, _MINIMUM_OF_TYPE.get(operand.type)):
        return _negative_literal(operand)
    return Call("neg", (operand,), operand.type)


def _negative_literal(operand: Literal) -> Literal:
    if isinstance(operand.value, Decimal):
        negative = operand.value.copy_negate()
        # 9223372036854775808 has no BIGINT, its negative has
        return literal(-(2**63)) if negative == -(2**63) else Literal(negative, operand.type)
    if operand.type == BIGINT and operand.value == 2**31:
        return literal(-(2**31))
    return Literal(-operand.value, operand.type)


def _as_numbers(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Strings and NULLs take a number's type from the other side."""
    if left.type.is_numeric and right.type.is_numeric:
        return left, right
    other = common_type([left.type, right.type])
    target = other if other.is_numeric else DOUBLE
    return (
        left if left.type.is_numeric else _to(left, target),
        right if right.type.is_numeric else _to(right, target),
    )


def _exact_decimal(a: Type, b: Type) -> bool:
    return DOUBLE not in (a, b) and Kind.DECIMAL in (a.kind, b.kind)


def _integral_division(left: Expression, right: Expression) -> Expression:
    """DIV is exact on whole numbers and decimals; its result is BIGINT."""
    if DOUBLE in (left.type, right.type):
        raise _refusal("int_div", left.type, right.type)
    if not _exact_decimal(left.type, right.type):
        return Call("int_div", (_to(left, BIGINT), _to(right, BIGINT)), BIGINT)
    return Call("int_div", (decimal_operand(left), decimal_operand(right)), BIGINT)


def _decimal(name: str, left: Expression, right: Expression) -> Expression:
    left, right = decimal_operand(left), decimal_operand(right)
    return Call(name, (left, right), _DECIMAL_RESULTS[name](left.type, right.type))


def decimal_operand(operand: Expression) -> Expression:
    """The operand as a DECIMAL; an integer constant takes just the digits it has, not those of its type."""
    if isinstance(operand, Literal) and operand.type.is_integer and operand.value is not None:
        return _to(operand, literal(Decimal(operand.value)).type)
    return _to(operand, as_decimal(operand.type))


def _sum_type(a: Type, b: Type) -> Type:
    scale = max(a.scale, b.scale)
    return capped(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def _product_type(a: Type, b: Type) -> Type:
    return capped(a.precision + b.precision + 1, a.scale + b.scale)


def _quotient_type(a: Type, b: Type) -> Type:
    scale = max(6, a.scale + b.precision + 1)
    return capped(a.precision - a.scale + b.scale + scale, scale)


def _remainder_type(a: Type, b: Type) -> Type:
    scale = max(a.scale, b.scale)
    return capped(max(1, min(a.precision - a.scale, b.precision - b.scale) + scale), scale)


_DECIMAL_RESULTS: dict[str, Callable[[Type, Type], Type]] = {
    "add": _sum_type,
    "sub": _sum_type,
    "mul": _product_type,
    "div": _quotient_type,
    "mod": _remainder_type,
    "pmod": _remainder_type,
}


def _temporal(name: str, left: Expression, right: Expression) -> Expression:
    if name == "sub":
        return _difference(left, right)
    if name == "add":
        if right.type.is_temporal and not left.type.is_temporal:
            left, right = right, left
        return _moved("add", left, right)
    if name in ("mul", "div"):
        return _scaled_interval(name, left, right)
    raise _refusal(name, left.type, right.type)


def _difference(left: Expression, right: Expression) -> Expression:
    """Date minus date is the time between them; DATE - STRING reads the string as a date."""
    if right.type.is_temporal and (left.type.is_temporal or left.type in (STRING, NULL)):
        target = common_type([left.type, right.type])
        return Call("sub", (_to(left, target), _to(right, target)), DAY_TIME)
    return _moved("sub", left, right)


def _moved(name: str, left: Expression, right: Expression) -> Expression:
    """A date, a timestamp or an interval moved by an interval; a date by whole days."""
    if left.type == DATE and (right.type.is_integer or right.type == NULL):
        return Call("date_add" if name == "add" else "date_sub", (left, _to(right, INT)), DATE)
    if left.type.is_temporal and right.type in _INTERVALS:
        return Call(name, _moved_operands(left, right), _moved_type(left, right))
    if left.type in _INTERVALS and right.type in (left.type, NULL):
        return Call(name, (left, _to(right, left.type)), left.type)
    if right.type in _INTERVALS and left.type == NULL:
        return Call(name, (_to(left, right.type), right), right.type)
    raise _refusal(name, left.type, right.type)


def _moved_operands(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    return (_to(left, _moved_type(left, right)), right)


def _moved_type(left: Expression, right: Expression) -> Type:
    """A date stays a date under months and whole days; hours make it a timestamp."""
    if left.type == DATE and right.type == DAY_TIME:
        whole = isinstance(right, Literal) and right.value is not None and right.value % _MICROS_PER_DAY == 0
        return DATE if whole else TIMESTAMP
    return left.type


def _scaled_interval(name: str, left: Expression, right: Expression) -> Expression:
    if name == "mul" and right.type in _INTERVALS:
        left, right = right, left
    factor = right.type.is_numeric or right.type in (NULL, STRING)
    if left.type not in _INTERVALS or not factor:
        raise _refusal(name, left.type, right.type)
    target = right.type if right.type.is_integer else DOUBLE
    return Call(name, (left, _to(right, target)), left.type)


def _to(operand: Expression, type_: Type) -> Expression:
    return implied_cast(operand, type_, "an operand")


def _refusal(name: str, left: Type, right: Type) -> TypeMismatch:
    return TypeMismatch(
        f"cannot compute {left} {_SYMBOLS[name]} {right}", hint="CAST one side to the other's type"
    )


_AS_TEXTS = "or compare texts: CAST(x AS STRING)"
_SECONDS = "the seconds of a date are unix_timestamp('2024-05-01')"
_NEVER = {
    Kind.INT: f"write a number, {_AS_TEXTS}; {_SECONDS}",
    Kind.BIGINT: f"write a number, {_AS_TEXTS}; {_SECONDS}",
    Kind.DECIMAL: f"write a number, {_AS_TEXTS}",
    Kind.DOUBLE: f"write a number, {_AS_TEXTS}",
    Kind.BOOLEAN: f"write TRUE or FALSE, {_AS_TEXTS}",
    Kind.DATE: f"write DATE '2024-05-01', {_AS_TEXTS}",
    Kind.TIMESTAMP: f"write TIMESTAMP '2024-05-01 12:00:00', {_AS_TEXTS}",
}
COMPARISONS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq_null_safe": "<=>"}


def unify(args: Sequence[Expression], what: str) -> tuple[tuple[Expression, ...], Type]:
    """The arguments cast to their common type, and that type; `what` names the context of a refusal."""
    try:
        target = common_type([arg.type for arg in args])
    except TypeMismatch as refusal:
        raise TypeMismatch(f"{what}: {refusal.message}", hint=refusal.hint) from None
    if target.kind is Kind.TEXTS:
        raise TypeMismatch(f"{what}: arrays have no order", hint="compare array_join(array, ',')")
    return tuple(implied_cast(arg, target, what) for arg in args), target


def resolve_comparison(name: str, left: Expression, right: Expression) -> Expression:
    """The typed comparison of two values, cast to their common type.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import DATE
    >>> str(resolve_comparison("ge", Column(0, DATE), Literal("2024-05-01", STRING)))
    'ge(#0, 2024-05-01)'
    """
    args, target = unify(_least_digits((left, right)), f"cannot compare with {COMPARISONS[name]}")
    if name != "eq_null_safe":  # which may be TRUE of a NULL
        _refuse_never((left, right), target)
    return Call(name, args, BOOLEAN)


def _refuse_never(args: Sequence[Expression], target: Type) -> None:
    """Refuse to compare with a constant text that is no value of the type: that would never be true."""
    for arg in args:
        if not isinstance(arg, Literal) or arg.type != STRING or arg.value is None or target.is_text:
            continue
        if never_parses(arg.value, target):
            message = f"'{arg.value}' is no {target}, so nothing can be compared with it"
            raise TypeMismatch(message, hint=_NEVER[target.kind])


def _least_digits(args: Sequence[Expression]) -> Sequence[Expression]:
    """Beside a decimal an integer constant takes just the digits it has, so that the column needs no cast."""
    if not any(arg.type.kind is Kind.DECIMAL for arg in args):
        return args
    return [decimal_operand(arg) if isinstance(arg, Literal) and arg.type.is_integer else arg for arg in args]


def resolve_logic(name: str, args: Sequence[Expression]) -> Expression:
    """The typed AND, OR or NOT: operands must be BOOLEAN or NULL."""
    return Call(name, tuple(_condition(arg, name.upper()) for arg in args), BOOLEAN)


def _condition(arg: Expression, what: str) -> Expression:
    if arg.type not in (BOOLEAN, NULL):
        raise TypeMismatch(
            f"{what} takes conditions, not {arg.type}", hint="compare it: x = ... or CAST(x AS BOOLEAN)"
        )
    return implied_cast(arg, BOOLEAN, what)


def resolve_in(args: Sequence[Expression]) -> Expression:
    """The typed x IN (v1, v2, ...), all cast to one type."""
    cast, target = unify(_least_digits(args), "IN")
    _refuse_never(args, target)
    return Call("in", cast, BOOLEAN)


def resolve_coalesce(args: Sequence[Expression]) -> Expression:
    """The typed COALESCE, all arguments cast to one type."""
    cast, target = unify(args, "COALESCE")
    return cast[0] if len(cast) == 1 else Call("coalesce", cast, target)


def resolve_case(args: Sequence[Expression]) -> Expression:
    """The typed CASE WHEN c1 THEN v1 ... [ELSE v] END, the arguments in this order."""
    otherwise = [args[-1]] if len(args) % 2 else []
    paired = args[: len(args) - len(otherwise)]
    conditions = [_condition(arg, "WHEN") for arg in paired[::2]]
    values, target = unify([*paired[1::2], *otherwise], "CASE")
    woven = [part for pair in zip(conditions, values, strict=False) for part in pair]
    return Call("case", (*woven, *values[len(conditions) :]), target)


def resolve_nullif(left: Expression, right: Expression) -> Expression:
    """NULLIF(a, b) is CASE WHEN a = b THEN NULL ELSE a END."""
    return resolve_case([resolve_comparison("eq", left, right), Literal(None, left.type), left])


def resolve_between(value: Expression, low: Expression, high: Expression) -> Expression:
    """x BETWEEN a AND b is x >= a AND x <= b."""
    return resolve_logic("and", [resolve_comparison("ge", value, low), resolve_comparison("le", value, high)])


def resolve_like(name: str, args: Sequence[Expression]) -> Expression:
    """The typed LIKE or RLIKE; a constant escape must be one character, a constant RLIKE pattern valid."""
    escape = args[2] if len(args) == 3 else None
    if isinstance(escape, Literal) and (not isinstance(escape.value, str) or len(escape.value) != 1):
        raise TypeMismatch("ESCAPE must be one character", hint="e.g. LIKE '10!%' ESCAPE '!'")
    call = Call(name, tuple(implied_cast(arg, STRING, name.upper()) for arg in args), BOOLEAN)
    if name == "rlike":
        check_regex(call.args[1], consuming=True)
    return call


def check_regex(pattern: Expression, consuming: bool = False) -> None:
    """Refuse a constant that has no equal in RE2, the linear-time dialect that kernels use."""
    if not isinstance(pattern, Literal) or pattern.value is None:
        return
    try:
        pc.match_substring_regex(pa.array([""]), re2_pattern(pattern.value, consuming))
    except (pa.ArrowInvalid, PatternFault) as refusal:
        reason = str(refusal).removeprefix("Invalid regular expression: ")
        raise TypeMismatch(
            f"'{pattern.value}' is not a regular expression: {reason}",
            hint="RE2 syntax: no look-around, no back-references, no classes inside of classes",
        ) from None


def check_separator(pattern: Expression) -> None:
    """Refuse a constant that is no regular expression, or one that matches a place: `^`, `$`."""
    check_regex(pattern)
    if not isinstance(pattern, Literal) or pattern.value is None:
        return
    if has_assertions(pattern.value) and matches_empty(pattern.value):
        message = f"'{pattern.value}' matches a place, not a text, so it separates nothing"
        raise TypeMismatch(message, hint="e.g. split(text, ',')[0]; split(text, '') has each character")


def resolve_null_test(name: str, arg: Expression) -> Expression:
    """The typed IS NULL or IS NOT NULL; of an untyped NULL, a constant."""
    if arg.type.kind is Kind.NULL:
        return Literal(name == "is_null", BOOLEAN)
    return Call(name, (arg,), BOOLEAN)
