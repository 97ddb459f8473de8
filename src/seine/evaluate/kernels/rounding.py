"""Decimal rounding of DOUBLEs, as Spark does it: by the shortest decimal text of the number.

1.005 is stored a little below; printed it is 1.005, so it rounds to 1.01 at two digits.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray

_EXACT_INTEGER_LIMIT = 2.0**53  # integers below are exact as doubles
_MAX_DIGITS = 22  # 10**22 is the largest power of ten that is a double
_NEAR_HALF = 1e-3


def scaled(data: FloatArray, digits: int, even: bool = False) -> tuple[FloatArray, BoolArray]:
    """The numbers times 10**digits, rounded to integers, and the mask of rows in which that is certain.

    A row is left open when it is too large for exact doubles or so close to a half that its text decides.
    """
    factor = 10.0 ** abs(digits)
    product = data * factor if digits >= 0 else data / factor
    whole = np.rint(product)
    fraction = np.abs(product - np.trunc(product))
    certain = np.abs(product) < _EXACT_INTEGER_LIMIT / 1024
    half = np.abs(fraction - 0.5) < _NEAR_HALF
    exact_half = (digits == 0) & (fraction == 0.5)  # the product is the number itself
    if not even:
        whole = np.where(exact_half, np.trunc(product) + np.copysign(1.0, product), whole)
    return whole, certain & (abs(digits) <= _MAX_DIGITS) & (~half | exact_half)


def round_text(value: float, digits: int, even: bool = False) -> Decimal:
    """One number rounded by its decimal text, exactly."""
    mode = ROUND_HALF_EVEN if even else ROUND_HALF_UP
    context = Context(prec=400 + abs(digits), rounding=mode, Emax=10**6, Emin=-(10**6))
    return context.quantize(Decimal(repr(value)), Decimal(1).scaleb(-digits, context))


def round_doubles(data: FloatArray, digits: int, even: bool = False) -> FloatArray:
    """Doubles rounded to a number of decimal digits; infinities and NaN stay.

    >>> round_doubles(np.array([1.005, 2.5, -2.5]), 0).tolist(), round_doubles(np.array([1.005]), 2).tolist()
    ([1.0, 3.0, -3.0], [1.01])
    """
    if digits > 330:
        return data
    if digits < -330:
        return np.where(np.isfinite(data), 0.0, data)
    whole, certain = scaled(data, digits, even)
    factor = 10.0 ** abs(digits)
    result = whole / factor if digits >= 0 else whole * factor
    finite = np.isfinite(data)
    for at in np.flatnonzero(~certain & finite):
        result[at] = float(round_text(float(data[at]), digits, even))
    return np.where(finite, result + 0.0, data)  # zero has no sign here
