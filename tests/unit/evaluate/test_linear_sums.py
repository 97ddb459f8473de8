"""Linear functions against Python's whole numbers, at the edges of 64 bits and of 38 digits."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column
from seine.algebra.linear import coefficients_of, linear_name
from seine.algebra.types import BIGINT, DATE, TIMESTAMP, Type
from seine.evaluate.evaluate import KERNELS, evaluate
from tests.support.canonical_conditions import FINE, MONEY, random_rows

MOST = 2**63 - 1


def clamped(value: int, most: int, least: int) -> int:
    return max(least, min(most, value))


@pytest.mark.parametrize("coefficients", [(1, -1), (2, 3), (-1, 2**61), (86_400_000_000, -1)])
def test_sums_beyond_64_bits_are_the_nearest_that_fits(coefficients: tuple[int, int]) -> None:
    columns = random_rows(random.Random(str(coefficients)), 500, [BIGINT, BIGINT])
    call = Call(linear_name(coefficients), (Column(0, BIGINT), Column(1, BIGINT)), BIGINT)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    a, b = coefficients
    wanted = [None if None in (x, y) else clamped(a * x + b * y, MOST, -MOST - 1) for x, y in rows]
    assert evaluate(call, columns, 500).to_pylist() == wanted


def test_days_and_microseconds() -> None:
    call = Call(linear_name((86_400_000_000, -1)), (Column(0, DATE), Column(1, TIMESTAMP)), BIGINT)
    columns = [pa.array([1, None], pa.int32()).view(pa.date32()), pa.array([5, 5], pa.timestamp("us", "UTC"))]
    assert evaluate(call, columns, 2).to_pylist() == [86_400_000_000 - 5, None]


@pytest.mark.parametrize("types", [(MONEY, FINE), (FINE, FINE), (MONEY, BIGINT)])
def test_decimals_beyond_their_digits_are_the_nearest_that_fits(types: tuple[Type, Type]) -> None:
    columns = random_rows(random.Random(str(types)), 300, types)
    call = Call("linear[3,-2]", (Column(0, types[0]), Column(1, types[1])), FINE)
    most = 10**38 - 1
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    wanted = [None if None in (x, y) else clamped(3 * units(x) - 2 * units(y), most, -most) for x, y in rows]
    computed = evaluate(call, columns, 300).to_pylist()
    assert [None if value is None else units(value) for value in computed] == wanted


def units(value: Decimal | int) -> int:
    """In steps of FINE."""
    sign, digits, exponent = Decimal(value).as_tuple()
    assert isinstance(exponent, int)
    return (-1) ** sign * int("".join(map(str, digits))) * 10 ** (exponent + FINE.scale)


def test_names_carry_the_coefficients() -> None:
    assert coefficients_of(linear_name((7, -3, 1))) == (7, -3, 1)
    assert coefficients_of("add") is None
    with pytest.raises(KeyError):
        KERNELS["no_such_function"]
