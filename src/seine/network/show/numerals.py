"""Formatting of numbers for EXPLAIN: 500, not 500.00; 0.5, not 1/2."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from seine.algebra.expressions import Literal
from seine.algebra.types import BIGINT, DOUBLE

_LARGEST_PLAIN = 1e15  # a DOUBLE that is written without exponent


def number(value: Fraction) -> Literal:
    """A coefficient as a constant."""
    return Literal(int(value), BIGINT) if value.denominator == 1 else Literal(float(value), DOUBLE)


def is_short(value: Fraction) -> bool:
    """Whether it has a short decimal form."""
    return 1000 % value.denominator == 0


def divided(value: Any, factor: Fraction) -> Any:
    """The quotient, whole if it can be."""
    exact = Fraction(value) / factor
    return int(exact) if exact.denominator == 1 else short(decimal(exact))


def decimal(value: Fraction) -> Decimal | int:
    """A fraction in decimals."""
    return int(value) if value.denominator == 1 else Decimal(value.numerator) / value.denominator


def digits(value: Any) -> int:
    """How many digits say it, but zeros at the end."""
    return len(f"{abs(value):f}".replace(".", "").strip("0"))


def short(value: Any) -> Any:
    """Without zeros at the end of its fraction."""
    if not isinstance(value, Decimal):
        return value
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def tidy(literal: Literal) -> Literal:
    """A number as one would write it: 500, not 500.00."""
    value = literal.value
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_PLAIN:
        return Literal(int(value), BIGINT)
    return Literal(short(value), literal.type)
