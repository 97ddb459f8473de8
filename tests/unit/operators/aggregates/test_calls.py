"""SKEWNESS and KURTOSIS against exact arithmetic, whatever the order of values."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import pytest

from seine.operators.aggregates.calls import ShapeOfValues
from tests.support.seeds import seeds


def exact(values: list[float], power: int) -> float:
    numbers = [Fraction(value) for value in values]
    mean = sum(numbers) / len(numbers)
    square, moment = (sum((x - mean) ** k for x in numbers) / len(numbers) for k in (2, power))
    scale = max(abs(x - mean) for x in numbers)
    ratio = float(moment / scale**power) / float(square / scale**2) ** (power / 2)
    return ratio if power == 3 else ratio - 3


@seeds(8)
def test_moments_are_those_of_exact_arithmetic(seed: int) -> None:
    rng = Random(seed)
    unit = rng.choice([1.0, 1e300, 1e-300, 12.5])
    values = [rng.uniform(-1, 3) * unit for _ in range(rng.randrange(2, 40))]
    for name, power in (("skewness", 3), ("kurtosis", 4)):
        fold = ShapeOfValues(name)
        result = fold.finish(values)
        assert result == pytest.approx(exact(values, power), rel=1e-9, abs=1e-9)
        rng.shuffle(values)
        half = len(values) // 2
        assert fold.finish(fold.merge(values[:half], values[half:])) == result


def test_values_without_a_shape() -> None:
    fold = ShapeOfValues("skewness")
    assert fold.finish([]) is None
    assert fold.finish([7.0, 7.0]) is None
    assert math.isnan(fold.finish([1.0, math.inf]))
