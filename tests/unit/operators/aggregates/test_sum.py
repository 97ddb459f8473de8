"""Sums of 64 bits finish as the same sums in limbs do."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from seine.operators.aggregates import finish
from seine.operators.aggregates.sum import NarrowSums

FINISHES = {
    "sum of integers": finish.finish_sum_of_integers,
    "sum of decimals": partial(finish.finish_sum_of_decimals, type_=pa.decimal128(28, 2)),
    "sum of short decimals": partial(finish.finish_sum_of_decimals, type_=pa.decimal128(7, 2)),
    "average of decimals": partial(finish.finish_average_of_decimals, scale=2, type_=pa.decimal128(18, 6)),
    "average of long decimals": partial(
        finish.finish_average_of_decimals, scale=2, type_=pa.decimal128(38, 6)
    ),
    "average of integers": partial(finish.finish_average, unit=0),
}


@pytest.mark.parametrize("name", FINISHES)
@pytest.mark.parametrize("bits", [4, 24, 49, 62])
def test_sums_of_64_bits_finish_as_limbs_do(name: str, bits: int) -> None:
    random = Random(bits)
    numbers = [random.randrange(-(2**bits), 2**bits + 1) for _ in range(300)]
    sums = NarrowSums(np.array([*numbers, 0, 1, -1, 2**bits, -(2**bits)]))
    counts = np.array([random.choice([0, 1, 2, 3, 7, 1000]) for _ in sums.numbers])
    made = FINISHES[name](counts, sums)
    assert made.equals(FINISHES[name](counts, sums.total()))
    assert made.null_count < len(made)


def test_halves_of_averages_are_rounded_away_from_zero() -> None:
    sums = NarrowSums(np.array([1, -1, 3, -3, 0]))
    made = finish.finish_average_of_decimals(np.full(5, 2), sums, scale=0, type_=pa.decimal128(9, 0))
    assert [int(value) for value in made.to_pylist()] == [1, -1, 2, -2, 0]


def test_some_places_of_sums_are_those_places() -> None:
    sums, places = NarrowSums(np.array([5, -7, 2**40])), np.array([2, 0])
    assert sums.take(places).numbers.tolist() == [2**40, 5]
    assert sums.total().take(places).sign.tolist() == [1, 1]
    low, high, _ = sums.total().take(places).size.to_words()
    assert (low.tolist(), high.tolist()) == ([2**40, 5], [0, 0])
