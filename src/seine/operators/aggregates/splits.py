"""Fixed-point forms: values of each numeric type as exact integers of 32-bit limbs, in a fixed unit.

BIGINT counts ones, DECIMAL its last digit, DOUBLE 2**-1152 and the square of a DOUBLE 2**-2304:
every finite double and every exact square is a whole multiple of its unit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray, UIntArray
from seine.operators.aggregates.limbs import BITS, MASK

DOUBLE_UNIT = 1152  # bits behind the binary point of a DOUBLE
SQUARE_UNIT = 2 * DOUBLE_UNIT  # and of its square
Piece = tuple[IntArray, IntArray]  # for each value the number of a limb, and what to add to it


def split_integers(values: pa.Array) -> Iterator[Piece]:
    """The limbs of integers."""
    yield from _fixed(list(limbs_of(whole_integers(values))))


def split_decimals(values: pa.Array) -> Iterator[Piece]:
    """The limbs of decimals, in units of the last digit."""
    low, high = _words(values)
    yield from _fixed([low & MASK, (low >> BITS) & MASK, high & MASK, high >> BITS])


def whole_integers(values: pa.Array) -> IntArray:
    """Integers of any width as 64-bit integers."""
    numbers: IntArray = values.cast(pa.int64()).to_numpy()
    return numbers


def whole_decimals(values: pa.Array) -> IntArray | None:
    """Decimals, in units of the last digit, as 64-bit integers; None if a value does not fit.

    >>> from decimal import Decimal
    >>> whole_decimals(pa.array([Decimal("1.25"), Decimal("-3")], pa.decimal128(14, 2))).tolist()
    [125, -300]
    """
    low, high = _words(values)
    return low if (high == low >> 63).all() else None


def limbs_of(numbers: IntArray) -> IntArray:
    """The two limbs of 64-bit integers, of which the upper one has the sign."""
    return np.stack([numbers & MASK, numbers >> BITS])


def _words(values: pa.Array) -> IntArray:
    """The low and the high 64 bits of decimals, two rows."""
    words = np.frombuffer(values.buffers()[1], np.int64).reshape(-1, 2)
    return words[values.offset : values.offset + len(values)].T


def split_doubles(values: pa.Array) -> Iterator[Piece]:
    """The limbs of doubles; those of infinity and NaN are zero."""
    sign, mantissa, power = _decompose(values)
    yield from _shifted(sign, mantissa, power + DOUBLE_UNIT)


def split_squares(values: pa.Array) -> Iterator[Piece]:
    """The limbs of exact squares of doubles: (a 2**27 + b)**2, where a and b are halves of the mantissa."""
    _, mantissa, power = _decompose(values)
    one = np.ones(len(mantissa), np.int64)
    a, b = mantissa >> np.uint64(27), mantissa & np.uint64(2**27 - 1)
    base = 2 * power + SQUARE_UNIT
    yield from _shifted(one, b * b, base)
    yield from _shifted(one, a * b, base + 28)
    yield from _shifted(one, a * a, base + 54)


def split_products(left: pa.Array, right: pa.Array) -> Iterator[Piece]:
    """The limbs of exact products of doubles, half by half; 0 where one is not finite."""
    (sign, one, power), (other_sign, other, other_power) = _decompose(left), _decompose(right)
    half = np.uint64(2**27 - 1)
    (a, b), (c, d) = ((mantissa >> np.uint64(27), mantissa & half) for mantissa in (one, other))
    base, signs = power + other_power + SQUARE_UNIT, sign * other_sign
    for product, shift in ((b * d, 0), (a * d, 27), (b * c, 27), (a * c, 54)):
        yield from _shifted(signs, product, base + shift)


def _decompose(values: pa.Array) -> tuple[IntArray, UIntArray, IntArray]:
    """Sign, 53-bit mantissa and exponent of doubles."""
    numbers = values.to_numpy()
    numbers = np.where(np.isfinite(numbers), numbers, 0.0)
    fraction, power = np.frexp(np.abs(numbers))
    mantissa = np.ldexp(fraction, 53).astype(np.uint64)
    return np.sign(numbers).astype(np.int64), mantissa, power.astype(np.int64) - 53


def _shifted(sign: IntArray, magnitude: UIntArray, bits: IntArray) -> Iterator[Piece]:
    """A magnitude below 2**54, shifted left by `bits`, as three limbs."""
    place, shift = bits // BITS, (bits % BITS).astype(np.uint64)
    mask, width = np.uint64(MASK), np.uint64(BITS)
    low, high = (magnitude & mask) << shift, (magnitude >> width) << shift
    yield place, (low & mask).view(np.int64) * sign
    yield place + 1, ((low >> width) + (high & mask)).view(np.int64) * sign
    yield place + 2, (high >> width).view(np.int64) * sign


def _fixed(limbs: list[IntArray]) -> Iterator[Piece]:
    for place, limb in enumerate(limbs):
        yield np.full(len(limb), place, np.int64), limb
