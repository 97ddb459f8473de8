"""Constants of one comparison: those that hold for some value, by trying each of them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from seine.documents.match_pattern import xpath_number
from seine.operators.documents.class_forms import (
    CONTAINS,
    DIFFERS,
    EQUAL,
    EQUAL_NUMBER,
    STARTS,
    WITHIN,
    constant_index,
)
from tests.support.seeds import seed_range

NUMBERS = [-2.0, 0.0, 1.0, 1.5, 3.0]


def word(rng: random.Random) -> str:
    return "".join(rng.choices("ab1", k=rng.randint(0, 3)))


def number(rng: random.Random) -> float:
    return rng.choice(NUMBERS)


def ends(rng: random.Random) -> tuple[float, float]:
    return number(rng), number(rng)


@pytest.mark.parametrize(
    ("comparison", "draw", "holds"),
    [
        (EQUAL, word, lambda value, one: value == one),
        (STARTS, word, str.startswith),
        (CONTAINS, word, str.__contains__),
        (DIFFERS, word, lambda value, one: True),
        (EQUAL_NUMBER, number, lambda value, one: xpath_number(value) == one),
        (WITHIN, ends, lambda value, one: one[0] <= xpath_number(value) <= one[1]),
    ],
)
def test_what_holds_is_what_each_constant_says(
    comparison: str,
    draw: Callable[[random.Random], object],
    holds: Callable[[str, object], bool],
) -> None:
    numbers_held = 0
    for seed in seed_range(150):
        rng = random.Random(seed)
        constants = {draw(rng): None for _ in range(rng.randint(1, 20))}
        index = constant_index(comparison, {one: one for one in constants})
        values = frozenset(
            rng.choice((word(rng), str(number(rng)), "NaN", "1e999")) for _ in range(rng.randint(0, 4))
        )
        expected = [one for one in constants if any(holds(value, one) for value in values)]
        assert sorted(index.holding(values)) == sorted(expected), seed
        numbers_held += len(expected)
    assert numbers_held > 20
