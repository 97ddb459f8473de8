"""What a step of a search spends on each query: candidates, counted before they are formed, and bytes.

A query that goes over its budget does nothing more in the step, and the others go on: so one step finds all
queries that ask too much, and when it ends they fail, and nobody else.

    take([7, 7, 9], [100, 50_000_000, 3])    query 7 is over: [False, False, True]
    settle()                                 fails for query 7

Law: candidates are counted for the query whose trees they are to be in, and for nobody else. Whether a query
is over depends on tuples and queries, never on time.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.searches import Searches
from seine.operators.state.work_budget import NodeFault, budget_of_a_query


class QuerySpending:
    """Counts the candidates and bytes of each query in a step, whatever component of the schema they are in.

    Without a budget everything is affordable.
    """

    def __init__(self, searches: Searches) -> None:
        self._searches, self._budget = searches, budget_of_a_query()
        self._candidates = np.zeros(searches.count, np.int64)
        self._bytes = np.zeros(searches.count, np.int64)

    def take(self, queries: IntArray, candidates: IntArray) -> BoolArray:
        """Count candidates, row by row; the rows whose queries may form them."""
        np.add.at(self._candidates, queries, candidates)
        if self._budget is None:
            return np.ones(len(queries), bool)
        affordable: BoolArray = self._candidates[queries] <= self._budget.candidates
        affordable &= self._bytes[queries] <= self._budget.bytes
        return affordable

    def emit(self, queries: IntArray, sizes: IntArray) -> None:
        """Count the bytes of results, row by row."""
        np.add.at(self._bytes, queries, sizes)

    def settle(self) -> None:
        """Fail for the queries that are over their budget."""
        if self._budget is not None:
            self._blame(self._candidates > self._budget.candidates, self._budget.too_many_candidates)
            self._blame(self._bytes > self._budget.bytes, self._budget.too_many_bytes)

    def _blame(self, over: BoolArray, reason: str) -> None:
        names = {name for query in np.flatnonzero(over).tolist() for name in self._searches.names(query)}
        if names:
            raise NodeFault("budget", reason, queries=tuple(sorted(names)))
