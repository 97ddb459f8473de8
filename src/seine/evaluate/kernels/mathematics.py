"""Kernels of mathematical functions on DOUBLE, and of rounding of all numeric types.

Decimal rounding of DOUBLEs, as Spark does it: by the shortest decimal text of the number.

1.005 is stored a little below; printed it is 1.005, so it rounds to 1.01 at two digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, FloatArray
from seine.algebra.expressions import Call
from seine.algebra.types import DOUBLE, Kind
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    build,
    row_count,
    valid,
    values,
    with_constants,
)

_UNBOUNDED = -np.inf
# each function and the number that its argument must exceed, else the result is NULL
_UNARY: dict[str, tuple[Callable[[AnyArray], AnyArray], float]] = {
    "ln": (np.log, 0.0),
    "log10": (np.log10, 0.0),
    "log2": (np.log2, 0.0),
    "log1p": (np.log1p, -1.0),
    "sqrt": (np.sqrt, _UNBOUNDED),
    "cbrt": (np.cbrt, _UNBOUNDED),
    "exp": (np.exp, _UNBOUNDED),
    "expm1": (np.expm1, _UNBOUNDED),
    "sign": (np.sign, _UNBOUNDED),
    "rint": (np.rint, _UNBOUNDED),
    "asinh": (np.arcsinh, _UNBOUNDED),
    "acosh": (np.arccosh, _UNBOUNDED),
    "atanh": (np.arctanh, _UNBOUNDED),
    "cot": (lambda x: 1.0 / np.tan(x), _UNBOUNDED),
    "sec": (lambda x: 1.0 / np.cos(x), _UNBOUNDED),
    "csc": (lambda x: 1.0 / np.sin(x), _UNBOUNDED),
    "sin": (np.sin, _UNBOUNDED),
    "cos": (np.cos, _UNBOUNDED),
    "tan": (np.tan, _UNBOUNDED),
    "asin": (np.arcsin, _UNBOUNDED),
    "acos": (np.arccos, _UNBOUNDED),
    "atan": (np.arctan, _UNBOUNDED),
    "sinh": (np.sinh, _UNBOUNDED),
    "cosh": (np.cosh, _UNBOUNDED),
    "tanh": (np.tanh, _UNBOUNDED),
    "degrees": (np.degrees, _UNBOUNDED),
    "radians": (np.radians, _UNBOUNDED),
}
_BINARY: dict[str, Callable[[AnyArray, AnyArray], AnyArray]] = {
    "power": np.power,
    "hypot": np.hypot,
    "atan2": lambda y, x: np.arctan2(y + 0.0, x + 0.0),  # to Spark, no zero is negative here
}
_EXACT_INTEGER_LIMIT = 2.0**53  # integers below are exact as doubles
_MAX_DIGITS = 22  # 10**22 is the largest power of ten that is a double
_NEAR_HALF = 1e-3


def _unary(call: Call, args: Sequence[Datum]) -> pa.Array:
    function, above = _UNARY[call.name]
    data = values(args[0])
    return build(DOUBLE, function(data), valid(args[0]) & ~(data <= above), row_count(args))


def _unary_unbounded(call: Call, args: Sequence[Datum]) -> pa.Array:
    return build(DOUBLE, _UNARY[call.name][0](values(args[0])), valid(args[0]), row_count(args))


def _binary(call: Call, args: Sequence[Datum]) -> pa.Array:
    return build(DOUBLE, _BINARY[call.name](*map(values, args)), all_valid(args), row_count(args))


def _logarithm(call: Call, args: Sequence[Datum]) -> pa.Array:
    base, data = (values(arg) for arg in args)
    defined = ~(base <= 0) & ~(data <= 0)
    return build(DOUBLE, np.log(data) / np.log(base), all_valid(args) & defined, row_count(args))


def _is_nan(call: Call, args: Sequence[Datum]) -> pa.Array:
    """ISNAN: false for NULL."""
    return build(call.type, np.isnan(values(args[0])) & valid(args[0]), np.array([True]), row_count(args))


def _whole(call: Call, args: Sequence[Datum]) -> pa.Array:
    """CEIL and FLOOR; NULL for a double beyond BIGINT, and 0 for NaN, as in Spark."""
    source = call.args[0].type
    if source.kind is Kind.DECIMAL:
        return _STEP_KERNEL(call, args) if len(args) == 2 else _stepped(call, argument(args), 0)
    data = values(args[0])
    if source != DOUBLE:
        return build(call.type, data, valid(args[0]), row_count(args))
    stepped = np.ceil(data) if call.name == "ceil" else np.floor(data)
    inside = ((stepped >= -(2.0**63)) & (stepped < 2.0**63)) | np.isnan(stepped)
    whole = np.where(inside & ~np.isnan(stepped), stepped, 0.0).astype(np.int64)
    return build(call.type, whole, valid(args[0]) & inside, row_count(args))


def _stepped(call: Call, array: pa.Array, digits: int) -> pa.Array:
    """CEIL and FLOOR of decimals to a number of digits."""
    data, scale = decimals.unscaled(array), call.args[0].type.scale
    if digits < scale:
        unit = decimals.power_of_ten(min(scale - digits, 100))
        down = data // unit
        data = down + (data % unit != 0) if call.name == "ceil" else down
        data = decimals.product(data, 10 ** min(max(0, -digits), 100))
    return decimals.from_unscaled(call.type, data, valid(array), len(array))


_STEP_KERNEL = with_constants(_stepped, 1)


def _round(call: Call, array: pa.Array, digits: int) -> pa.Array:
    even = call.name == "bround"
    source, mask = call.args[0].type, valid(array)
    if source == DOUBLE:
        return build(DOUBLE, round_doubles(values(array), digits, even), mask, len(array))
    if source.kind is Kind.DECIMAL:
        data = _rounded(decimals.unscaled(array), source.scale, digits, even)
        return decimals.from_unscaled(call.type, data, mask, len(array))
    data = values(array).astype(np.int64)
    if digits >= 0:
        return build(call.type, data, mask, len(array))
    return decimals.whole(call.type, _rounded(data, 0, digits, even), mask, len(array))


def _rounded(data: AnyArray, scale: int, digits: int, even: bool) -> AnyArray:
    """Unscaled integers of a scale rounded to digits; the result has scale max(0, digits)."""
    if digits >= scale:
        return data
    divide = decimals.divide_half_even if even else decimals.divide_half_up
    rounded = divide(data, decimals.power_of_ten(min(scale - digits, 100)))
    return decimals.product(rounded, 10 ** min(max(0, -digits), 100))


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


KERNELS: dict[str, Kernel] = {
    **{name: _unary_unbounded if above == _UNBOUNDED else _unary for name, (_, above) in _UNARY.items()},
    **dict.fromkeys(_BINARY, _binary),
    "log": _logarithm,
    "isnan": _is_nan,
    "ceil": _whole,
    "floor": _whole,
    "round": with_constants(_round, 1),
    "bround": with_constants(_round, 1),
}
