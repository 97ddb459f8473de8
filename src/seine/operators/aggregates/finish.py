"""Finish functions: from the values of folds to the result of an aggregate, NULL where it has none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray, FloatArray, IntArray
from seine.operators.aggregates.limbs import DOUBLE_UNIT, Limbs
from seine.operators.aggregates.sum import NarrowSums, WideSums


def doubles_of(total: WideSums | NarrowSums, unit: int = DOUBLE_UNIT) -> FloatArray:
    """The doubles nearest to exact sums; infinity and NaN as IEEE 754 adds them."""
    if isinstance(total, NarrowSums):
        return total.numbers.astype(np.float64)
    mantissa, power = total.size.nearest()
    with np.errstate(over="ignore", under="ignore"):
        sums = np.ldexp(mantissa * total.sign, power - unit)
    sums = np.where(total.up > 0, np.inf, np.where(total.down > 0, -np.inf, sums))
    return np.where((total.nan > 0) | ((total.up > 0) & (total.down > 0)), np.nan, sums)


def finish_sum_of_doubles(count: IntArray, total: WideSums) -> pa.Array:
    """SUM of doubles: the exact sum, rounded once."""
    return pa.array(doubles_of(total), mask=count == 0)


def finish_sum_of_integers(count: IntArray, total: WideSums | NarrowSums) -> pa.Array:
    """SUM of integers as BIGINT; NULL beyond 64 bits."""
    if isinstance(total, NarrowSums):
        return pa.array(total.numbers, mask=count == 0)
    low, high, fits = total.size.to_words()
    limit = np.uint64(2**63 - 1) + (total.sign < 0).astype(np.uint64)
    fits = fits & (high == 0) & (low <= limit)
    values = np.where(total.sign < 0, -low.view(np.int64), low.view(np.int64))
    return pa.array(values, mask=(count == 0) | ~fits)


def finish_sum_of_decimals(
    count: IntArray, total: WideSums | NarrowSums, type_: pa.Decimal128Type
) -> pa.Array:
    """SUM of decimals; NULL beyond the precision of the type."""
    if isinstance(total, NarrowSums):
        return _small_decimals(total.numbers, count == 0, type_)
    return _decimals(total.sign, total.size, count == 0, type_)


def finish_average_of_decimals(
    count: IntArray, total: WideSums | NarrowSums, scale: int, type_: pa.Decimal128Type
) -> pa.Array:
    """AVG of decimals, halves rounded away from zero; `scale` is that of the argument."""
    factor = 10 ** (type_.scale - scale)
    if isinstance(total, NarrowSums):
        sizes = np.abs(total.numbers)
        if int(sizes.max(initial=0)) * factor < 2**63:
            quotient, rest = np.divmod(sizes * factor, np.maximum(count, 1))
            quotient += 2 * rest >= np.maximum(count, 1)
            return _small_decimals(np.where(total.numbers < 0, -quotient, quotient), count == 0, type_)
        total = total.total()
    averages = total.size.times(factor).divided(np.maximum(count, 1))
    return _decimals(total.sign, averages, count == 0, type_)


def finish_average(count: IntArray, total: WideSums | NarrowSums, unit: int) -> pa.Array:
    """AVG as a double: the exact sum, rounded, over the count."""
    return pa.array(doubles_of(total, unit) / np.maximum(count, 1), mask=count == 0)


def finish_variance(
    count: IntArray, total: WideSums, squares: WideSums, *, sample: bool, root: bool
) -> pa.Array:
    """Variance or, with `root`, standard deviation; of the sample or the population.

    Law: it is (n sum(x**2) - sum(x)**2) / (n (n - sample)), where the numerator is exact.
    """
    numerator = squares.size.times(count).minus(total.size.squared())
    mantissa, power = numerator.normal()[1].nearest()
    power = power - 2 * DOUBLE_UNIT
    odd = power % 2
    n = count.astype(np.float64)
    variance = np.ldexp(mantissa, odd) / np.maximum(n * (n - sample), 1)
    power = power - odd
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(np.sqrt(variance), power // 2) if root else np.ldexp(variance, power)
    result = np.where(total.nan + total.up + total.down > 0, np.nan, result)
    return pa.array(result, mask=count <= int(sample))


def finish_covariance(
    count: IntArray, left: WideSums, right: WideSums, products: WideSums, *, sample: bool
) -> pa.Array:
    """Covariance of the sample or the population.

    Law: it is (n sum(x y) - sum(x) sum(y)) / (n (n - sample)), where the numerator is exact.
    """
    both = left.size.crossed(right.size).times(left.sign * right.sign)
    sign, numerator = products.size.times(count * products.sign).minus(both).normal()
    mantissa, power = numerator.nearest()
    n = count.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(sign * mantissa / np.maximum(n * (n - sample), 1), power - 2 * DOUBLE_UNIT)
    odd = sum(total.nan + total.up + total.down for total in (left, right))
    return pa.array(np.where(odd > 0, np.nan, result), mask=count <= int(sample))


def _decimals(sign: IntArray, size: Limbs, missing: BoolArray, type_: pa.Decimal128Type) -> pa.Array:
    """Decimals of sign and magnitude, in units of the last digit."""
    low, high, fits = size.to_words()
    bound = 10**type_.precision - 1
    top, rest = np.uint64(bound >> 64), np.uint64(bound & (2**64 - 1))
    fits = fits & ((high < top) | ((high == top) & (low <= rest)))
    negative = sign < 0
    words = np.empty((len(low), 2), np.uint64)
    words[:, 0] = np.where(negative, ~low + np.uint64(1), low)
    words[:, 1] = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    return _of_words(words, fits & ~missing, type_)


def _small_decimals(numbers: IntArray, missing: BoolArray, type_: pa.Decimal128Type) -> pa.Array:
    """Decimals of numbers of 64 bits, in units of the last digit."""
    words = np.stack([numbers, numbers >> 63], axis=1)
    present = ~missing
    if type_.precision < 19:
        present &= np.abs(numbers) < 10**type_.precision
    return _of_words(words, present, type_)


def _of_words(words: AnyArray, present: BoolArray, type_: pa.Decimal128Type) -> pa.Array:
    """An Arrow array over pairs of 64-bit words, the low one first, without a copy."""
    valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(type_, len(words), [valid, pa.py_buffer(words)])
