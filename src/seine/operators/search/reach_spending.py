"""What a step may spend on reach, counted for each term: rows that are read, and tuples that pass rows on.

Reach is worth its price where it is small. A value that very many tuples share, or a word in very many
tuples, would make it the product of tuples and terms; so when a step has spent what it may, the terms that
had more than their equal part lose their reach for good, like stop-words. That changes no answer: reach only
prunes. Trees of their queries are grown without it, at the expense of these queries (`query_spending.py`).

Law: a step spends at most twice its budget and a chunk. Whose reach is lost depends on tuples and terms.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray

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
