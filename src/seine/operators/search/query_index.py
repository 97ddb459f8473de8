"""Queries by the terms that a tuple reaches: which of very many queries may have a tree with it as the root?

A root that is no leaf has two sub-trees, and each has a leaf with a term of its own: so the nearest and the
farthest term of a query are together at most MAX - 1 hops from a root. Queries are indexed by what that says
of two of their terms:

    query 7: a b c, MAX 4      pairs      (a, b) 7   (b, c) 7          b is the rarest: it is in all pairs
    query 9: b d, MAX 5                   (b, d) 9
                               by_near    a 7  b 9  b 7  ..            with how near the term has to be
                               by_rarest  queries with a stop-word, by their rarest other term

- `pairs`: two terms of a query that a root reaches. The nearest term of a query makes a pair with the rarest,
  or the rarest is the nearest and makes one with any; so one of the query's pairs is at most MAX - 1 hops
  long in sum, and its nearer term is at most half as far.
- `by_near`: a term is so near that another one of the query may be beyond reach, which is half of MAX.
- `by_rarest`, `everywhere`: terms that very many tuples contain have no reach. They count as one hop away
  from every tuple without them; a query of such terms alone is tried with every new tuple.

Law: a root and a query of which all terms are at most MAX - 1 hops away, as above, are found by one of these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.search_plan import MOST_TUPLES

NO_TERM = -1
_RANKS = MOST_TUPLES + 1


class NearIndex(NamedTuple):
    """Queries by term, those first whose term may be the farthest away."""

    code: IntArray  # ascending: by term, then by how far the term may be, descending
    query: IntArray
    most_hops: int  # of any term

    @staticmethod
    def of(terms: IntArray, queries: IntArray, most_hops: IntArray) -> NearIndex:
        codes = terms * _RANKS + MOST_TUPLES - most_hops
        order = np.argsort(codes, kind="stable")
        return NearIndex(codes[order], queries[order], int(most_hops.max(initial=-1)))

    def ranges(self, terms: IntArray, hops: IntArray) -> tuple[IntArray, IntArray]:
        """Where the queries are that have a term, if it may be so many hops away."""
        low = high = np.zeros(len(terms), np.int64)
        near = np.flatnonzero(hops <= self.most_hops)
        if len(near):
            low, high = low.copy(), high.copy()
            first = terms[near] * _RANKS
            low[near] = np.searchsorted(self.code, first)
            high[near] = np.searchsorted(self.code, first + MOST_TUPLES - hops[near], "right")
        return low, high


class PairIndex(NamedTuple):
    """Queries by pairs of terms, and by one term of a pair."""

    code: IntArray  # ascending: the smaller term * number of terms + the larger one
    query: IntArray
    at: IntArray  # pairs that have term i are at[i] to at[i + 1] of:
    other: IntArray
    query_of_term: IntArray

    @staticmethod
    def of(left: IntArray, right: IntArray, queries: IntArray, width: int) -> PairIndex:
        codes = pair_codes(left, right, width)
        order = np.argsort(codes, kind="stable")
        term, other = np.concatenate([left, right]), np.concatenate([right, left])
        by_term = np.argsort(term, kind="stable")
        at = np.searchsorted(term[by_term], np.arange(width + 1))
        return PairIndex(
            codes[order], queries[order], at, other[by_term], np.concatenate([queries, queries])[by_term]
        )


def pair_codes(left: IntArray, right: IntArray, width: int) -> IntArray:
    """Unordered pairs of terms as numbers."""
    codes: IntArray = np.minimum(left, right) * width + np.maximum(left, right)
    return codes


class QueryIndex:
    """The index of queries with these terms and MAX; `frequent` says which terms have no reach."""

    def __init__(self, words: IntArray, max_tuples: IntArray, frequent: BoolArray) -> None:
        known = words != NO_TERM
        query, place = np.nonzero(known)
        term, count, width = words[known], len(words), len(frequent)
        self.reach = np.zeros(width, np.int64)  # rows of reach of a term have fewer hops
        np.maximum.at(self.reach, term, max_tuples[query] // 2)
        self.reach[frequent] = 0
        self.slack: IntArray = max_tuples - 2 - max_tuples // 2  # how near a term is if one is beyond reach
        rarity = np.bincount(term, minlength=width) + len(query) * frequent
        rank = np.full(words.shape, np.iinfo(np.int64).max)
        rank[known] = rarity[term]
        first = rank.argmin(1) if count else np.zeros(0, np.int64)
        rarest, is_rarest = words[np.arange(count), first], place == first[query]
        stopped = np.zeros(count, bool)
        stopped[query[frequent[term]]] = True
        star = ~is_rarest & ~stopped[query]
        self.pairs = PairIndex.of(rarest[query[star]], term[star], query[star], width)
        near = self.slack[query] >= 0
        self.by_near = NearIndex.of(term[near], query[near], self.slack[query[near]])
        alone = is_rarest & stopped[query] & ~frequent[term]
        self.by_rarest = NearIndex.of(
            term[alone], query[alone], np.full(int(alone.sum()), MOST_TUPLES, np.int64)
        )
        all_frequent = np.ones(count, bool)
        all_frequent[query[~frequent[term]]] = False
        self.everywhere: IntArray = np.flatnonzero(all_frequent | (stopped & (self.slack >= 1)))
        self.half = (int(max_tuples.max(initial=1)) - 1) // 2  # hops to the nearer term of a pair, at most
