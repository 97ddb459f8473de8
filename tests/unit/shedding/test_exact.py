"""The offline optimum, against the paper's own algorithm and against every policy."""

from __future__ import annotations

import random
from itertools import product
from math import inf

import numpy as np
import pytest

from seine.shedding.exact import ExactResults, TupleGains, best_stays, exact_results, find_optimum, residence
from seine.shedding.policies import NAMES, Shedding
from seine.shedding.policy import FOREVER, Arrivals
from seine.shedding.shedder import Shedder
from tests.reference.memory_states import FactTuple, StreamTuple, optimum
from tests.support.seeds import seed_range
from tests.support.shedding_streams import Tuple, as_arrivals, common, random_streams

R = [(0, 1, 5), (1, 0, 1), (2, 1, 4), (3, 0, 8), (4, 2, 3), (5, 5, 2)]
S = [(0, 1, 1), (1, 3, 5), (2, 3, 2), (3, 8, 6), (4, 3, 4), (5, 5, 3)]
F = [
    FactTuple((0, 3)),
    FactTuple((1, 5)),
    FactTuple((0, 8)),
    FactTuple((4, 5)),
    FactTuple((1, 3), -1, 5),
    FactTuple((5, 8), 3),
]

Streams = tuple[list[StreamTuple], list[StreamTuple]]


def arrivals_of(streams: Streams, facts: list[FactTuple], life: int) -> list[Arrivals]:
    """Tuples with the relation tuples that they match as tokens."""
    collected = []
    for side, stream_tuples in enumerate(streams):
        carried = [
            [
                n
                for n, fact in enumerate(facts)
                if fact.keys[side] == one.key and fact.begin <= one.ts < fact.end
            ]
            for one in stream_tuples
        ]
        until = [max((facts[n].end for n in tokens), default=inf) for tokens in carried]
        tuples = [
            Tuple(
                n, one.ts, one.ts + life, FOREVER if end == inf else int(end), one.importance, tuple(tokens)
            )
            for n, (one, tokens, end) in enumerate(zip(stream_tuples, carried, until, strict=True))
        ]
        collected.append(as_arrivals(tuples))
    return collected


def unweighted(exact: ExactResults) -> ExactResults:
    ones = np.ones(len(exact.importance))
    return ExactResults(exact.left, exact.right, exact.left_ts, exact.right_ts, ones)


def test_the_papers_example() -> None:
    streams = [StreamTuple(*one) for one in R], [StreamTuple(*one) for one in S]
    left, right = arrivals_of(streams, F, life=4)
    exact = exact_results(left, right)
    assert (len(exact.left), exact.total()) == (15, 43)
    best = find_optimum(exact, (left.ts, right.ts), 2)
    assert (best.outputs, best.importance) == (11, 38)
    largest = find_optimum(unweighted(exact), (left.ts, right.ts), 2)
    assert largest.outputs == 12
    assert optimum(streams, F, 4, 4)[0] == 38


def random_star(seed: int) -> tuple[Streams, list[FactTuple], int, int]:
    rng = random.Random(seed)
    keys, length = rng.randint(2, 5), rng.randint(5, 14)
    kinds = (1.0, 2.0, 3.0, 8.0) if seed % 2 else (0.1, 0.25, 0.7, 1.3)
    streams = tuple(
        [StreamTuple(ts, rng.randrange(keys), rng.choice(kinds)) for ts in range(length)] for _ in "rs"
    )
    pairs = [pair for pair in product(range(keys), repeat=2) if rng.random() < 0.5]
    begins = [rng.choice((-1, -1, rng.randrange(length))) for _ in pairs]
    facts = [
        FactTuple(pair, begin, rng.choice((inf, inf, begin + rng.randint(1, length))))
        for pair, begin in zip(pairs, begins, strict=True)
    ]
    return streams, facts, rng.randint(2, 7), rng.choice((2, 4, 5, 6))  # type: ignore[return-value]


