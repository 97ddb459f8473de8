"""Type promotion: the least common type of types, and the precision of decimal results, as Spark SQL 4.

Cites: Spark SQL reference, ANSI compliance, "Type Promotion and Precedence"

The error for ill-typed expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from seine.algebra.types import BIGINT, DOUBLE, INT, NULL, STRING, TIMESTAMP, Kind, Type
from seine.errors import SeineError

MAX_PRECISION = 38
MIN_SCALE = 6  # a quotient or product keeps this many fraction digits when its precision is capped


def decimal(precision: int, scale: int) -> Type:
    """The type DECIMAL(precision, scale)."""
    return Type(Kind.DECIMAL, precision, scale)


def as_decimal(type_: Type) -> Type:
    """The decimal that holds every value of an exact numeric type."""
    if type_ == INT:
        return decimal(10, 0)
    return decimal(20, 0) if type_ == BIGINT else type_


def capped(precision: int, scale: int) -> Type:
    """A DECIMAL result type capped at 38 digits, fraction digits being given up down to six.

    >>> str(capped(20, 4)), str(capped(45, 20))
    ('DECIMAL(20,4)', 'DECIMAL(38,13)')
    """
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    integral = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - integral, min(scale, MIN_SCALE)))


def wider_decimal(a: Type, b: Type) -> Type:
    """The DECIMAL that holds both; beyond 38 digits the integral part is kept first."""
    scale = max(a.scale, b.scale)
    precision = max(a.precision - a.scale, b.precision - b.scale) + scale
    excess = max(0, precision - MAX_PRECISION)
    return decimal(precision - excess, max(0, scale - excess))


def common_type(types: Sequence[Type]) -> Type:
    """The least common type, to which all are cast; refuses types that have none.

    >>> str(common_type([INT, decimal(5, 2)])), str(common_type([STRING, INT]))
    ('DECIMAL(12,2)', 'BIGINT')
    """
    return reduce(_common_type_of_two, types, NULL)


def _common_type_of_two(a: Type, b: Type) -> Type:
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if a.is_numeric and b.is_numeric:
        return _common_number(a, b)
    if a.is_text and b.is_text:
        return STRING
    if a.is_temporal and b.is_temporal:
        return TIMESTAMP
    if Kind.TEXTS in (a.kind, b.kind):
        raise TypeMismatch(
            f"{a} and {b} have no common type", hint="array_contains(array, text), or array_join"
        )
    if a.is_text or b.is_text:
        return _common_with_string(b if a.is_text else a)
    raise TypeMismatch(f"{a} and {b} have no common type", hint=f"CAST one of them, e.g. CAST(... AS {b})")


def _common_number(a: Type, b: Type) -> Type:
    if DOUBLE in (a, b):
        return DOUBLE
    if a.is_integer and b.is_integer:
        return BIGINT
    return wider_decimal(as_decimal(a), as_decimal(b))


def _common_with_string(other: Type) -> Type:
    """A string is cast to the other type: to BIGINT beside an integer, to DOUBLE beside another number."""
    if other.kind in (Kind.DAY_TIME, Kind.YEAR_MONTH):
        raise TypeMismatch(f"{STRING} and an interval have no common type", hint="write INTERVAL '...' DAY")
    if other.is_integer:
        return BIGINT
    return DOUBLE if other.is_numeric else other


class TypeMismatch(SeineError):
    """An ill-typed expression; the front end adds its position in the script."""
