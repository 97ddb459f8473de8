"""Sums of columns with whole coefficients, which neither overflow nor round.

`linear[1,-2]` (x, y) is x - 2 * y over the numbers beneath its arguments: days of a DATE,
microseconds of a TIMESTAMP or an interval, whole numbers, decimals. The result is BIGINT or
DECIMAL; a sum beyond the type is the type's least or greatest value, so that it still
compares as the true sum does with everything in between. The coefficients are in the name:
they belong to the shape of a condition, not to its constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.linear_names import coefficients_of
from seine.algebra.types import Kind, Type
from seine.operators.expressions import decimals
from seine.operators.expressions.datum import Datum, Kernel, all_valid, build, rows, values

_SURE = 2.0**62  # an estimate below this means that the sum fits 64 bits
_MIN, _MAX = -(2**63), 2**63 - 1


def linear_kernel(name: str) -> Kernel:
    """The kernel of a linear function; KeyError for any other name."""
    coefficients = coefficients_of(name)
    if coefficients is None:
        raise KeyError(name)

    def kernel(call: Call, args: Sequence[Datum]) -> pa.Array:
        if call.type.kind is Kind.DECIMAL:
            return _decimal(call, coefficients, args)
        arrays = [values(arg).astype(np.int64) for arg in args]
        return build(call.type, _saturated(coefficients, arrays), all_valid(args), rows(args))

    return kernel


def _saturated(coefficients: Sequence[int], arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The sum in 64 bits: wrapped arithmetic is right where an estimate is small, else Python's."""
    with np.errstate(all="ignore"):
        total = reduce(np.add, [c * a for c, a in zip(coefficients, arrays, strict=True)])
    if sum(abs(c) * decimals.magnitude(a) for c, a in zip(coefficients, arrays, strict=True)) <= _MAX:
        return total
    sizes = [abs(c) * np.abs(a.astype(np.float64)) for c, a in zip(coefficients, arrays, strict=True)]
    unsure = np.flatnonzero(reduce(np.add, sizes) >= _SURE)
    wide = [a[unsure].astype(object) for a in np.broadcast_arrays(*arrays)]
    exact = reduce(np.add, [c * a for c, a in zip(coefficients, wide, strict=True)])
    total[unsure] = np.clip(exact, _MIN, _MAX).astype(np.int64)
    return total


def _decimal(call: Call, coefficients: Sequence[int], args: Sequence[Datum]) -> pa.Array:
    scale, limit = call.type.scale, 10**call.type.precision - 1
    total = np.zeros(1, np.int64)
    for coefficient, arg, node in zip(coefficients, args, call.args, strict=True):
        summand = decimals.product(_unscaled(arg, node.type), coefficient * 10 ** (scale - node.type.scale))
        total = decimals.total(total, summand)
    if decimals.magnitude(total) > limit:
        total = np.clip(total.astype(object), -limit, limit)
    return decimals.from_unscaled(call.type, total, all_valid(args), rows(args))


def _unscaled(arg: Datum, type_: Type) -> np.ndarray:
    if type_.kind is Kind.DECIMAL:
        return decimals.unscaled(arg)
    return values(arg).astype(np.int64)
