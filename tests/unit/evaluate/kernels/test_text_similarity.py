"""Distances of texts against the laws that define them, on random pairs."""

from __future__ import annotations

from functools import cache
from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column
from seine.algebra.types import DOUBLE, INT, STRING
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.spending import Spender, TooMuchWork
from tests.support.seeds import seeds

PAIR = (Column(0, STRING), Column(1, STRING))
LEVENSHTEIN = Call("levenshtein", PAIR, INT)
JARO_WINKLER = Call("jaro_winkler_similarity", PAIR, DOUBLE)


def distance(left: str, right: str) -> int:
    @cache
    def to(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(to(i - 1, j) + 1, to(i, j - 1) + 1, to(i - 1, j - 1) + (left[i - 1] != right[j - 1]))

    return to(len(left), len(right))


def similarity(left: str, right: str) -> float:
    """Jaro-Winkler as it is defined, over the units of UTF-16."""
    one, other = (
        [text.encode("utf-16-le")[at : at + 2] for at in range(0, 2 * units(text), 2)]
        for text in (left, right)
    )
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    reach, taken, matched = max(len(one), len(other)) // 2 - 1, set(), []
    for i, letter in enumerate(one):
        for j in range(max(0, i - reach), min(len(other), i + reach + 1)):
            if j not in taken and other[j] == letter:
                taken.add(j)
                matched.append(letter)
                break
    if not matched:
        return 0.0
    count = len(matched)
    swapped = sum(a != other[j] for a, j in zip(matched, sorted(taken), strict=True)) / 2
    jaro = (count / len(one) + count / len(other) + (count - swapped) / count) / 3
    prefix = 0
    while prefix < min(4, len(one), len(other)) and one[prefix] == other[prefix]:
        prefix += 1
    return jaro + prefix * 0.1 * (1 - jaro)


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def random_pairs(seed: int) -> tuple[list[str], list[str]]:
    random = Random(seed)
    sides: tuple[list[str], list[str]] = ([], [])
    for _ in range(100):
        letters = random.choice(["ab", "abc", "abcdefgh", "aé漢😀"])
        left = "".join(random.choices(letters, k=random.randrange(random.choice([3, 12, 40]))))
        shuffled = random.sample(left, len(left)) if random.random() < 0.5 else [*left]
        sides[0].append(left)
        sides[1].append(
            "".join(shuffled[: random.randrange(40)])
            + "".join(random.choices(letters, k=random.randrange(4)))
        )
    return sides


@seeds(8)
def test_distances_are_those_of_the_law(seed: int) -> None:
    left, right = random_pairs(seed)
    given = [pa.array(left), pa.array(right)]
    expected = [distance(a, b) for a, b in zip(left, right, strict=True)]
    assert evaluate(LEVENSHTEIN, given, len(left)).to_pylist() == expected
    assert len({*expected}) > 5


@seeds(8)
def test_similarities_are_those_of_the_definition(seed: int) -> None:
    left, right = random_pairs(seed)
    given = [pa.array(left), pa.array(right)]
    expected = [similarity(a, b) for a, b in zip(left, right, strict=True)]
    assert evaluate(JARO_WINKLER, given, len(left)).to_pylist() == pytest.approx(expected, abs=1e-15)
    assert len({*expected}) > 20


def test_the_distance_of_long_texts_is_given_or_refused_and_never_null() -> None:
    long = [pa.array(["a" * 30_000]), pa.array(["b" * 29_999])]
    assert evaluate(LEVENSHTEIN, long, 1).to_pylist() == [30_000]
    with (
        Spender(10_000_000, 10**6).counting(),
        pytest.raises(TooMuchWork, match="levenshtein would take more"),
    ):
        evaluate(LEVENSHTEIN, long, 1)


def test_long_texts_are_as_similar_as_they_are_defined_to_be() -> None:
    """Half a million letters on each side match, each with its neighbour: half of them are transpositions."""
    left, right = "ab" * 250_000, "ba" * 250_000
    assert evaluate(JARO_WINKLER, [pa.array([left]), pa.array([right])], 1)[0].as_py() == pytest.approx(
        5 / 6, abs=1e-5
    )
