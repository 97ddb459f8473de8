"""Kernels of linear functions: saturating sums of columns with integer coefficients, never rounded.

`linear[1,-2]` (x, y) is x - 2 * y over the integers that represent its arguments: days of a DATE,
microseconds of a TIMESTAMP or an interval, integers, unscaled decimals. The result is BIGINT or
DECIMAL; a sum beyond the type saturates at the type's minimum or maximum, so that it still
compares as the true sum does with everything in between. `weighted` (x, y, 1, -2) is the same
sum with coefficients that may differ from row to row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.algebra.linear import coefficients_of
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, values
from seine.evaluate.kernels.ordinals import has_own_codes

_SAFE_MAGNITUDE = 2.0**62  # if the estimated magnitude is below this, the sum fits 64 bits
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_INTEGER_KINDS = (Kind.INT, Kind.BIGINT, Kind.DATE, Kind.TIMESTAMP, Kind.DAY_TIME, Kind.DECIMAL)
Weight = int | IntArray
Mask = BoolArray | None


def linear_kernel(name: str) -> Kernel:
    """The kernel of a linear function; KeyError for any other name."""
    coefficients = coefficients_of(name)
    if coefficients is None:
        raise KeyError(name)
    return lambda call, args: _sum(call, coefficients, args)


def integer_weights(call: Call) -> list[int] | None:
    """The factors of the integers that represent the arguments of a linear function; None if it is none.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> money = Type.parse("DECIMAL(9,2)")
    >>> integer_weights(Call("linear[1,-2]", (Column(0, money), Column(1, INT)), Type.parse("DECIMAL(20,2)")))
    [1, -200]
    """
    coefficients = coefficients_of(call.name)
    if coefficients is None or not all(is_whole(arg.type) for arg in call.args):
        return None
    if call.type.kind is not Kind.DECIMAL:
        return list(coefficients)
    scale = call.type.scale
    return [c * 10 ** (scale - arg.type.scale) for c, arg in zip(coefficients, call.args, strict=True)]


def is_whole(type_: Type) -> bool:
    """Whether the code of a value of this type is the integer that represents it."""
    return type_.kind in _INTEGER_KINDS and has_own_codes(type_)


def exact_sum_limit(type_: Type) -> int:
    """The bound below which sums of a type are exact in 64 bits and within the type."""
    return (
        min(int(_SAFE_MAGNITUDE), 10**type_.precision - 1)
        if type_.kind is Kind.DECIMAL
        else int(_SAFE_MAGNITUDE)
    )


def weighted_sum(call: Call, args: Sequence[Datum]) -> pa.Array:
    """The kernel of `weighted`, whose coefficients are arguments too: x, y, a, b is a * x + b * y."""
    half = len(args) // 2
    valid = all_valid(args)
    coefficients = [values(arg).astype(np.int64) for arg in args[half:]]
    return _sum(call, coefficients, args[:half], valid)


def _sum(call: Call, weights: Sequence[Weight], args: Sequence[Datum], valid: Mask = None) -> pa.Array:
    mask = all_valid(args) if valid is None else valid
    if call.type.kind is Kind.DECIMAL:
        return _decimal(call, weights, args, mask)
    arrays = [values(arg).astype(np.int64) for arg in args]
    return build(call.type, _saturated(weights, arrays), mask, row_count(args))


def _saturated(weights: Sequence[Weight], arrays: Sequence[AnyArray]) -> AnyArray:
    """The sum, saturated to 64 bits: by NumPy where its estimate is small, else by Python integers."""
    with np.errstate(all="ignore"):
        total = reduce(np.add, [c * a for c, a in zip(weights, arrays, strict=True)])
    if (
        sum(_largest_magnitude(c) * decimals.magnitude(a) for c, a in zip(weights, arrays, strict=True))
        <= _MAX_INT64
    ):
        return total
    sizes = [_magnitudes(c) * np.abs(a.astype(np.float64)) for c, a in zip(weights, arrays, strict=True)]
    unsure = np.flatnonzero(reduce(np.add, sizes) >= _SAFE_MAGNITUDE)
    wide = [a[unsure].astype(object) for a in np.broadcast_arrays(*arrays)]
    heavy = [
        c if isinstance(c, int) else np.broadcast_to(c, total.shape)[unsure].astype(object) for c in weights
    ]
    exact = reduce(np.add, [c * a for c, a in zip(heavy, wide, strict=True)])
    total[unsure] = np.clip(exact, _MIN_INT64, _MAX_INT64).astype(np.int64)
    return total


def _largest_magnitude(weight: Weight) -> int:
    return abs(weight) if isinstance(weight, int) else decimals.magnitude(weight)


def _magnitudes(weight: Weight) -> AnyArray | int:
    return abs(weight) if isinstance(weight, int) else np.abs(weight.astype(np.float64))


def _decimal(call: Call, weights: Sequence[Weight], args: Sequence[Datum], mask: BoolArray) -> pa.Array:
    scale, limit = call.type.scale, 10**call.type.precision - 1
    total = np.zeros(1, np.int64)
    for weight, arg, node in zip(weights, args, call.args, strict=False):
        shifted = 10 ** (scale - node.type.scale)
        factor = weight * shifted if isinstance(weight, int) else decimals.product(weight, shifted)
        total = decimals.total(total, decimals.product(_unscaled(arg, node.type), factor))
    if decimals.magnitude(total) > limit:
        total = np.clip(total.astype(object), -limit, limit)
    return decimals.from_unscaled(call.type, total, mask, row_count(args))


def _unscaled(arg: Datum, type_: Type) -> AnyArray:
    if type_.kind is Kind.DECIMAL:
        return decimals.unscaled(arg)
    return values(arg).astype(np.int64)
