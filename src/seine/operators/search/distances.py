"""Distances of tuples from terms, as reach has them: read once for each place that growth comes to.

    place   number        number * terms + term    hops       a place has the next number when it is first
    h7      0             0*9 + 3                  0          looked at, so labels are added behind all
    h2      1             0*9 + 5                  1          others and are in order
                          1*9 + 3                  1

Law: `of` is never more than the true number of hops, by tuples of the query, from a tuple to a term.

Reach: how near a term is to a place, so that growth does not go where it is in vain.

    place           term  hops  until       a tuple at (movie.did, 7) has term 3 itself, and one there has
    (movie.did, 7)     3     0     25       term 5 one hop away; so a tuple at (director.did, 7) is one hop
    (movie.did, 7)     5     1     18       from term 3 and two hops from term 5

A new tuple publishes its terms at its places, with 0 hops; whatever is new at a place with h hops, the
tuples at the opposite place publish at all of their own places with h + 1; and a new tuple publishes what it
reads at the opposite places. A row of a term has fewer hops than half the largest MAX of the queries that
have the term. It is kept unless another one there is as near and lasts as long; it lasts about as long as the
tuples on the way.

Law: let a tuple have a term h hops away, by a way of tuples that are alive at a time t. If h is at most half
the MAX of a query with this term, and all these tuples came since the query was born, then one of the tuple's
opposite places has a row of the term with fewer than h hops that lasts beyond t, or the tuple has the term.
So a distance read here is never too large: a row too many costs time, a row too few would lose results.

Cites: SKWS 4.1 (demand-driven operator execution)
Differs: demand is kept for each value of a join key instead of for each operator.

What a step may spend on reach, counted for each term: rows that are read, and tuples that pass rows on.

Reach is worth its price where it is small. A value that very many tuples share, or a word in very many
tuples, would make it the product of tuples and terms; so when a step has spent what it may, the terms that
had more than their equal part lose their reach for good, like stop-words. That changes no answer: reach only
prunes. Trees of their queries are grown without it, at the expense of these queries (`tree_search.py`).

Law: a step spends at most twice its budget and a chunk. Whose reach is lost depends on tuples and terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.data_graph import DataGraph
from seine.operators.search.known_tuples import KnownTuples
from seine.operators.search.searches import Searches
from seine.operators.search.watched_schema import opposite, spread
from seine.operators.state.sorted_run import KEY, SortedRun
from seine.operators.state.work_budget import uncounted
from seine.rows.delta import FOREVER
from seine.rows.grouping import MAX_PAIRS_AT_ONCE, bounded_slices, ranges

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


TERM, HOPS = "_term", "_hops"
_GRID = 8  # parts of a lifetime to which the ends of rows are rounded up, so that few of them differ


class ReachRows(NamedTuple):
    """Rows of reach: the place, the term (its place in `Searches.terms`), hops, and lifetime."""

    place: IntArray
    term: IntArray
    hops: IntArray
    start: IntArray
    until: IntArray

    @staticmethod
    def concat(pieces: Sequence[ReachRows]) -> ReachRows:
        if not pieces:
            return ReachRows(_NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)
        return ReachRows(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))

    def where(self, rows: IntArray | BoolArray) -> ReachRows:
        return ReachRows(*(column[rows] for column in self))

    def run(self, searches: Searches) -> SortedRun | None:
        """The rows as they are kept; None if there are none."""
        if not len(self.place):
            return None
        columns = {KEY: self.place, "_s": self.start, "_e": self.until}
        columns |= {TERM: searches.terms[self.term], HOPS: self.hops}
        return SortedRun.of(
            pa.record_batch({name: pa.array(column) for name, column in columns.items()}), KEY
        )


class TermReach:
    """The reach of one step: what is held, and what new tuples add to it."""

    def __init__(self, graph: DataGraph, searches: Searches, runs: Sequence[SortedRun]) -> None:
        self._graph, self._searches, self._runs = graph, searches, runs
        self._reach = searches.index.reach
        self._spending = ReachSpending(len(searches.terms), 0)

    def published(self, new: IntArray) -> ReachRows:
        """The rows that new tuples bring about, by number of hops."""
        self._spending = ReachSpending(len(self._searches.terms), len(new))
        most = int(self._reach.max(initial=0))
        by_hops: list[list[ReachRows]] = [[] for _ in range(most + 1)]
        by_hops[0].append(self._terms_of(new))
        for rows in self._read(new):
            for hops in range(1, most):
                by_hops[hops].append(rows.where(rows.hops == hops))
        kept: list[ReachRows] = []
        for hops in range(most):
            rows = _longest(ReachRows.concat(by_hops[hops]))
            rows = rows.where((hops < self._reach[rows.term]) & ~self._spending.exhausted[rows.term])
            rows = rows.where(~self._dominated(rows, hops, kept))
            kept.append(rows)
            if hops + 1 < most:
                by_hops[hops + 1].append(self._passed_on(rows))
        return ReachRows.concat(kept)

    def run_of(self, new: IntArray) -> SortedRun | None:
        """What new tuples publish, as it is kept; None if there is nothing."""
        return self.published(new).run(self._searches)

    @property
    def exhausted(self) -> IntArray:
        """The numbers of terms whose reach is not whole: they have none from now on."""
        return self._searches.terms[self._spending.exhausted]

    def _terms_of(self, tuples: IntArray) -> ReachRows:
        """The terms of tuples, at their own places."""
        owners, terms = self._graph.tuples.terms(tuples)
        kept = ~self._searches.frequent[terms]
        return self._at_places(tuples[owners[kept]], terms[kept], 0, np.full(int(kept.sum()), FOREVER))

    def _at_places(self, tuples: IntArray, terms: IntArray, hops: int, until: IntArray) -> ReachRows:
        """Rows that tuples publish at all of their places; they last no longer than the tuple."""
        known = self._graph.tuples
        owners, places = known.places(tuples)
        chosen = tuples[owners]
        ends = _rounded(known.start[chosen], np.minimum(until[owners], known.end[chosen]), known.end[chosen])
        return ReachRows(places, terms[owners], np.full(len(owners), hops), known.start[chosen], ends)

    def _read(self, new: IntArray) -> Iterator[ReachRows]:
        """What new tuples find at opposite places, published at theirs."""
        known, searches = self._graph.tuples, self._searches
        owners, places = known.places(new)
        for run in self._runs:
            for probing, stored in run.equal_keys(opposite(places), uncounted):
                terms, fits = searches.term_places(run.batch[TERM].to_numpy()[stored])
                fits &= run.ends[stored] > known.start[new[owners[probing]]]
                hops = run.batch[HOPS].to_numpy()[stored] + 1
                fits &= hops < self._reach[terms]
                fits[fits] = self._spending.take(terms[fits], np.ones(int(fits.sum()), np.int64))
                for distance in np.unique(hops[fits]).tolist():
                    rows = np.flatnonzero(fits & (hops == distance))
                    tuples = new[owners[probing[rows]]]
                    yield _longest(self._at_places(tuples, terms[rows], distance, run.ends[stored[rows]]))

    def _passed_on(self, rows: ReachRows) -> ReachRows:
        """What tuples at the opposite places publish because of new rows."""
        rows = rows.where(rows.hops + 1 < self._reach[rows.term])
        crowds, pieces = self._graph.crowds(opposite(rows.place)), []
        for part in bounded_slices(crowds, MAX_PAIRS_AT_ONCE):
            chosen = np.arange(part.start, part.stop)
            passed = rows.where(chosen[self._spending.take(rows.term[chosen], crowds[chosen])])
            for at, tuples in self._graph.at_places(opposite(passed.place)):
                hops = int(rows.hops[0]) + 1  # also of tuples that ended before: a row stands for others too
                pieces.append(_longest(self._at_places(tuples, passed.term[at], hops, passed.until[at])))
        return _longest(ReachRows.concat(pieces))

    def _dominated(self, rows: ReachRows, hops: int, kept: Sequence[ReachRows]) -> BoolArray:
        """Whether there is a row of the same place and term that is as near and lasts as long."""
        dominated = np.zeros(len(rows.place), bool)
        places, place = np.unique(rows.place, return_inverse=True)
        width = max(len(self._searches.terms), 1)
        for run in self._runs:
            for probing, stored in run.equal_keys(places, uncounted):
                term, fits = self._searches.term_places(run.batch[TERM].to_numpy()[stored])
                fits &= run.batch[HOPS].to_numpy()[stored] <= hops
                codes, ends = _latest((probing * width + term)[fits], run.ends[stored[fits]])
                if len(codes):
                    wanted = place * width + rows.term
                    at = np.searchsorted(codes, wanted).clip(max=len(codes) - 1)
                    dominated |= (codes[at] == wanted) & (ends[at] >= rows.until)
        for nearer in kept:
            if len(nearer.place):
                dominated |= _covered(rows, nearer)
        return dominated


def _latest(codes: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct codes in ascending order, each with its latest end."""
    order = np.lexsort((ends, codes))
    codes, ends = codes[order], ends[order]
    last = np.ones(len(codes), bool)
    last[:-1] = codes[1:] != codes[:-1]
    return codes[last], ends[last]


