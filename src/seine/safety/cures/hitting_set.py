"""Minimum hitting set: the smallest set that has an element of every given set.

Depth first: the smallest set that is not hit is hit by each of its elements in turn, an element that did not
help is not tried again, and sets that share nothing are counted, as each of them takes an element of its own.
Sets are bits of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class TooManyError(Exception):
    """The search was given up."""


class HittingSets:
    """Sets that come one after another, and the elements that hit all of them.

    >>> hitting = HittingSets(1_000)
    >>> for one in ([1, 2], [2, 3], [4]):
    ...     hitting.add(one)
    >>> sorted(hitting.smallest()), hitting.least
    ([2, 4], 2)
    """

    def __init__(self, most: int) -> None:
        """`most` is how many steps all searches together may take."""
        self._sets: list[int] = []
        self._left = most
        self.least = 0  # so many elements it takes

    def add(self, elements: Iterable[int]) -> None:
        self._sets.append(sum(1 << element for element in elements))
        self._sets.sort(key=lambda one: (one.bit_count(), one))
        self.least = max(self.least, _disjoint(self._sets))

    def smallest(self) -> frozenset[int]:
        """A smallest set that hits all; TooManyError when the steps are used up."""
        while True:
            hitting = self._within(self._sets, self.least)
            if hitting is not None:
                return frozenset(hitting)
            self.least += 1

    def greedy(self) -> frozenset[int]:
        """A set that hits all: again and again what hits most of those that are left."""
        chosen: list[int] = []
        left = list(self._sets)
        while left:
            counts = _counts(left)
            best = min(counts, key=lambda element: (-counts[element], element))
            chosen.append(best)
            left = [one for one in left if not one >> best & 1]
        return frozenset(chosen)

    def seldom_first(self, elements: Iterable[int]) -> list[int]:
        """Elements by how many of the sets they hit."""
        counts = _counts(self._sets)
        return sorted(elements, key=lambda element: counts.get(element, 0))

    def _within(self, sets: Sequence[int], size: int) -> list[int] | None:
        """At most so many elements that hit all, or None."""
        self._left -= 1
        if self._left < 0:
            raise TooManyError
        if not sets:
            return []
        if _disjoint(sets) > size:
            return None
        tried = 0
        for element in _elements(min(sets, key=int.bit_count)):
            rest = [one & ~tried for one in sets if not one >> element & 1]
            hitting = self._within(rest, size - 1) if all(rest) else None
            if hitting is not None:
                return [element, *hitting]
            tried |= 1 << element
        return None


def _disjoint(sets: Sequence[int]) -> int:
    """How many of these sets share nothing, as far as that is seen when they are taken in order."""
    taken = count = 0
    for one in sets:
        if not one & taken:
            taken |= one
            count += 1
    return count


def _counts(sets: Sequence[int]) -> dict[int, int]:
    """How many of the sets each element hits."""
    counts: dict[int, int] = {}
    for one in sets:
        for element in _elements(one):
            counts[element] = counts.get(element, 0) + 1
    return counts


def _elements(bits: int) -> list[int]:
    return [place for place in range(bits.bit_length()) if bits >> place & 1]
