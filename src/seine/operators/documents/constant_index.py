"""Constants of one kind of comparison at one path: which of very many hold for the values of a document.

    [category = 'chess']              a dictionary by string
    [year = 2007]                     a dictionary by number
    [starts-with(@id, 'urn:')]        a dictionary, asked for the beginnings of a value
    [contains(., 'bishop')]           by three letters of each constant; those that a value has are tried
    [price > 10], [price[. > 1][. < 9]]   intervals by lower end, compared as arrays
    [lang != 'en']                    all, if there is a value at all

Law: `holding` gives what is kept with each constant for which the comparison holds for some value. It may
give more: whole patterns are evaluated behind it.

Cites: MMQJP R_T
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from seine.algebra.arrays import FloatArray
from seine.documents.match_pattern import xpath_number

EQUAL, EQUAL_NUMBER, STARTS, CONTAINS, WITHIN, DIFFERS = (
    "=",
    "= number",
    "starts-with",
    "contains",
    "in",
    "!=",
)
_LONGEST_GRAM = 3  # letters of a constant by which it is looked up
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ConstantIndex(Protocol[T_co]):
    """Constants with what is kept for each."""

    def holding(self, values: frozenset[str]) -> Iterator[T_co]:
        """What is kept with the constants that some value satisfies."""
        ...


class EqualStrings(Generic[T]):
    """A value is the constant."""

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        return (self._kept[value] for value in sorted(values & self._kept.keys()))


class EqualNumbers(Generic[T]):
    """A value, read as a number, is the constant."""

    def __init__(self, kept: Mapping[float, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        numbers = {xpath_number(value) for value in values}
        return (self._kept[number] for number in sorted(numbers & self._kept.keys()))


class Beginnings(Generic[T]):
    """A value begins with the constant."""

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept
        self._lengths = sorted({len(constant) for constant in kept})

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        beginnings = {value[:length] for value in values for length in self._lengths}
        return (self._kept[one] for one in sorted(beginnings & self._kept.keys()))


class ContainedStrings(Generic[T]):
    """A value has the constant within it.

    A constant is found by three letters of it in a row, of all its triples the one that fewest others have:
    of the constants whose triple a value has, each is looked for in the value.

        "bishop" by "hop", "knight" by "kni"        value "a knight errant": "a k", " kn", "kni", ...
    """

    def __init__(self, kept: Mapping[str, T]) -> None:
        self._kept = kept
        self._by_gram: dict[str, list[str]] = {}
        for constant in kept:
            length = min(len(constant), _LONGEST_GRAM)
            grams = {constant[at : at + length] for at in range(len(constant) - length + 1)}
            gram = min(sorted(grams), key=lambda one: len(self._by_gram.get(one, ())))
            self._by_gram.setdefault(gram, []).append(constant)
        self._lengths = sorted({len(gram) for gram in self._by_gram})

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        within: set[str] = set()
        for value in values:
            for gram in self._grams(value):
                within.update(one for one in self._by_gram[gram] if one in value)
        return (self._kept[one] for one in sorted(within))

    def _grams(self, value: str) -> set[str]:
        grams: set[str] = set()
        for length in self._lengths:
            grams.update(value[at : at + length] for at in range(len(value) - length + 1))
        return grams & self._by_gram.keys()


class Intervals(Generic[T]):
    """A value, read as a number, lies in the interval [low, high] that a constant is."""

    def __init__(self, kept: Mapping[tuple[float, float], T]) -> None:
        ordered = sorted((low, high) for low, high in kept if low <= high)
        self._kept = [kept[one] for one in ordered]
        self._low = np.array([low for low, _ in ordered], np.float64)
        self._high = np.array([high for _, high in ordered], np.float64)

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        numbers = _numbers(values)
        if not len(numbers):
            return iter(())
        reached = int(np.searchsorted(self._low, numbers[-1], "right"))  # some value is not below these
        least = numbers[np.searchsorted(numbers, self._low[:reached])]  # the first value from each on
        return (self._kept[at] for at in np.flatnonzero(least <= self._high[:reached]).tolist())


class AnyValue(Generic[T]):
    """All constants, if there is a value."""

    def __init__(self, kept: Mapping[Any, T]) -> None:
        self._kept = kept

    def holding(self, values: frozenset[str]) -> Iterator[T]:
        return iter(self._kept.values() if values else ())


_INDEXES: dict[str, type[Any]] = {
    EQUAL: EqualStrings,
    EQUAL_NUMBER: EqualNumbers,
    STARTS: Beginnings,
    CONTAINS: ContainedStrings,
    WITHIN: Intervals,
    DIFFERS: AnyValue,
}


def constant_index(comparison: str, kept: Mapping[Any, T]) -> ConstantIndex[T]:
    """The index for a kind of comparison.

    >>> sorted(constant_index(CONTAINS, {"art": 1, "tar": 2, "star": 3}).holding(frozenset({"start"})))
    [1, 2, 3]
    """
    index: ConstantIndex[T] = _INDEXES[comparison](kept)
    return index


def interval(bounds: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """The closed interval of the numbers that comparisons by order leave; an empty one has low > high.

    >>> interval([(">=", 1.0), ("<", 2.0)]) == (1.0, math.nextafter(2.0, 1.0)), interval([("<=", 3.0)])
    (True, (-inf, 3.0))
    """
    low, high = -math.inf, math.inf
    for operator, constant in bounds:
        if math.isnan(constant):
            return math.inf, -math.inf
        if operator in (">", ">="):
            low = max(low, constant if operator == ">=" else math.nextafter(constant, math.inf))
        else:
            high = min(high, constant if operator == "<=" else math.nextafter(constant, -math.inf))
    return low, high


def _numbers(values: frozenset[str]) -> FloatArray:
    numbers = np.array([xpath_number(value) for value in values], np.float64)
    return np.sort(numbers[~np.isnan(numbers)])
