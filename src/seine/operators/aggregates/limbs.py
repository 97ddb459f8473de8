"""Arbitrary-precision integers for many groups at once, as columns of 32-bit limbs: exact accumulators.

A number is the sum of limb[j] * 2**(32 * (low + j)), in some unit. Limbs are int64, so very many may be added
before carries have to be propagated (a redundant, carry-save form).

    matrix   group 0  group 1
    limb 0   l00      l01          x 2**(32 * low)
    limb 1   l10      l11          x 2**(32 * (low + 1))

Law: addition is exact, so what is added and subtracted again leaves no trace, and the order does not matter.

Cites: the long accumulator of Kulisch and Miranker, "The arithmetic of the digital computer" (1986)

Fixed-point forms: values of each numeric type as exact integers of 32-bit limbs, in a fixed unit.

BIGINT counts ones, DECIMAL its last digit, DOUBLE 2**-1152 and the square of a DOUBLE 2**-2304:
every finite double and every exact square is a whole multiple of its unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, FloatArray, IntArray, UIntArray
from seine.rows.column_arrays import as_lists, buffer_of

BITS = 32  # of a limb
MASK = np.int64(2**BITS - 1)


@dataclass(frozen=True)
class Limbs:
    """One number for each column of `matrix` (limb by number), the lowest limb first."""

    matrix: IntArray
    low: int

    @property
    def count(self) -> int:
        """How many numbers these are."""
        return int(self.matrix.shape[1])

    def row(self, place: int) -> IntArray | None:
        """The limbs of 2**(32 * place), if there are any."""
        inside = 0 <= place - self.low < len(self.matrix)
        return self.matrix[place - self.low] if inside else None

    def take(self, columns: IntArray) -> Limbs:
        """The numbers at the given places."""
        return Limbs(self.matrix[:, columns], self.low)

    def normal(self) -> tuple[IntArray, Limbs]:
        """Normal form, sign and magnitude: -1, 0 or 1, and limbs in [0, 2**32).

        >>> sign, size = Limbs(np.array([[-1, 1], [0, 1]]), 0).normal()
        >>> sign.tolist(), size.matrix[:2].tolist()
        ([-1, 1], [[1, 1], [0, 1]])
        """
        carried = _carry(self.matrix)
        negative = carried[-1] < 0
        carried = _carry(np.where(negative, -carried, carried))[: len(self.matrix) + 1]
        nonzero = carried.any(axis=0)
        return np.where(negative, -1, 1) * nonzero, Limbs(carried, self.low)

    def minus(self, other: Limbs) -> Limbs:
        """The differences, number by number."""
        low = min(self.low, other.low)
        high = max(self.low + len(self.matrix), other.low + len(other.matrix))
        matrix = np.zeros((high - low, self.count), np.int64)
        matrix[self.low - low :][: len(self.matrix)] += self.matrix
        matrix[other.low - low :][: len(other.matrix)] -= other.matrix
        return Limbs(matrix, low)

    def times(self, factor: IntArray | int) -> Limbs:
        """The product of normal limbs and a number below 2**31, or one such number for each."""
        return Limbs(_carry(self.matrix * factor), self.low)

    def squared(self) -> Limbs:
        """The squares of normal limbs."""
        size = len(self.matrix)
        wide = self.matrix.view(np.uint64)
        matrix = np.zeros((2 * size + 1, self.count), np.int64)
        for i in np.flatnonzero(self.matrix.any(axis=1)):
            product = wide[i] * wide[i:]
            low = (product & np.uint64(MASK)).view(np.int64)
            high = (product >> np.uint64(BITS)).view(np.int64)
            low[1:] *= 2  # every pair of different limbs counts both ways
            high[1:] *= 2
            matrix[2 * i : i + size] += low
            matrix[2 * i + 1 : i + size + 1] += high
        return Limbs(_carry(matrix), 2 * self.low)

    def crossed(self, other: Limbs) -> Limbs:
        """The products of normal limbs, number by number."""
        matrix = np.zeros((len(self.matrix) + len(other.matrix) + 1, self.count), np.int64)
        wide = other.matrix.view(np.uint64)
        for i in np.flatnonzero(self.matrix.any(axis=1)):
            product = self.matrix[i].view(np.uint64) * wide
            matrix[i : i + len(wide)] += (product & np.uint64(MASK)).view(np.int64)
            matrix[i + 1 : i + len(wide) + 1] += (product >> np.uint64(BITS)).view(np.int64)
        return Limbs(_carry(matrix), self.low + other.low)

    def divided(self, divisor: IntArray) -> Limbs:
        """The quotient of normal limbs and numbers in [1, 2**31), halves rounded up."""
        by = divisor.astype(np.uint64)
        rest = np.zeros(self.count, np.uint64)
        matrix = np.zeros_like(self.matrix)
        for j in range(len(self.matrix) - 1, -1, -1):
            value = (rest << np.uint64(BITS)) | self.matrix[j].view(np.uint64)
            matrix[j] = (value // by).view(np.int64)
            rest = value % by
        matrix[0] += (rest * np.uint64(2) >= by).astype(np.int64)
        return Limbs(_carry(matrix), self.low)

    def nearest(self) -> tuple[FloatArray, IntArray]:
        """The doubles nearest to normal limbs, as mantissa and power of two (ties to even)."""
        padded = np.concatenate([np.zeros((2, self.count), np.int64), self.matrix]).view(np.uint64)
        places = np.arange(len(padded))[:, None]
        top = np.maximum((padded != 0) * places, 2).max(axis=0)
        here = np.arange(self.count)
        head, middle, tail = padded[top, here], padded[top - 1, here], padded[top - 2, here]
        bits = np.frexp(head.astype(np.float64))[1].astype(np.uint64)
        gap = np.uint64(BITS) - bits
        window = (((head << np.uint64(BITS)) | middle) << gap) | (tail >> bits)
        lost = tail & ((np.uint64(1) << bits) - np.uint64(1))
        lower = (padded * (places < top - 2)).any(axis=0)
        window |= ((lost != 0) | lower).astype(np.uint64)
        power = BITS * (top - 3 + self.low) - gap.astype(np.int64)
        return window.astype(np.float64), power

    def to_words(self) -> tuple[UIntArray, UIntArray, BoolArray]:
        """The low and high 64 bits of normal limbs with `low` >= 0, and which numbers are below 2**127."""
        matrix = np.zeros((max(4, len(self.matrix)) + self.low, self.count), np.int64)
        matrix[self.low : self.low + len(self.matrix)] = self.matrix
        words = matrix.view(np.uint64)
        low = words[0] | (words[1] << np.uint64(BITS))
        high = words[2] | (words[3] << np.uint64(BITS))
        return low, high, ~matrix[4:].any(axis=0) & (high < np.uint64(2**63))


def to_lists(sign: IntArray, limbs: Limbs) -> pa.ListArray:
    """One list for each number, to be stored: its lowest limb's position, then its limbs; empty for zero.

    >>> sign, size = Limbs(np.array([[0, 0], [5, 0]]), 7).normal()
    >>> to_lists(-sign, size).to_pylist()
    [[8, -5], []]
    """
    used = limbs.matrix != 0
    places = np.arange(len(used))[:, None]
    last = np.where(used, places, -1).max(axis=0, initial=-1)
    first = np.where(used, places, len(used)).min(axis=0, initial=len(used))
    lengths = np.where(last < 0, 0, last - first + 2)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    flat = np.empty(offsets[-1], np.int64)
    inside = ((places >= first) & (places <= last)).T
    heads = np.zeros(len(flat), bool)
    heads[offsets[:-1][lengths > 0]] = True
    flat[heads] = (first + limbs.low)[lengths > 0]
    flat[~heads] = (limbs.matrix * sign).T[inside]
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(flat))


def from_lists(lists: pa.Array) -> Limbs:
    """The inverse of `to_lists`; a NULL is zero."""
    lists = as_lists(lists)
    lengths = lists.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    flat = lists.flatten().to_numpy()
    owners = np.repeat(np.arange(len(lengths)), lengths)
    starts = (np.cumsum(lengths) - lengths)[owners]
    inner = np.arange(len(flat)) != starts
    place = flat[starts] + np.arange(len(flat)) - starts - 1
    if not len(flat):
        return Limbs(np.zeros((1, len(lengths)), np.int64), 0)
    low, high = int(place[inner].min()), int(place[inner].max())
    matrix = np.zeros((high - low + 1, len(lengths)), np.int64)
    matrix[place[inner] - low, owners[inner]] = flat[inner]
    return Limbs(matrix, low)


def _carry(matrix: IntArray) -> IntArray:
    """Propagate carries: all limbs but two new top ones come to lie in [0, 2**32)."""
    out = np.zeros((len(matrix) + 2, matrix.shape[1]), np.int64)
    carry = np.zeros(matrix.shape[1], np.int64)
    for j in range(len(matrix)):
        value = matrix[j] + carry
        out[j] = value & MASK
        carry = value >> BITS
    out[-2] = carry & MASK
    out[-1] = carry >> BITS
    return out


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
    words: IntArray = np.frombuffer(buffer_of(values, 1), np.int64).reshape(-1, 2)
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
