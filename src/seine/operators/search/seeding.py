"""The seeds of a step: each new tuple with the queries of which it may be the root of a tree.

    tuple    terms within reach (hops)        pairs of terms         queries (`searches.py`)
    17       a 0   b 2   d 2                  a b   a d              a b: 7
    18       c 1                                                     c is near, others beyond: 7 11

A pair of terms that a tuple reaches is looked up among the pairs of queries; or, where queries with a term
are fewer than terms around the tuple, their other terms are looked up among these. So the cost is that of
terms around tuples and of what matches, whatever the number of queries is.

Where a term is so near that another one may lie just beyond reach, and very many queries have that term, the
tuple's partners are asked which terms they reach: that is one hop more. Where few have it, these are tried.

Law: `seeds` gives each new tuple that is the root of a result of a query together with that query, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.data_graph import DataGraph
from seine.operators.search.distances import Distances, nearest_of
from seine.operators.search.growing_trees import Spending
from seine.operators.search.searches import Searches, pair_codes
from seine.rows.grouping import bounded_slices, ranges

MOST_LABELS_AT_ONCE = 1 << 20  # terms around new tuples, and candidates, that are looked at together
MOST_TRIED = 4  # queries of a near term up to which they are tried and no partner is asked

_NUMBERS = np.zeros(0, np.int64)


class TermLabels(NamedTuple):
    """Terms around tuples: which of the tuples, the term, hops; ascending by the first two.

    `at` says where the labels of each tuple begin; `walked` for which tuples partners were asked.
    """

    owner: IntArray
    term: IntArray
    hops: IntArray
    at: IntArray
    walked: BoolArray

    @staticmethod
    def of(owner: IntArray, term: IntArray, hops: IntArray, walked: BoolArray) -> TermLabels:
        return TermLabels(owner, term, hops, np.searchsorted(owner, np.arange(len(walked) + 1)), walked)

    def around(self, owners: IntArray) -> IntArray:
        """How many labels tuples have."""
        counts: IntArray = self.at[owners + 1] - self.at[owners]
        return counts


class Seeding:
    """Finds seeds by the terms that new tuples reach."""

    def __init__(
        self, searches: Searches, graph: DataGraph, distances: Distances, spending: Spending
    ) -> None:
        self._searches, self._index, self._width = searches, searches.index, max(len(searches.terms), 1)
        self._graph, self._distances, self._spending = graph, distances, spending

    def seeds(self, roots: IntArray, here: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs of a root and a query; `here` says which roots are this bucket's where work is divided."""
        if self._searches.divided.all():
            roots, here = roots[here], here[here]
        sizes = self._distances.label_counts(roots) + len(self._index.everywhere) + 1
        for part in bounded_slices(sizes, MOST_LABELS_AT_ONCE):
            labels = self._labels(roots[part])
            owner, query = self._candidates(labels)
            chosen = np.flatnonzero(self._fits(owner, query, roots[part], here[part]))
            owner, query = owner[chosen], query[chosen]
            near = self._near_enough(labels, owner, query)
            yield roots[part][owner[near]], query[near]

    def _fits(self, owner: IntArray, query: IntArray, roots: IntArray, here: BoolArray) -> BoolArray:
        """Whether a query takes a root, and this bucket is to grow its trees."""
        searches, tuples, root = self._searches, self._graph.tuples, roots[owner]
        fits = self._spending.take(query, np.ones(len(query), np.int64))
        fits &= ~searches.divided[query] | here[owner]
        return fits & searches.takes(query, tuples.table[root], tuples.epoch[root])

    def _labels(self, roots: IntArray) -> TermLabels:
        """The terms around roots, of some as far as their partners know."""
        owner, term, hops = self._distances.near(roots)
        low, high = self._index.by_near.ranges(term, hops)
        tried = np.bincount(owner, high - low, len(roots))
        walked = tried > MOST_TRIED
        asking = np.flatnonzero(walked)
        walked[asking] = self._graph.degrees(roots[asking]) <= tried[asking]
        farther = self._beyond(roots, np.flatnonzero(walked))
        codes = np.concatenate([owner * self._width + term, farther[0]])
        codes, hops = nearest_of(codes, np.concatenate([hops, farther[1]]))
        return TermLabels.of(codes // self._width, codes % self._width, hops, walked)

    def _beyond(self, roots: IntArray, asking: IntArray) -> tuple[IntArray, IntArray]:
        """What the older partners of roots reach: codes of a root and a term, and hops."""
        tuples, codes, hops = self._graph.tuples, [_NUMBERS], [_NUMBERS]
        for at, partner, _ in self._graph.partners(roots[asking]):
            root = asking[at]
            older = np.flatnonzero(tuples.id[partner] < tuples.id[roots[root]])
            partners, inverse = np.unique(partner[older], return_inverse=True)
            owner, term, distance = self._distances.near(partners)
            bounds = np.searchsorted(owner, np.arange(len(partners) + 1))
            for pair, label in ranges(bounds[inverse], bounds[inverse + 1]):
                reached = root[older[pair]] * self._width + term[label]
                fewest = nearest_of(reached, distance[label] + 1)
                codes.append(fewest[0])
                hops.append(fewest[1])
        return np.concatenate(codes), np.concatenate(hops)

    def _candidates(self, labels: TermLabels) -> tuple[IntArray, IntArray]:
        """Pairs (which of the roots, query), each once."""
        index, queries = self._index, max(self._searches.count, 1)
        pieces = [*self._by_pairs(labels), np.zeros(0, np.int64)]
        near = index.by_near.ranges(labels.term, labels.hops + labels.walked[labels.owner])
        for number, at in ranges(*near):
            pieces.append(labels.owner[number] * queries + index.by_near.query[at])
        for number, at in ranges(*index.by_rarest.ranges(labels.term, np.zeros_like(labels.hops))):
            pieces.append(labels.owner[number] * queries + index.by_rarest.query[at])
        if len(index.everywhere):
            every = np.arange(len(labels.walked))[:, None] * queries + index.everywhere
            pieces.append(every.reshape(-1))
        codes = np.unique(np.concatenate(pieces))
        return codes // queries, codes % queries

    def _by_pairs(self, labels: TermLabels) -> Iterator[IntArray]:
        """Codes of a root and a query of which the root reaches a pair of terms."""
        pairs, queries = self._index.pairs, max(self._searches.count, 1)
        nearer = np.flatnonzero(labels.hops <= self._index.half)
        owner, term = labels.owner[nearer], labels.term[nearer]
        low, high = pairs.at[term], pairs.at[term + 1]
        fewer = high - low <= labels.around(owner)
        for number, at in ranges(low[fewer], high[fewer]):
            root = owner[fewer][number]
            reached = self._label_of(labels, root, pairs.other[at]) >= 0
            yield root[reached] * queries + pairs.query_of_term[at[reached]]
        rows = nearer[~fewer & (low < high)]
        most = 2 * self._index.half + 1
        for number, other in ranges(labels.at[labels.owner[rows]], labels.at[labels.owner[rows] + 1]):
            row = rows[number]
            short = np.flatnonzero(labels.hops[row] + labels.hops[other] <= most)
            row, other = row[short], other[short]
            wanted = pair_codes(labels.term[row], labels.term[other], self._width)
            first, last = (np.searchsorted(pairs.code, wanted, side) for side in ("left", "right"))
            for at, place in ranges(first, last):
                yield labels.owner[row[at]] * queries + pairs.query[place]

    def _label_of(self, labels: TermLabels, owner: IntArray, term: IntArray) -> IntArray:
        """Where the labels of roots and terms are, pair by pair; -1 if there is none."""
        if not len(labels.term):
            return np.full(len(owner), -1, np.int64)
        codes, wanted = labels.owner * self._width + labels.term, owner * self._width + term
        at = np.searchsorted(codes, wanted).clip(max=len(codes) - 1)
        return np.where(codes[at] == wanted, at, -1)

    def _near_enough(self, labels: TermLabels, owner: IntArray, query: IntArray) -> BoolArray:
        """Whether the nearest and the farthest term are together within MAX - 1 hops."""
        searches = self._searches
        nearest, farthest = np.full(len(owner), np.iinfo(np.int64).max), np.zeros(len(owner), np.int64)
        beyond = searches.max_tuples[query] // 2 + 1 + labels.walked[owner]
        for place in range(searches.words.shape[1]):
            rows = np.flatnonzero(place < searches.size[query])
            term = searches.words[query[rows], place]
            label = self._label_of(labels, owner[rows], term)
            hops = np.where(searches.frequent[term], 1, beyond[rows])
            known = np.flatnonzero(label >= 0)
            hops[known] = np.minimum(labels.hops[label[known]], hops[known])
            nearest[rows] = np.minimum(nearest[rows], hops)
            farthest[rows] = np.maximum(farthest[rows], hops)
        near: BoolArray = nearest + farthest < searches.max_tuples[query]
        return near
