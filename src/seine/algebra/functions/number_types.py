"""Type resolution of functions of whole numbers, of HEX, and of CEIL and FLOOR to a number of digits."""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import implied_cast
from seine.algebra.functions.polymorphic import constant_int, number, resolve_whole, rounded_type
from seine.algebra.functions.widening import TypeMismatch, common_type, decimal
from seine.algebra.types import BIGINT, DOUBLE, INT, STRING, Kind, Type

BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("shiftleft", "shiftright", "shiftrightunsigned")
DECIMAL_OF: dict[Type, Type] = {INT: decimal(10, 0), BIGINT: decimal(20, 0), DOUBLE: decimal(30, 15)}


def _whole(arg: Expression, name: str) -> Expression:
    """The argument if it is a whole number; a string or NULL cast to BIGINT or INT."""
    if arg.type.is_integer:
        return arg
    if arg.type.kind in (Kind.STRING, Kind.NULL):
        return implied_cast(arg, BIGINT if arg.type == STRING else INT, f"an argument of {name}")
    raise TypeMismatch(f"an argument of {name} must be INT or BIGINT, not {arg.type}")


def resolve_bitwise(name: str, args: Sequence[Expression]) -> Expression:
    """a & b, a | b and a ^ b of whole numbers, in the wider of their types."""
    left, right = (_whole(arg, name) for arg in args)
    type_ = common_type([left.type, right.type]) or BIGINT
    return Call(name, tuple(implied_cast(arg, type_, name) for arg in (left, right)), type_)


def resolve_bit_not(args: Sequence[Expression]) -> Expression:
    """~a."""
    arg = _whole(args[0], "~")
    return Call("bitwise_not", (arg,), arg.type)


def resolve_shift(name: str, args: Sequence[Expression]) -> Expression:
    """SHIFTLEFT(number, bits) and its like: of the number's type."""
    arg = _whole(args[0], name)
    return Call(name, (arg, implied_cast(args[1], INT, f"argument 2 of {name}")), arg.type)


def resolve_bits(name: str, args: Sequence[Expression]) -> Expression:
    """BIT_COUNT(number) and BIT_GET(number, position): INT."""
    arg = _whole(args[0], name)
    others = tuple(implied_cast(other, INT, f"argument 2 of {name}") for other in args[1:])
    return Call(name, (arg, *others), INT)


def resolve_hex(args: Sequence[Expression]) -> Expression:
    """HEX of a number or of a text."""
    arg = args[0]
    return Call(
        "hex", (arg if arg.type == STRING else implied_cast(arg, BIGINT, "the argument of hex"),), STRING
    )


def resolve_stepped(name: str, args: Sequence[Expression]) -> Expression:
    """CEIL and FLOOR, also to a constant number of digits, which makes a DECIMAL as in Spark."""
    if len(args) == 1:
        return resolve_whole(name, args)
    digits = constant_int(implied_cast(args[1], INT, f"the digits of {name}"))
    if digits is None:
        raise TypeMismatch(f"the digits of {name} must be a whole constant", hint=f"e.g. {name}(x, 2)")
    arg = number(args[0], name)
    exact = implied_cast(arg, DECIMAL_OF.get(arg.type, arg.type), name)
    return Call(name, (exact, Literal(digits, INT)), rounded_type(exact.type, digits))
