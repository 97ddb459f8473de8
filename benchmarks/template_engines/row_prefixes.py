"""Rows of R_T as a prefix tree: queries that agree in the first variables of a plan are one partial result.

A conjunctive query binds metavariables one after the other. Rows are sorted by the pairs of variables in that
order; a prefix of length k is a range of rows, and its extensions by the next pair are ranges within it:

    rows       (a, b, c)  (a, b, d)  (a, e, c)
    level 0    a b                   a e            the pairs of the first value join
    level 1    a b c      a b d      a e c

So what fails at the first or second value join fails once, not for each query that begins alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.packed_keys import join, pack_pairs
from seine.algebra.arrays import IntArray


@dataclass(frozen=True)
class _PrefixLevel:
    """The prefixes of one length: the pair that each ends with, and where its extensions begin and end."""

    pair: IntArray
    extensions: IntArray


class RowPrefixes:
    """The prefixes of the rows of a relation in an order of its columns; the first two come together."""

    def __init__(self, pairs: IntArray, order: Sequence[int]) -> None:
        self._rows = np.lexsort([pairs[:, node] for node in reversed(order)])
        columns = pairs[self._rows]
        differs = np.zeros(len(columns), dtype=bool)
        differs[0] = True
        starts = []
        for place, node in enumerate(order):
            differs[1:] |= columns[1:, node] != columns[:-1, node]
            if place:
                starts.append(np.append(np.flatnonzero(differs), len(columns)))
        starts.append(np.arange(len(columns) + 1))
        self._keys = pack_pairs(*(columns[starts[0][:-1], node] for node in order[:2]))
        self._levels = [
            _PrefixLevel(columns[upper[:-1], node], np.searchsorted(lower, upper))
            for upper, lower, node in zip(starts, starts[1:], order[1:], strict=False)
        ]

    @property
    def most_extensions(self) -> int:
        """Into how many prefixes, at most, one of the first level is extended."""
        return int(np.diff(self._levels[0].extensions).max())

    def first(self, left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
        """All (number of the probe, prefix) whose first two pairs are given."""
        return join(self._keys, pack_pairs(left, right))

    def extended(self, level: int, prefixes: IntArray) -> tuple[IntArray, IntArray]:
        """All (number of the prefix given, prefix of the next level) that extend prefixes of a level."""
        bounds = self._levels[level].extensions
        counts = bounds[prefixes + 1] - bounds[prefixes]
        owners = np.repeat(np.arange(len(prefixes)), counts)
        shift = bounds[prefixes] - np.cumsum(counts) + counts
        return owners, np.arange(len(owners)) + np.repeat(shift, counts)

    def last_pair(self, level: int, prefixes: IntArray) -> IntArray:
        """The pair of variables with which each prefix of a level ends."""
        return self._levels[level].pair[prefixes]

    def rows(self, prefixes: IntArray) -> tuple[IntArray, IntArray]:
        """All (number of the prefix given, row of the relation) of prefixes of the last level."""
        owners, places = self.extended(len(self._levels) - 1, prefixes)
        return owners, self._rows[places]
