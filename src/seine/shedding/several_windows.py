"""The offline optimum of joins of any number of streams, by branch and bound: exact, or between two bounds.

    everything          bound 41, reached 38
    ├─ r3 held at 9     bound 39, reached 39       branches: a tuple that some window would like to be held,
    └─ r3 gone by 9     bound 38                   and another would not

Each branch is relaxed (`DividedWindows`). The branch of the highest bound is split next; one whose bound
is no more than what has been reached is done. When no branch is left the best choice is the optimum; when the
work that is allowed is done, the highest bound of those that are left is certain all the same.

The work is counted, never timed: answers do not depend on the machine.

A Lagrangian relaxation of the optimum of several windows: bounds from both sides.

Which tuples one window should hold depends on what the others hold, so the windows are not problems of their
own. They become so if the importance of each combination is *divided* among its older tuples:

    combination (r3, s5, t9) of importance 6, made at 9      r3: 4   s5: 2      any division, in whole pieces
    each window alone holds what gains most of its pieces    `best_stays`, exact

Law: whatever the division, the gains of all windows together are at least the importance of what any choice
of tuples reports, since a combination that is reported gains all of its pieces. So each division gives an
upper bound, and every choice a lower one. Divisions are improved by a subgradient: pieces move from tuples
that are held to those of the same combination that are not. The least bound of all divisions is that of the
linear program that lets tuples be held in part.

All sums are of whole numbers, so a bound is no estimate.

Cites: STAR 3.1
Differs: the paper says that more than two streams are handled in a similar way. They are not: with three, to
choose what to hold is NP-hard (docs/design/shedding.md).

The exact results of a window join of any number of streams: a combination has one tuple of each.

A combination is made by its youngest tuples, at their instant, if the windows of the others hold its older
tuples then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import gcd

import numpy as np

from seine.algebra.arrays import AnyArray, BoolArray, FloatArray, IntArray
from seine.shedding.exact import TupleGains, best_stays, whole_weights

_MOST_WORK = 2_000_000  # parts of combinations times slots, in all rounds of all branches
_ROUNDS_AT_FIRST, _ROUNDS_OF_A_BRANCH = 120, 12
_FEWEST_ROUNDS = 4  # at first, however much work that is
_SOLUTIONS_TO_IMPROVE = 2  # what an attempt at a better choice costs
_ROUNDS_TO_IMPROVE = 8  # from one attempt at a better choice to the next
_PIECES = 1 << 10  # pieces into which the importance of a combination is divided
_MOST_IN_INT64 = 1 << 62

Until = list[IntArray]  # of each window, until when it holds each tuple


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


@dataclass(frozen=True)
class Restrictions:
    """What a branch demands: tuples (window, place) held through an instant, and not held from one on."""

    through: Mapping[tuple[int, int], int] = field(default_factory=dict)
    before: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Relaxed:
    """One solution of the relaxation: its bound, what each window holds, and which parts are held."""

    bound: int
    until: Until
    held: BoolArray


class DividedWindows:
    """Several windows of one capacity, and the combinations that need something held.

    A *part* is a combination and one of its older tuples; `combination`, `window`, `place` and `instant` say
    which. `weights` are importances as whole numbers.
    """

    def __init__(self, combinations: ExactCombinations, weights: Sequence[int], capacity: int) -> None:
        self._capacity = capacity
        self._starts = combinations.starts
        parts = [np.flatnonzero(combinations.older(window)) for window in range(len(combinations.starts))]
        owners = np.concatenate(parts)
        order = np.argsort(owners, kind="stable")
        self.window = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
        self.place = np.concatenate(
            [places[part] for places, part in zip(combinations.places, parts, strict=True)]
        )[order]
        self.instant = combinations.instants[owners[order]]
        kinds, self.combination = np.unique(owners[order], return_inverse=True)
        self.weights = _whole_array([weights[kind] for kind in kinds.tolist()])
        self._unit = gcd(*self.weights.tolist()) or 1
        self._sizes = np.bincount(self.combination, minlength=len(self.weights))

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.combination)

    @property
    def work(self) -> int:
        """What a solution costs: a flow for each slot, over all parts."""
        return max(1, self._capacity) * self.parts

    def even_shares(self) -> FloatArray:
        """The division by which all older tuples of a combination have as much."""
        shares: FloatArray = 1.0 / self._sizes[self.combination]
        return shares

    def solve(self, shares: FloatArray, restrictions: Restrictions) -> Relaxed | None:
        """The best that windows do by themselves with this division; None if that breaks a restriction."""
        alive = ~self._impossible(restrictions)[self.combination]
        gains = np.where(alive, self.weights[self.combination] * self._pieces(shares), 0)
        until = [self._best(window, gains, restrictions) for window in range(len(self._starts))]
        if any(until[window][place] <= instant for (window, place), instant in restrictions.through.items()):
            return None
        held = self._held(until) & alive
        return Relaxed(int(gains[held].sum()) // _PIECES // self._unit * self._unit, until, held)

    def value(self, until: Until) -> int:
        """The importance of the combinations of which everything is held."""
        return int(self.weights[self._whole(self._held(until))].sum())

    def improved(self, until: Until) -> Until:
        """The windows anew, one after the other, each the best for what the others hold."""
        best, value = until, self.value(until)
        while True:
            for window in range(len(self._starts)):
                mine = self.window == window
                helped = self._whole(self._held(best) | mine)
                gains = np.where(mine & helped[self.combination], self.weights[self.combination], 0)
                until = [*best[:window], self._best(window, gains, Restrictions()), *best[window + 1 :]]
                if self.value(until) >= self.value(best):
                    best = until
            if self.value(best) == value:
                return best
            value = self.value(best)

    def moved(self, shares: FloatArray, relaxed: Relaxed, aim: int) -> FloatArray:
        """A better division: pieces go from tuples that are held to others of the same combination.

        The step is Polyak's: as far as would reach the value `aim` if nothing else changed.
        """
        held = relaxed.held.astype(float)
        mean = np.bincount(self.combination, held, len(self.weights)) / self._sizes
        slope = held - mean[self.combination]
        weights = self.weights.astype(float)[self.combination]
        length = float((slope * slope).sum())
        if not length:
            return shares
        step = (relaxed.bound - aim) / length
        moved = np.maximum(shares - step * slope / np.maximum(weights, 1e-300), 0.0)
        total = np.bincount(self.combination, moved, len(self.weights))
        return np.where(
            total[self.combination] > 0, moved / np.maximum(total, 1e-300)[self.combination], shares
        )

    def open_part(self, relaxed: Relaxed) -> int | None:
        """A part that is not held while another of its combination is; None if windows agree."""
        begun = np.bincount(self.combination, relaxed.held, len(self.weights)) > 0
        disputed = begun & ~self._whole(relaxed.held)
        if not disputed.any():
            return None
        combination = int(np.argmax(np.where(disputed, self.weights, -1)))
        return int(np.flatnonzero((self.combination == combination) & ~relaxed.held)[0])

    def _pieces(self, shares: FloatArray) -> AnyArray:
        """Shares as whole pieces; the last part of a combination has what is left over."""
        pieces = np.floor(shares * _PIECES).astype(np.int64)
        last = np.append(self.combination[1:] != self.combination[:-1], True)
        pieces[last] += _PIECES - np.bincount(self.combination, pieces, len(self.weights)).astype(np.int64)
        return pieces if self.weights.dtype != object else pieces.astype(object)

    def _best(self, window: int, gains: AnyArray, restrictions: Restrictions) -> IntArray:
        """Until when a window holds each of its tuples, given what each part gains."""
        by_tuple: list[dict[int, int]] = [{} for _ in self._starts[window]]
        mine = np.flatnonzero((self.window == window) & (gains > 0))
        columns = (self.place[mine].tolist(), self.instant[mine].tolist(), gains[mine].tolist())
        for place, instant, gain in zip(*columns, strict=True):
            by_tuple[place][instant] = by_tuple[place].get(instant, 0) + gain
        self._restrict(window, by_tuple, sum(columns[2]) + 1, restrictions)
        stays = [
            TupleGains(start, tuple(sorted(by_instant.items())))
            for start, by_instant in zip(self._starts[window].tolist(), by_tuple, strict=True)
        ]
        last = best_stays(stays, self._capacity)
        return np.array(
            [s.start if at is None else at + 1 for s, at in zip(stays, last, strict=True)], np.int64
        )

    def _impossible(self, restrictions: Restrictions) -> BoolArray:
        """The combinations that a tuple which may not be held any more would have to make."""
        impossible = np.zeros(len(self.weights), bool)
        for (window, place), instant in restrictions.before.items():
            gone = (self.window == window) & (self.place == place) & (self.instant >= instant)
            impossible[self.combination[gone]] = True
        return impossible

    def _restrict(
        self, window: int, by_tuple: list[dict[int, int]], much: int, restrictions: Restrictions
    ) -> None:
        """Make what must be held worth more than all else."""
        for (other, place), instant in restrictions.through.items():
            if other == window:
                by_tuple[place][instant] = by_tuple[place].get(instant, 0) + much

    def _held(self, until: Until) -> BoolArray:
        """The parts whose tuple is held when its combination is made."""
        held = np.zeros(self.parts, bool)
        for window, ends in enumerate(until):
            mine = self.window == window
            held[mine] = ends[self.place[mine]] > self.instant[mine]
        return held

    def _whole(self, held: BoolArray) -> BoolArray:
        """The combinations of which all parts are held."""
        whole: BoolArray = np.bincount(self.combination, held, len(self.weights)) == self._sizes
        return whole


def _whole_array(weights: list[int]) -> AnyArray:
    """Weights in 64 bits if all sums of pieces fit, else as Python's integers."""
    return np.array(weights, np.int64 if sum(weights) * _PIECES < _MOST_IN_INT64 else object)