def test_it_equals_the_papers_algorithm() -> None:
    totals, scarce = 0.0, 0
    for seed in seed_range(150):
        streams, facts, life, memory = random_star(seed)
        left, right = arrivals_of(streams, facts, life)
        exact = exact_results(left, right)
        best = find_optimum(exact, (left.ts, right.ts), memory // 2)
        assert best.importance == pytest.approx(optimum(streams, facts, life, memory)[0]), seed
        totals += best.importance
        scarce += best.importance < exact.total() - 1e-9
    assert totals > 500 and scarce > 40


def brute(stays: list[TupleGains], capacity: int) -> int:
    """Every choice of how long to hold each tuple."""
    choices = [[None, *(at for at, _ in stay.gains)] for stay in stays]
    best = 0
    for chosen in product(*choices):
        held = [(s.start, at) for s, at in zip(stays, chosen, strict=True) if at is not None]
        if all(sum(a <= start <= b for a, b in held) <= capacity for start, _ in held):
            best = max(best, gained(stays, list(chosen)))
    return best


def gained(stays: list[TupleGains], last: list[int | None]) -> int:
    kept = [(s, at) for s, at in zip(stays, last, strict=True) if at is not None]
    return sum(gain for s, at in kept for when, gain in s.gains if when <= at)


def test_best_stays_with_bursts_and_gaps() -> None:
    """Several tuples may start at one instant, and instants may be far apart."""
    for seed in seed_range(150):
        rng = random.Random(seed)
        stays = []
        for _ in range(rng.randint(1, 6)):
            start = rng.choice((0, 1, 1, 4, 10**15))
            instants = sorted(rng.sample(range(1, 8), rng.randint(0, 3)))
            stays.append(TupleGains(start, tuple((start + n, rng.randint(1, 9)) for n in instants)))
        capacity = rng.randint(0, 3)
        assert gained(stays, best_stays(stays, capacity)) == brute(stays, capacity), seed


def test_exact_results_are_all_common_tokens_of_tuples_that_live_together() -> None:
    sizes = 0
    for seed in seed_range(30):
        streams = random_streams(seed)
        exact = exact_results(*map(as_arrivals, streams))
        pairs = sorted(zip(exact.left.tolist(), exact.right.tolist(), exact.importance.tolist(), strict=True))
        assert pairs == sorted(
            (r.number, s.number, min(r.importance, s.importance))
            for r, s in product(*streams)
            for _ in range(common(r, s))
            if r.ts < s.expiry and s.ts < r.expiry
        )
        sizes += len(pairs)
    assert sizes > 1000


@pytest.mark.parametrize("name", NAMES)
def test_no_policy_beats_it_nor_holds_too_much(name: str) -> None:
    """Tokens are all that is known here, so a tuple whose tokens have ended may still make results."""
    achieved = 0.0
    for seed in seed_range(20):
        streams, facts, life, memory = random_star(seed)
        arrivals = arrivals_of(streams, facts, life)
        exact = exact_results(*arrivals)
        gone = Shedder(Shedding(name, seed=seed), memory // 2, 2).step(arrivals)
        until = [residence(*both) for both in zip(arrivals, gone, strict=True)]
        kept = exact.reported(*until)
        best = find_optimum(exact, (arrivals[0].ts, arrivals[1].ts), memory // 2)
        assert exact.importance[kept].sum() <= best.importance + 1e-9
        achieved += exact.importance[kept].sum()
    assert achieved > 50


def test_the_optimum_holds_no_more_than_memory() -> None:
    full = 0
    for seed in seed_range(40):
        streams, facts, life, memory = random_star(seed)
        arrivals = arrivals_of(streams, facts, life)
        best = find_optimum(exact_results(*arrivals), (arrivals[0].ts, arrivals[1].ts), memory // 2)
        for window, until in zip(arrivals, best.until, strict=True):
            held = [int(((window.ts <= t) & (t < until)).sum()) for t in window.ts.tolist()]
            assert max(held, default=0) <= memory // 2
            full += max(held, default=0) == memory // 2
            assert (until <= window.expiry).all()
    assert full > 20
