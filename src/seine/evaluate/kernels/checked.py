"""Overflow-checked binary arithmetic on NumPy arrays: each result comes with the mask of valid rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seine.algebra.arrays import AnyArray, BoolArray

PartialResult = tuple[AnyArray, BoolArray]  # data, and the mask of the rows in which it is valid
_MIN_INT64 = np.int64(np.iinfo(np.int64).min)
_EVERYWHERE = np.array([True])


def add(a: AnyArray, b: AnyArray) -> PartialResult:
    """a + b; a 64-bit sum has overflowed if the signs of both operands differ from the sign of the sum."""
    total = a + b
    return total, (((a ^ total) & (b ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def sub(a: AnyArray, b: AnyArray) -> PartialResult:
    """a - b, NULL on 64-bit overflow."""
    total = a - b
    return total, (((a ^ b) & (a ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def mul(a: AnyArray, b: AnyArray) -> PartialResult:
    """a * b; checked by division only if the largest operands could overflow."""
    product = a * b
    if product.dtype != np.int64 or _magnitude(a) * _magnitude(b) < 2**63:
        return product, _EVERYWHERE
    divisor = np.where(b == 0, 1, b)
    wrapped = ((a == _MIN_INT64) & (b == -1)) | ((b == _MIN_INT64) & (a == -1))
    return product, (b == 0) | ((product // divisor == a) & (product % divisor == 0) & ~wrapped)


def _magnitude(a: AnyArray) -> int:
    return max(abs(int(a.max())), abs(int(a.min()))) if a.size else 0


def div(a: AnyArray, b: AnyArray) -> PartialResult:
    """a / b of doubles, NULL for b = 0."""
    return a / b, b != 0


def mod(a: AnyArray, b: AnyArray) -> PartialResult:
    """a % b, NULL for b = 0; the remainder has the sign of the dividend."""
    return np.fmod(a, b), b != 0


def pmod(a: AnyArray, b: AnyArray) -> PartialResult:
    """The positive remainder of a by b, NULL for b = 0."""
    remainder = np.fmod(a, b)
    return np.where(remainder < 0, np.fmod(remainder + b, b), remainder), b != 0


def int_div(a: AnyArray, b: AnyArray) -> PartialResult:
    """a DIV b, truncated; NULL for b = 0 and on overflow."""
    divisor = np.where(b == 0, 1, b)
    quotient = a // divisor
    quotient += (a % divisor != 0) & ((a < 0) != (divisor < 0))
    return quotient, (b != 0) & ~((a == _MIN_INT64) & (b == -1))


BINARY: dict[str, Callable[[AnyArray, AnyArray], PartialResult]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "mod": mod,
    "pmod": pmod,
    "int_div": int_div,
}
