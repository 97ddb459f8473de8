"""Type resolution of comparisons, logic, LIKE, CASE, COALESCE and IN."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.arithmetic import decimal_operand
from seine.algebra.functions.casting import TypeMismatch, common_type, implied_cast, never_parses
from seine.algebra.java_patterns import PatternFault, has_assertions, matches_empty, re2_pattern
from seine.algebra.types import BOOLEAN, NULL, STRING, Kind, Type

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
