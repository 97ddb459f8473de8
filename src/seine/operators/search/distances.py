"""Distances of tuples from terms, as reach has them: read once for each place that growth comes to.

    place   number        number * terms + term    hops       a place has the next number when it is first
    h7      0             0*9 + 3                  0          looked at, so labels are added behind all
    h2      1             0*9 + 5                  1          others and are in order
                          1*9 + 3                  1

Law: `of` is never more than the true number of hops, by tuples of the query, from a tuple to a term.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.search.known_tuples import KnownTuples
from seine.operators.search.reach import HOPS, TERM
from seine.operators.search.searches import Searches
from seine.operators.search.tuple_columns import opposite
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.work_budget import uncounted
from seine.rows.grouping import ranges

UNREACHED = 1 << 20  # more than any distance
MOST_REMEMBERED = 1 << 22  # pairs of a tuple and a term whose distances are kept in an array
_MOST_HOPS = 32  # more than any row of reach has
_NOT_LOOKED_UP, _BEYOND_REACH = -1, 127  # instead of a distance, or of a place's number
_NUMBERS = np.zeros(0, np.int64)


class Distances:
    """Distances over the rows of reach in some runs."""

    def __init__(self, tuples: KnownTuples, searches: Searches, runs: Sequence[SortedRun]) -> None:
        self._tuples, self._searches, self._runs = tuples, searches, runs
        self._places = self._numbers = _NUMBERS  # those that were looked at, ascending, and their numbers
        self._number_of = _NUMBERS  # of the opposite of each place of a known tuple
        self._at = np.zeros(1, np.int64)  # where the labels of each place begin, by number
        self._codes = self._hops = _NUMBERS  # labels
        self._width = len(searches.terms)
        self._remembered = np.zeros(0, np.int8)  # by tuple and term

    def of(self, tuples: IntArray, terms: IntArray, queries: IntArray) -> IntArray:
        """How far tuples are from terms, pair by pair, at least; what is unknown is just beyond reach."""
        size = len(self._tuples) * self._width
        if size <= MOST_REMEMBERED:
            nearest = self._by_array(tuples * self._width + terms, size)
        else:
            nearest = self._nearest(tuples, terms)
        distance: IntArray = np.minimum(nearest, self._searches.max_tuples[queries] // 2 + 1)
        return distance

    def _by_array(self, codes: IntArray, size: int) -> IntArray:
        """Distances of pairs of a tuple and a term, each looked up once a step."""
        if size > len(self._remembered):
            more = np.full(max(size, 2 * len(self._remembered)), _NOT_LOOKED_UP, np.int8)
            more[: len(self._remembered)] = self._remembered
            self._remembered = more
        nearest = self._remembered[codes]
        unknown = nearest == _NOT_LOOKED_UP
        if unknown.any():
            distinct = np.unique(codes[unknown])
            distances = self._nearest(distinct // self._width, distinct % self._width)
            self._remembered[distinct] = np.minimum(distances, _BEYOND_REACH)
            nearest = self._remembered[codes]
        return np.where(nearest == _BEYOND_REACH, UNREACHED, nearest.astype(np.int64))

    def label_counts(self, tuples: IntArray) -> IntArray:
        """How many labels there are at the places opposite to each tuple."""
        owners, numbers = self._labelled_places(tuples)
        counts = self._at[numbers + 1] - self._at[numbers]
        totals: IntArray = np.bincount(owners, counts, len(tuples)).astype(np.int64)
        return totals

    def near(self, tuples: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """All terms that tuples have or reach: which of the tuples, the term, the distance; in this order."""
        holders, held = self._tuples.terms(tuples)
        owners, numbers = self._labelled_places(tuples)
        pieces = [(owners[at], label) for at, label in ranges(self._at[numbers], self._at[numbers + 1])]
        reached = np.concatenate([piece[0] for piece in pieces]) if pieces else _NUMBERS
        at = np.concatenate([piece[1] for piece in pieces]) if pieces else _NUMBERS
        codes = np.concatenate([holders * self._width + held, reached * self._width + self._term_of(at)])
        distance = np.concatenate([np.zeros(len(holders), np.int64), self._hops[at] + 1])
        codes, distance = nearest_of(codes, distance)
        return codes // max(self._width, 1), codes % max(self._width, 1), distance

    def _term_of(self, labels: IntArray) -> IntArray:
        terms: IntArray = self._codes[labels] % max(self._width, 1)
        return terms

    def _nearest(self, tuples: IntArray, terms: IntArray) -> IntArray:
        owners, numbers = self._labelled_places(tuples)
        nearest = np.where(self._searches.frequent[terms], 1, UNREACHED)
        if len(self._codes):
            codes = numbers * self._width + terms[owners]
            at = np.searchsorted(self._codes, codes).clip(max=len(self._codes) - 1)
            same = np.flatnonzero(self._codes[at] == codes)
            np.minimum.at(nearest, owners[same], self._hops[at[same]] + 1)
        nearest[self._tuples.has_term(tuples, terms)] = 0
        return nearest

    def _labelled_places(self, tuples: IntArray) -> tuple[IntArray, IntArray]:
        """The places opposite to tuples, by number: which of the tuples, and the place."""
        owners, at = self._tuples.place_numbers(tuples)
        more = np.full(len(self._tuples.all_places) - len(self._number_of), _NOT_LOOKED_UP, np.int64)
        if len(more):
            self._number_of = np.concatenate([self._number_of, more])
        unknown = np.flatnonzero(np.bincount(at[self._number_of[at] == _NOT_LOOKED_UP]))
        if len(unknown):
            self._number_of[unknown] = self._numbered(opposite(self._tuples.all_places[unknown]))
        return owners, self._number_of[at]

    def _numbered(self, places: IntArray) -> IntArray:
        """The numbers of places; those without one get the next, and their labels are read."""
        distinct, inverse = np.unique(places, return_inverse=True)
        at = np.searchsorted(self._places, distinct).clip(max=max(len(self._places) - 1, 0))
        known = self._places[at] == distinct if len(self._places) else np.zeros(len(distinct), bool)
        if not known.all():
            self._look_at(distinct[~known])
            at = np.searchsorted(self._places, distinct)
        numbers: IntArray = self._numbers[at][inverse.reshape(-1)]
        return numbers

    def _look_at(self, places: IntArray) -> None:
        """Read the labels of places that were not looked at yet."""
        first, count = len(self._places), len(places)
        codes, hops = [_NUMBERS], [_NUMBERS]
        for run in self._runs:
            for probing, stored in run.equal_keys(places, uncounted):
                terms, fits = self._searches.term_places(run.batch[TERM].to_numpy()[stored])
                codes.append((first + probing[fits]) * self._width + terms[fits])
                hops.append(run.batch[HOPS].to_numpy()[stored[fits]])
        fresh, nearest = nearest_of(np.concatenate(codes), np.concatenate(hops))
        bounds = np.searchsorted(fresh, np.arange(first + 1, first + count + 1) * self._width)
        self._at = np.concatenate([self._at, len(self._codes) + bounds])
        self._codes, self._hops = np.concatenate([self._codes, fresh]), np.concatenate([self._hops, nearest])
        self._places = np.concatenate([self._places, places])
        self._numbers = np.concatenate([self._numbers, np.arange(first, first + count)])
        order = np.argsort(self._places, kind="stable")
        self._places, self._numbers = self._places[order], self._numbers[order]


def nearest_of(codes: IntArray, hops: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct codes in ascending order, each with its fewest hops.

    >>> [column.tolist() for column in nearest_of(np.array([7, 3, 7]), np.array([2, 5, 1]))]
    [[3, 7], [5, 1]]
    """
    order = np.argsort(codes * _MOST_HOPS + hops) if len(codes) else _NUMBERS
    codes, hops = codes[order], hops[order]
    first = np.ones(len(codes), bool)
    first[1:] = codes[1:] != codes[:-1]
    return codes[first], hops[first]
