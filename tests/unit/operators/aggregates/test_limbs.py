"""Exact sums in limbs against Python's integers and fractions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.operators.aggregates.limbs import (
    DOUBLE_UNIT,
    SQUARE_UNIT,
    Limbs,
    from_lists,
    split_decimals,
    split_doubles,
    split_integers,
    split_squares,
    to_lists,
)
from tests.support.seeds import seeds


def number_of(limbs: Limbs, column: int) -> int:
    return sum(int(limb) << (32 * (j + limbs.low)) for j, limb in enumerate(limbs.matrix[:, column]))


def random_limbs(random: Random) -> Limbs:
    rows = [
        [random.choice([0, 1, -1, random.randrange(-(2**62), 2**62)]) for _ in range(20)] for _ in range(5)
    ]
    return Limbs(np.array(rows), random.randrange(4))


@seeds(20)
def test_arithmetic_is_that_of_integers(seed: int) -> None:
    random = Random(seed)
    limbs, other = random_limbs(random), random_limbs(random)
    sign, size = limbs.normal()
    difference = limbs.minus(other)
    squared, raised = size.squared(), size.times(10**4)
    divisors = np.array([random.randrange(1, 2**31) for _ in range(20)])
    divided = size.divided(divisors)
    for column in range(20):
        value, magnitude = number_of(limbs, column), number_of(size, column)
        assert int(sign[column]) * magnitude == value
        assert ((size.matrix >= 0) & (size.matrix < 2**32)).all()
        assert number_of(difference, column) == value - number_of(other, column)
        assert number_of(squared, column) == magnitude**2
        assert number_of(raised, column) == magnitude * 10**4
        unit = 2 ** (32 * size.low)
        half_up = (2 * (magnitude // unit) + int(divisors[column])) // (2 * int(divisors[column]))
        assert number_of(divided, column) == half_up * unit


@seeds(20)
def test_lists_keep_the_number(seed: int) -> None:
    limbs = random_limbs(Random(seed))
    sign, size = limbs.normal()
    back = from_lists(to_lists(sign, size))
    assert [number_of(back, i) for i in range(20)] == [number_of(limbs, i) for i in range(20)]


def test_nearest_rounds_ties_to_even() -> None:
    cases = [
        0,
        1,
        2**53 + 1,
        2**53 + 3,
        2**54 + 2,
        2**54 + 6,
        2**100 + 2**47,
        2**100 + 2**47 + 1,
        3**80,
        2**32,
    ]
    columns = [[(n >> (32 * j)) & (2**32 - 1) for j in range(5)] for n in cases]
    mantissa, power = Limbs(np.array(columns).T.copy(), 0).nearest()
    assert np.ldexp(mantissa, power).tolist() == [float(n) for n in cases]


def total(pieces) -> int:
    return sum(int(amount[0]) << (32 * int(place[0])) for place, amount in pieces)


@pytest.mark.parametrize("value", [0.1, -1e300, 5e-324, -2.5, 1.7976931348623157e308, 2.0**-1022, 0.0])
def test_doubles_and_their_squares_are_split_exactly(value: float) -> None:
    array = pa.array([value])
    assert Fraction(total(split_doubles(array)), 2**DOUBLE_UNIT) == Fraction(value)
    assert Fraction(total(split_squares(array)), 2**SQUARE_UNIT) == Fraction(value) ** 2


def test_integers_and_decimals_are_split_exactly() -> None:
    for value in (0, -1, 2**63 - 1, -(2**63), 2**32):
        assert total(split_integers(pa.array([value]))) == value
    for value in (0, -1, 10**38 - 1, -(10**38) + 1, 2**64, -(2**64)):
        assert total(split_decimals(pa.array([Decimal(value)], pa.decimal128(38, 0)))) == value
    assert total(split_doubles(pa.array([math.inf]))) == 0
