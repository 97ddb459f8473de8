"""Binary operators on NumPy numbers, each with the rows in which its result is right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PartialResult = tuple[np.ndarray, np.ndarray]  # data, and the rows in which it is right
_MIN_INT64 = np.int64(np.iinfo(np.int64).min)
_EVERYWHERE = np.array([True])


def add(a: np.ndarray, b: np.ndarray) -> PartialResult:
    """a + b; a 64-bit sum overflowed when both operands' signs differ from its own."""
    total = a + b
    return total, (((a ^ total) & (b ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def sub(a: np.ndarray, b: np.ndarray) -> PartialResult:
    total = a - b
    return total, (((a ^ b) & (a ^ total)) >= 0) if total.dtype == np.int64 else _EVERYWHERE


def mul(a: np.ndarray, b: np.ndarray) -> PartialResult:
    """a * b; checked by division only if the largest operands could overflow."""
    product = a * b
    if product.dtype != np.int64 or _magnitude(a) * _magnitude(b) < 2**63:
        return product, _EVERYWHERE
    divisor = np.where(b == 0, 1, b)
    wrapped = ((a == _MIN_INT64) & (b == -1)) | ((b == _MIN_INT64) & (a == -1))
    return product, (b == 0) | ((product // divisor == a) & (product % divisor == 0) & ~wrapped)


def _magnitude(a: np.ndarray) -> int:
    return max(abs(int(a.max())), abs(int(a.min()))) if a.size else 0


def div(a: np.ndarray, b: np.ndarray) -> PartialResult:
    return a / b, b != 0


def mod(a: np.ndarray, b: np.ndarray) -> PartialResult:
    """The remainder has the sign of the dividend."""
    return np.fmod(a, b), b != 0


def pmod(a: np.ndarray, b: np.ndarray) -> PartialResult:
    remainder = np.fmod(a, b)
    return np.where(remainder < 0, np.fmod(remainder + b, b), remainder), b != 0


def int_div(a: np.ndarray, b: np.ndarray) -> PartialResult:
    """The quotient without its fraction."""
    divisor = np.where(b == 0, 1, b)
    quotient = a // divisor
    quotient += (a % divisor != 0) & ((a < 0) != (divisor < 0))
    return quotient, (b != 0) & ~((a == _MIN_INT64) & (b == -1))


BINARY: dict[str, Callable[[np.ndarray, np.ndarray], PartialResult]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "mod": mod,
    "pmod": pmod,
    "int_div": int_div,
}
