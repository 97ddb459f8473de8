"""The seeds of a step: each new tuple with the queries of which it may be the root of a tree.

A root that is no leaf has two sub-trees, and each has a leaf with a term of its own: so the nearest and the
farthest term of a query are together at most MAX - 1 hops away. At least one of the terms is within reach,
and queries are looked up by it:

- by the term of a query that the fewest queries have, if it is within reach;
- by any other term that is so near that the first one may be beyond reach.

Terms that very many tuples contain have no reach; they count as one hop away from every tuple without them,
and a query of such terms alone is tried with every new tuple.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.distances import Distances
from seine.operators.search.known_tuples import KnownTuples
from seine.operators.search.searches import Searches
from seine.rows.pairs import ranges

MOST_ROOTS_AT_ONCE = 1 << 14  # new tuples whose seeds are looked for together


class Seeding:
    """Finds seeds by the terms that new tuples reach."""

    def __init__(self, searches: Searches, tuples: KnownTuples, distances: Distances) -> None:
        self._searches, self._tuples, self._distances = searches, tuples, distances

    def seeds(self, roots: IntArray, here: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs of a root and a query; `here` says which roots are this bucket's where work is divided."""
        for at in range(0, len(roots), MOST_ROOTS_AT_ONCE):
            part = slice(at, at + MOST_ROOTS_AT_ONCE)
            for owner, query in self._candidates(roots[part]):
                mine = ~self._searches.divided[query] | here[part][owner]
                root, query = roots[part][owner[mine]], query[mine]
                fits = self._searches.takes(query, self._tuples.table[root], self._tuples.epoch[root])
                root, query = root[fits], query[fits]
                near = self._near_enough(root, query)
                yield root[near], query[near]

    def _candidates(self, roots: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (which of the roots, query), each once."""
        searches = self._searches
        owner, term, distance = self._distances.near(roots)
        queries = searches.count
        pieces = []
        for index in (searches.by_rarest, searches.by_other):
            for number, at in ranges(index.at[term], index.at[term + 1]):
                query = index.query[at]
                fits = index.most_hops[at] >= distance[number]
                pieces.append(owner[number[fits]] * queries + query[fits])
        always = np.flatnonzero(searches.everywhere)
        if len(always):
            pieces.append((np.arange(len(roots))[:, None] * queries + always).reshape(-1))
        codes = np.unique(np.concatenate(pieces)) if pieces else np.zeros(0, np.int64)
        yield codes // max(queries, 1), codes % max(queries, 1)

    def _near_enough(self, roots: IntArray, queries: IntArray) -> BoolArray:
        """Whether the nearest and the farthest term are together within MAX - 1 hops."""
        searches = self._searches
        nearest = np.full(len(roots), np.iinfo(np.int64).max)
        farthest = np.zeros(len(roots), np.int64)
        for place in range(searches.words.shape[1]):
            rows = np.flatnonzero(place < searches.size[queries])
            terms = searches.words[queries[rows], place]
            distance = self._distances.of(roots[rows], terms, queries[rows])
            nearest[rows] = np.minimum(nearest[rows], distance)
            farthest[rows] = np.maximum(farthest[rows], distance)
        near: BoolArray = nearest + farthest < searches.max_tuples[queries]
        return near
