"""The offline optimum of joins of any number of streams, by branch and bound: exact, or between two bounds.

    everything          bound 41, reached 38
    ├─ r3 held at 9     bound 39, reached 39       branches: a tuple that some window would like to be held,
    └─ r3 gone by 9     bound 38                   and another would not

Each branch is relaxed (`divided_windows.py`). The branch of the highest bound is split next; one whose bound
is no more than what has been reached is done. When no branch is left the best choice is the optimum; when the
work that is allowed is done, the highest bound of those that are left is certain all the same.

The work is counted, never timed: answers do not depend on the machine.

Cites: STAR 3.1
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

import numpy as np

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.shedding.divided_windows import DividedWindows, ExactCombinations, Relaxed, Restrictions, Until
from seine.shedding.exact import whole_weights

_MOST_WORK = 2_000_000  # parts of combinations times slots, in all rounds of all branches
_ROUNDS_AT_FIRST, _ROUNDS_OF_A_BRANCH = 120, 12
_FEWEST_ROUNDS = 4  # at first, however much work that is
_SOLUTIONS_TO_IMPROVE = 2  # what an attempt at a better choice costs
_ROUNDS_TO_IMPROVE = 8  # from one attempt at a better choice to the next


@dataclass(frozen=True)
class BestWindows:
    """The best choice that was found, and a bound that no choice exceeds; the same if that is proved.

    `until` says of each window until when it holds each tuple; `until` is its timestamp if it is never held.
    """

    importance: Fraction
    bound: Fraction
    until: tuple[IntArray, ...]


@dataclass(frozen=True)
class _Branch:
    restrictions: Restrictions
    shares: FloatArray
    relaxed: Relaxed


def best_windows(combinations: ExactCombinations, capacity: int, most_work: int = _MOST_WORK) -> BestWindows:
    """What windows of this capacity hold at best.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> starts = (ints(0, 0), ints(1, 1), ints(2, 2))
    >>> pairs = ExactCombinations((ints(0, 1), ints(1, 0), ints(0, 1)), starts, np.array([2.0, 3.0]))
    >>> best = best_windows(pairs, 1)
    >>> int(best.importance), int(best.bound), [until.tolist() for until in best.until]
    (3, 3, [[0, 3], [3, 1], [2, 2]])
    """
    weights, unit = whole_weights(combinations.importance)
    search = _BranchAndBound(DividedWindows(combinations, weights, capacity), most_work)
    search.run(combinations.starts)
    at_once = [weights[place] for place in np.flatnonzero(_needs_nothing(combinations)).tolist()]
    always = sum(at_once)
    return BestWindows((search.value + always) * unit, (search.bound + always) * unit, tuple(search.until))


def _needs_nothing(combinations: ExactCombinations) -> BoolArray:
    """The combinations of tuples of one instant, which are always reported."""
    older = [combinations.older(stream) for stream in range(len(combinations.starts))]
    together: BoolArray = ~np.logical_or.reduce(older)
    return together


class _BranchAndBound:
    """The branches that are left, the best choice so far, and the work that may still be done."""

    def __init__(self, windows: DividedWindows, work: int) -> None:
        self._windows = windows
        self._work = work
        self._left: list[tuple[int, int, _Branch]] = []
        self._numbers = count()
        self.value, self.bound = 0, 0
        self.until: Until = []

    def run(self, starts: tuple[IntArray, ...]) -> None:
        """Split branches until none is left, or the work is done."""
        self.until = [start.copy() for start in starts]
        if not self._windows.parts:
            return
        affordable = self._work // self._windows.work
        rounds = min(_ROUNDS_AT_FIRST, max(_FEWEST_ROUNDS, affordable))
        self._relax(Restrictions(), self._windows.even_shares(), rounds)
        while self._left and self._work > 0:
            branch = heappop(self._left)[2]
            if branch.relaxed.bound > self.value:
                self._split(branch)
        self.bound = max([self.value, *(branch.relaxed.bound for _, _, branch in self._left)])

    def _split(self, branch: _Branch) -> None:
        part = self._windows.open_part(branch.relaxed)
        if part is None:  # all windows agree: what they hold reaches the bound
            self._reach(branch.relaxed.until)
            return
        which = int(self._windows.window[part]), int(self._windows.place[part])
        instant, known = int(self._windows.instant[part]), branch.restrictions
        for through, before in (
            ({**known.through, which: max(instant, known.through.get(which, instant))}, known.before),
            (known.through, {**known.before, which: min(instant, known.before.get(which, instant))}),
        ):
            self._relax(Restrictions(through, before), branch.shares, _ROUNDS_OF_A_BRANCH)

    def _relax(self, restrictions: Restrictions, shares: FloatArray, rounds: int) -> None:
        """Improve the division of a branch for some rounds; it is left to be split unless that is settled."""
        best: tuple[Relaxed, FloatArray] | None = None
        for number in range(rounds):
            relaxed = self._windows.solve(shares, restrictions)
            self._work -= self._windows.work
            if relaxed is None:
                return
            if best is None or relaxed.bound < best[0].bound:
                best = relaxed, shares
            if number % _ROUNDS_TO_IMPROVE == 0 or number == rounds - 1:
                self._work -= _SOLUTIONS_TO_IMPROVE * self._windows.work
                self._reach(self._windows.improved(relaxed.until))
            if best[0].bound <= self.value:
                return
            shares = self._windows.moved(shares, relaxed, self.value)
        if best is not None:
            branch = _Branch(restrictions, best[1], best[0])
            heappush(self._left, (-best[0].bound, next(self._numbers), branch))

    def _reach(self, until: Until) -> None:
        value = self._windows.value(until)
        if value > self.value:
            self.value, self.until = value, until