def _codes(rows: ReachRows) -> IntArray:
    return spread(rows.place * 31 + rows.term)


def _covered(rows: ReachRows, nearer: ReachRows) -> BoolArray:
    """Whether one of some nearer rows lasts as long; of these a place and term has at most one."""
    codes = _codes(nearer)
    order = np.argsort(codes)
    at = order[np.searchsorted(codes, _codes(rows), sorter=order).clip(max=len(order) - 1)]
    same: BoolArray = (nearer.place[at] == rows.place) & (nearer.term[at] == rows.term)
    same &= nearer.until[at] >= rows.until
    return same


def _longest(rows: ReachRows) -> ReachRows:
    """Of rows of one place and term, and one number of hops, the one that lasts longest."""
    if not len(rows.place):
        return rows
    order = np.lexsort((rows.until, rows.term, rows.place))
    place, term = rows.place[order], rows.term[order]
    last = np.ones(len(order), bool)
    last[:-1] = (place[1:] != place[:-1]) | (term[1:] != term[:-1])
    return rows.where(order[last])


def _rounded(start: IntArray, until: IntArray, end: IntArray) -> IntArray:
    """Ends rounded up to a part of the lifetime: rows that last nearly as long as others are not kept."""
    life = np.where(end == FOREVER, 0, end - start)
    grid = np.int64(1) << np.log2(np.maximum(life // _GRID, 1)).astype(np.int64)
    return np.where(until == FOREVER, FOREVER, np.minimum(-(-until // grid), FOREVER // grid) * grid)


LEAST_REACH_OF_STEP = 1 << 22  # rows and tuples that any step may look at for the reach of terms
REACH_OF_TUPLE = 256  # and for each new tuple


class ReachSpending:
    """Counts what a step spends on the reach of each term."""

    def __init__(self, terms: int, new_tuples: int) -> None:
        self._spent = np.zeros(terms, np.int64)
        self._most, self._total = LEAST_REACH_OF_STEP + REACH_OF_TUPLE * new_tuples, 0
        self.exhausted: BoolArray = np.zeros(terms, bool)  # terms that have no reach any more

    def take(self, terms: IntArray, candidates: IntArray) -> BoolArray:
        """Count candidates, row by row; the rows whose terms still have reach."""
        np.add.at(self._spent, terms, candidates)
        self._total += int(candidates.sum())
        if self._total > self._most:
            share = self._most // max(int(np.count_nonzero(self._spent)), 1)
            self.exhausted |= self._spent > share
        affordable: BoolArray = ~self.exhausted[terms]
        return affordable
