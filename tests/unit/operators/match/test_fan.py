"""What the assignment of rows to windows counts: the windows of each query's constants, by brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call, Parameter
from seine.algebra.types import BIGINT
from seine.evaluate.kernels.spending import Called, Spender, begin
from seine.operators.match import fan

WINDOW = Call("window_start", (Parameter(0, BIGINT),), BIGINT)


class Counted(Spender):
    def __init__(self) -> None:
        super().__init__(10**9, 10**12)
        self.sizes: Counter[tuple[str, ...]] = Counter()

    def spend(self, called: Called, steps: int, size: int) -> None:
        self.sizes[called.constants] += size


def counted(counts: IntArray, constants: list[IntArray]) -> Counter[tuple[str, ...]]:
    spender = Counted()
    with spender.counting():
        begin(WINDOW)
        fan._spend(counts, constants)
    return spender.sizes


@pytest.mark.parametrize("values", [1, 2, 3])
def test_windows_are_counted_for_the_constants_that_ask_for_them(values: int) -> None:
    random = np.random.default_rng(values)
    for rows in (0, 1, 2, 50):
        counts = random.integers(1, 9, rows)
        constants = [random.integers(5, 5 + values, rows) for _ in range(3)]
        expected: Counter[tuple[str, ...]] = Counter()
        for count, *lengths in zip(counts, *constants, strict=True):
            expected[tuple(map(str, lengths))] += int(count) * fan._PAIR_BYTES
        assert counted(counts, constants) == expected


def test_constants_that_are_all_the_same_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(np, "unique")
    same = [np.full(3, value) for value in (10, 5, 0)]
    sizes = counted(np.array([1, 2, 4]), same)
    assert sizes == {("10", "5", "0"): 7 * fan._PAIR_BYTES}
