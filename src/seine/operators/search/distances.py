"""Distances of tuples from terms, as reach has them: read once for each place that growth comes to.

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
from seine.rows.pairs import ranges

UNREACHED = 1 << 20  # more than any distance
MOST_REMEMBERED = 1 << 24  # pairs of a tuple and a term whose distances are kept in an array
_NOT_LOOKED_UP, _BEYOND_REACH = -1, 127  # in that array
_NUMBERS = np.zeros(0, np.int64)


class Distances:
    """Distances over the rows of reach in some runs."""

    def __init__(self, tuples: KnownTuples, searches: Searches, runs: Sequence[SortedRun]) -> None:
        self._tuples, self._searches, self._runs = tuples, searches, runs
        self._places = _NUMBERS  # those that were looked at, ascending
        self._at = np.zeros(1, np.int64)  # where the rows of each begin
        self._terms = self._hops = _NUMBERS
        self._width = len(searches.terms)
        self._remembered = np.zeros(0, np.int8)  # by tuple and term

    def of(self, tuples: IntArray, terms: IntArray, queries: IntArray) -> IntArray:
        """How far tuples are from terms, pair by pair, at least; what is unknown is just beyond reach."""
        codes = tuples * self._width + terms
        size = len(self._tuples) * self._width
        nearest = self._by_array(codes, size) if size <= MOST_REMEMBERED else self._by_code(codes)
        distance: IntArray = np.minimum(nearest, self._searches.max_tuples[queries] // 2 + 1)
        return distance

    def _by_code(self, codes: IntArray) -> IntArray:
        distinct, inverse = np.unique(codes, return_inverse=True)
        nearest = self._nearest(distinct // self._width, distinct % self._width)
        return nearest[inverse.reshape(-1)]

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

    def near(self, tuples: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """All terms that tuples have or reach: which of the tuples, the term, the distance."""
        holders, held = self._tuples.terms(tuples)
        owners, places, _, _ = self._tuples.places(tuples)
        self._look_at(opposite(places))
        rows = np.searchsorted(self._places, opposite(places))
        pieces = [(owners[number], at) for number, at in ranges(self._at[rows], self._at[rows + 1])]
        reached = np.concatenate([piece[0] for piece in pieces]) if pieces else _NUMBERS
        at = np.concatenate([piece[1] for piece in pieces]) if pieces else _NUMBERS
        owner = np.concatenate([holders, reached])
        term = np.concatenate([held, self._terms[at]])
        distance = np.concatenate([np.zeros(len(holders), np.int64), self._hops[at] + 1])
        order = np.lexsort((distance, term, owner))
        owner, term, distance = owner[order], term[order], distance[order]
        first = np.ones(len(order), bool)
        first[1:] = (owner[1:] != owner[:-1]) | (term[1:] != term[:-1])
        return owner[first], term[first], distance[first]

    def _nearest(self, tuples: IntArray, terms: IntArray) -> IntArray:
        owners, places, _, _ = self._tuples.places(tuples)
        self._look_at(opposite(places))
        rows = np.searchsorted(self._places, opposite(places))
        nearest = np.where(self._searches.frequent[terms], 1, UNREACHED)
        for number, at in ranges(self._at[rows], self._at[rows + 1]):
            pair = owners[number]
            same = self._terms[at] == terms[pair]
            np.minimum.at(nearest, pair[same], self._hops[at[same]] + 1)
        nearest[self._tuples.has_term(tuples, terms)] = 0
        return nearest

    def _look_at(self, places: IntArray) -> None:
        """Read the rows of places that were not looked at yet."""
        wanted = np.unique(places)
        if len(self._places):
            known = np.searchsorted(self._places, wanted).clip(max=len(self._places) - 1)
            wanted = wanted[self._places[known] != wanted]
        if not len(wanted):
            return
        owner, term, hops = [_NUMBERS], [_NUMBERS], [_NUMBERS]
        for run in self._runs:
            for probing, stored in run.equal_keys(wanted):
                places_of_terms, fits = self._searches.term_places(run.batch[TERM].to_numpy()[stored])
                owner.append(probing[fits])
                term.append(places_of_terms[fits])
                hops.append(run.batch[HOPS].to_numpy()[stored[fits]])
        self._enter(wanted, np.concatenate(owner), np.concatenate(term), np.concatenate(hops))

    def _enter(self, places: IntArray, owner: IntArray, term: IntArray, hops: IntArray) -> None:
        """Add places with their rows, and put all in order again."""
        counts = np.diff(self._at)
        all_places = np.concatenate([np.repeat(self._places, counts), places[owner]])
        all_terms, all_hops = np.concatenate([self._terms, term]), np.concatenate([self._hops, hops])
        order = np.argsort(all_places, kind="stable")
        self._places = np.union1d(self._places, places)
        self._terms, self._hops = all_terms[order], all_hops[order]
        bounds = np.searchsorted(all_places[order], self._places)
        self._at = np.append(bounds, len(order))