@dataclass(frozen=True)
class ExactCombinations:
    """For each combination the place of its tuple in every stream, and its importance.

    `starts` has the timestamps of all tuples of each stream.

    >>> ints = lambda *values: np.array(values, np.int64)
    >>> three = ExactCombinations((ints(0), ints(0), ints(0)), (ints(1), ints(3), ints(3)), np.array([2.0]))
    >>> three.instants.tolist(), three.reported([ints(4), ints(3), ints(3)]).tolist()
    ([3], [True])
    >>> three.reported([ints(3), ints(9), ints(9)]).tolist()
    [False]
    """

    places: tuple[IntArray, ...]
    starts: tuple[IntArray, ...]
    importance: FloatArray

    @cached_property
    def instants(self) -> IntArray:
        """When each combination is made: the timestamp of its youngest tuples."""
        youngest: IntArray = np.maximum.reduce(self._times)
        return youngest

    @property
    def _times(self) -> list[IntArray]:
        return [starts[places] for starts, places in zip(self.starts, self.places, strict=True)]

    def older(self, stream: int) -> BoolArray:
        """The combinations whose tuple of a stream is older than the youngest."""
        older: BoolArray = self._times[stream] < self.instants
        return older

    def reported(self, until: Sequence[IntArray]) -> BoolArray:
        """Which remain when each tuple resides in [start, until): all older ones must still reside."""
        kept = np.ones(len(self.importance), bool)
        for stream, ends in enumerate(until):
            kept &= ~self.older(stream) | (ends[self.places[stream]] > self.instants)
        return kept
