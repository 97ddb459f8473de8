"""The number of distinct values from a multiresolution bitmap: how far it is from the truth."""

from __future__ import annotations

import numpy as np
import pytest

from seine.operators.aggregates.level_counts import CELLS, LEVELS, OccupiedCells, cells_of


def estimated(values: np.ndarray) -> int:
    cells = np.unique(cells_of(values))
    counts = np.bincount(cells // CELLS, minlength=LEVELS)
    return int(OccupiedCells(counts[:, None]).estimate()[0])


@pytest.mark.parametrize("count", [0, 1, 10, 1_000, 30_000, 300_000, 2_000_000])
@pytest.mark.parametrize("first", [0, 10**9])
def test_the_estimate_is_near(count: int, first: int) -> None:
    values = np.arange(first, first + count)
    assert abs(estimated(values) - count) <= 0.08 * count


def test_few_values_are_counted_almost_exactly() -> None:
    assert [estimated(np.arange(n)) for n in range(12)] == [*range(12)]


def test_strings_and_doubles() -> None:
    words = np.array([f"word {i}" for i in range(20_000)], object)
    assert abs(estimated(words) - 20_000) < 1_600
    assert abs(estimated(np.arange(20_000) / 7) - 20_000) < 1_600


def test_repeats_and_order_change_nothing() -> None:
    values = np.arange(50_000)
    shuffled = np.random.default_rng(1).permutation(np.concatenate([values, values]))
    assert estimated(shuffled) == estimated(values)
