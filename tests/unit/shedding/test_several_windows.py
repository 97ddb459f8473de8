"""The optimum of three streams and more, against every joint memory state and against every policy."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from seine.shedding.exact import residence
from seine.shedding.policies import NAMES, Shedding
from seine.shedding.policy import FOREVER
from seine.shedding.several_windows import ExactCombinations, best_windows
from seine.shedding.shedder import Shedder
from tests.reference.joint_states import Result, joint_optimum
from tests.support.seeds import seed_range
from tests.support.shedding_streams import Tuple, as_arrivals


def random_results(seed: int, streams: int, length: int) -> tuple[list[list[int]], list[Result]]:
    """Few tuples of few keys; results are combinations of one key whose tuples are within a life."""
    rng = random.Random(seed)
    kinds = (1.0, 2.0, 3.0, 8.0) if seed % 2 else (0.1, 0.25, 0.7, 1.3)
    starts = [sorted(rng.choices(range(length), k=length)) for _ in range(streams)]
    keys = [[rng.randrange(2) for _ in times] for times in starts]
    results = []
    for places in product(*(range(len(times)) for times in starts)):
        times = [starts[stream][place] for stream, place in enumerate(places)]
        same = len({keys[stream][place] for stream, place in enumerate(places)}) == 1
        if same and max(times) - min(times) < 3 and rng.random() < 0.7:
            results.append((places, rng.choice(kinds)))
    return starts, results


def combinations_of(starts: list[list[int]], results: list[Result]) -> ExactCombinations:
    places = np.array([places for places, _ in results], np.int64).reshape(len(results), len(starts))
    return ExactCombinations(
        tuple(places[:, stream] for stream in range(len(starts))),
        tuple(np.array(times, np.int64) for times in starts),
        np.array([importance for _, importance in results]),
    )


@pytest.mark.parametrize(("streams", "length", "capacities"), [(2, 8, (1, 2)), (3, 5, (1, 2)), (4, 4, (1,))])
def test_small_ones_are_exact(streams: int, length: int, capacities: tuple[int, ...]) -> None:
    short = 0
    for seed in seed_range(8):
        starts, results = random_results(seed, streams, length)
        capacity = capacities[seed % len(capacities)]
        given = combinations_of(starts, results)
        best = best_windows(given, capacity)
        expected = joint_optimum(starts, results, capacity)
        assert float(best.importance) == pytest.approx(expected), seed
        assert best.bound == best.importance, seed
        assert float(given.importance[given.reported(best.until)].sum()) == pytest.approx(expected)
        _check_capacity(given, best.until, capacity)
        short += expected < given.importance.sum() - 1e-9
    assert short > 2


def test_branches_close_what_the_relaxation_leaves_open() -> None:
    """A ring of pairs, one slot in each window: half of each pair in the relaxation, one pair in truth."""
    left, right = [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]
    results = [((a, b, n), 1.0) for n, (a, b) in enumerate(zip(left, right, strict=True))]
    given = combinations_of([[0] * 3, [0] * 3, [1] * 6], results)
    best = best_windows(given, 1)
    assert (best.importance, best.bound) == (1, 1)
    stopped = best_windows(given, 1, most_work=1)
    assert stopped.importance <= 1 < stopped.bound <= 6


def dense(seed: int, length: int, life: int) -> tuple[list[list[Tuple]], ExactCombinations]:
    """Three streams with a tuple of some key at each instant, and their exact results by brute force."""
    rng = random.Random(seed)
    streams = [
        [Tuple(n, n, n + life, FOREVER, float(rng.randint(1, 9)), (rng.randrange(5),)) for n in range(length)]
        for _ in range(3)
    ]
    results = [
        ((a.number, b.number, c.number), min(a.importance, b.importance, c.importance))
        for a in streams[0]
        for b in streams[1][max(0, a.ts - life) : a.ts + life]
        for c in streams[2][max(0, a.ts - life) : a.ts + life]
        if a.tokens == b.tokens == c.tokens and max(a.ts, b.ts, c.ts) - min(a.ts, b.ts, c.ts) < life
    ]
    return streams, combinations_of([[one.ts for one in tuples] for tuples in streams], results)


def test_large_ones_are_between_two_bounds() -> None:
    """What any policy reports is below the bound; the best choice is not far from it."""
    streams, given = dense(1, length=40, life=8)
    best = best_windows(given, 3, most_work=20_000)
    _check_capacity(given, best.until, 3)
    assert float(given.importance[given.reported(best.until)].sum()) == best.importance
    assert 0.8 * best.bound < best.importance <= best.bound < given.importance.sum()
    for name in NAMES:
        arrivals = [as_arrivals(tuples) for tuples in streams]
        gone = Shedder(Shedding(name), 3, 3).step(arrivals)
        until = [residence(*both) for both in zip(arrivals, gone, strict=True)]
        assert 0 < given.importance[given.reported(until)].sum() <= best.importance, name


def test_nothing_to_hold() -> None:
    none = combinations_of([[0], [0], [0]], [])
    together = combinations_of([[3], [3], [3]], [((0, 0, 0), 2.5)])
    assert [best_windows(given, 2).bound for given in (none, together)] == [0, 2.5]


def _check_capacity(given: ExactCombinations, until: tuple[np.ndarray, ...], capacity: int) -> None:
    for starts, ends in zip(given.starts, until, strict=True):
        for now in starts.tolist():
            assert ((starts <= now) & (ends > now)).sum() <= capacity
