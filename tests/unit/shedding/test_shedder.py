"""Shedding, against a simulation that does at each instant what the paper says, the slow way."""

from __future__ import annotations

import random

import numpy as np
import pytest

from seine.shedding import auto, policies
from seine.shedding.exact import exact_results, residence
from seine.shedding.policies import NAMES, Shedding
from seine.shedding.policy import FOREVER, Evictions
from seine.shedding.shedder import Shedder
from tests.support.seeds import seed_range
from tests.support.shedding_streams import Tuple, as_arrivals, common, random_streams

PAPER = ("simp", "simpprob", "dimpprob", "dgl", "semantic")


class Simulation:
    """Two streams, one policy of the paper; lists of tuples and nothing clever."""

    def __init__(self, name: str, capacity: int, alpha: float | None, beta: float) -> None:
        self.name, self.capacity, self.alpha, self.beta = name, capacity, alpha, beta
        self.windows: list[list[Tuple]] = [[], []]
        self.seen: list[list[Tuple]] = [[], []]
        self.evicted: list[list[tuple[int, int]]] = [[], []]

    def run(self, streams: list[list[Tuple]]) -> list[list[tuple[int, int]]]:
        for now in sorted({one.ts for stream_tuples in streams for one in stream_tuples}):
            self.instant(
                now,
                [[one for one in stream_tuples if one.ts == now and one.tokens] for stream_tuples in streams],
            )
        return self.evicted

    def instant(self, now: int, arrivals: list[list[Tuple]]) -> None:
        self.windows = [[one for one in w if min(one.expiry, one.until) > now] for w in self.windows]
        for side in (0, 1):
            self.seen[side] += arrivals[side]
        for side in (0, 1):
            opposite = self.windows[1 - side] + arrivals[1 - side]
            for one in self.windows[side]:
                self.look_again(one, opposite, arrivals[1 - side], now)
            for one in arrivals[side]:
                self.look_first(one, opposite, self.seen[1 - side])
        self.windows = [self.shed(side, self.windows[side] + arrivals[side], now) for side in (0, 1)]

    def look_first(self, one: Tuple, opposite: list[Tuple], seen: list[Tuple]) -> None:
        one.matches = sum(common(one, other) for other in opposite)
        if self.name == "semantic":
            one.priority = sum(common(one, other) for other in seen)
        else:
            one.priority = one.importance * (1 if self.name == "simp" else one.matches)

    def look_again(self, one: Tuple, opposite: list[Tuple], new: list[Tuple], now: int) -> None:
        matches = sum(common(one, other) for other in opposite)
        if self.name in ("dimpprob", "dgl"):
            one.matches = matches
        if self.name == "dimpprob":
            one.priority = one.importance * matches
        if self.name == "dgl" and any(common(one, other) for other in new):
            one.priority += (
                one.importance * matches * (one.expiry - now) / (self.alpha or one.expiry - one.ts)
            )
        elif self.name == "dgl":
            one.priority = max(0.0, one.priority - self.beta)

    def shed(self, side: int, tuples: list[Tuple], now: int) -> list[Tuple]:
        def rank(one: Tuple) -> tuple[float, ...]:
            if self.name in ("simp", "semantic"):
                return one.priority, one.number
            return one.priority, one.importance, one.matches, one.number

        ordered = sorted(tuples, key=rank)
        excess = max(0, len(tuples) - self.capacity)
        self.evicted[side] += sorted((one.number, now) for one in ordered[:excess])
        return ordered[excess:]


def shed(shedder: Shedder, streams: list[list[Tuple]], cuts: list[int]) -> list[list[tuple[int, int]]]:
    """Run it, cut into steps at these instants; after each step it is saved and loaded into a new one."""
    evicted: list[list[tuple[int, int]]] = [[] for _ in streams]
    for begin, end in zip([-1, *cuts], [*cuts, FOREVER], strict=True):
        part = [as_arrivals([one for one in tuples if begin <= one.ts < end]) for tuples in streams]
        for side, gone in enumerate(shedder.step(part)):
            evicted[side] += pairs_of(gone)
        assert max(shedder.held) <= shedder.capacity
    return evicted


def pairs_of(gone: Evictions) -> list[tuple[int, int]]:
    return list(zip(gone.number.tolist(), gone.at.tolist(), strict=True))


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("alpha", [None, 3.0])
def test_the_papers_policies_decide_as_the_paper_says(name: str, alpha: float | None) -> None:
    evicted = 0
    for seed in seed_range(30):
        capacity, length = (1 + seed % 5, 40) if seed else (24, 300)
        expected = Simulation(name, capacity, alpha, beta=0.7).run(random_streams(seed, length=length))
        shedder = Shedder(Shedding(name, alpha, beta=0.7), capacity, 2)
        assert shed(shedder, random_streams(seed, length=length), []) == expected, seed
        evicted += len(expected[0]) + len(expected[1])
    assert evicted > 300


def test_dgl_loses_beta_also_where_all_arrivals_were_filtered() -> None:
    """At instant 2 nothing joins with the relation (0, 1), (0, 2): S 1 loses beta all the same."""
    tokens: dict[tuple[str, int], tuple[int, ...]] = {("r", 0): (1, 2), ("s", 1): (1,), ("s", 2): (2,)}
    keys = {"r": [(1, 1), (0, 1), (1, 1), (0, 3), (2, 2)], "s": [(1, 2), (2, 3), (0, 2), (2, 3), (0, 1)]}
    streams = [
        [
            Tuple(ts, ts, ts + 6, FOREVER, imp, tokens.get((name, key), ()))
            for ts, (key, imp) in enumerate(keys[name])
        ]
        for name in keys
    ]
    evicted = shed(Shedder(Shedding("dgl"), 1, 2), streams, [])
    assert evicted == [[(1, 3)], [(0, 1), (1, 3)]]  # so R 3 meets S 3 alone, and not S 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("streams", [2, 3])
def test_decisions_do_not_depend_on_cuts_nor_on_a_resume(name: str, streams: int) -> None:
    for seed in seed_range(8):
        tuples, rng = random_streams(seed, streams), random.Random(seed)
        whole = shed(Shedder(Shedding(name, seed=seed), 3, streams), tuples, [])
        cuts = sorted(rng.sample(range(40), 6))
        assert shed(Shedder(Shedding(name, seed=seed), 3, streams), tuples, cuts) == whole
        assert shed(Resumed(Shedding(name, seed=seed), 3, streams), tuples, cuts) == whole
        assert all(whole)


class Resumed(Shedder):
    """A shedder that forgets everything after each step, but what it saved."""

    def step(self, arrivals):  # type: ignore[no-untyped-def]
        evictions = super().step(arrivals)
        fresh = Shedder(self.shedding, self.capacity, len(arrivals))
        fresh.load(self.save())
        self.__dict__ = fresh.__dict__
        return evictions


def test_another_seed_draws_others() -> None:
    tuples = random_streams(1)
    runs = [shed(Shedder(Shedding("rand", seed=seed), 3, 2), tuples, []) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_smaller_capacity_sheds_the_same_after_a_resume(name: str) -> None:
    for seed in seed_range(4):
        collected = []
        for kind in (Shedder, Resumed):
            shedder = kind(Shedding(name), 6, 2)
            shedder.step(
                [as_arrivals([one for one in tuples if one.ts < 20]) for tuples in random_streams(seed)]
            )
            shedder.capacity = 2
            collected.append([pairs_of(gone) for gone in shedder.squeeze(20)])
            assert max(shedder.held) <= 2
        assert collected[0] == collected[1]


@pytest.mark.parametrize("name", NAMES)
def test_with_memory_for_the_window_nothing_goes(name: str) -> None:
    assert shed(Shedder(Shedding(name), 40, 2), random_streams(3), []) == [[], []]


@pytest.mark.parametrize("name", NAMES)
def test_without_memory_everything_is_kept_out(name: str) -> None:
    tuples = random_streams(3)
    expected = [[(one.number, one.ts) for one in stream if one.tokens] for stream in tuples]
    assert shed(Shedder(Shedding(name), 0, 2), tuples, []) == expected


def test_what_can_match_nothing_new_leaves_for_what_can() -> None:
    ended = Tuple(0, ts=0, expiry=9, until=2, importance=9.0, tokens=(1,))
    later = Tuple(1, ts=2, expiry=9, until=FOREVER, importance=1.0, tokens=(1,))
    assert shed(Shedder(Shedding("simp"), 1, 2), [[ended, later], []], []) == [[], []]


@pytest.mark.parametrize("name", NAMES)
def test_any_number_may_come_at_once(name: str) -> None:
    """All in one instant, or ten in each: what stays is what memory allows."""
    for per_instant in (400, 10):
        tuples = [
            [Tuple(n, n // per_instant, 99, FOREVER, 1.0 + n % 3, (n % 5, 7)) for n in range(400)]
            for _ in "rs"
        ]
        gone = shed(Shedder(Shedding(name), 20, 2), tuples, [])
        assert [len({number for number, _ in evicted}) for evicted in gone] == [380, 380]


@pytest.mark.parametrize("name", NAMES)
def test_edges_that_do_not_reach_everybody(name: str) -> None:
    """Chains a - b - c under every policy: cuts and resumes change nothing."""
    rng = random.Random(5)
    streams = random_streams(5, 3)
    carried = ((0, 2, 4), (0, 1, 2, 3), (1, 3, 5))
    for expected, tuples in zip(carried, streams, strict=True):
        for one in tuples:
            one.tokens = tuple(sorted(rng.sample(expected, 2)))
    edges = ((0, 1), (1, 2))
    whole = shed(Shedder(Shedding(name), 3, 3, edges), streams, [])
    assert shed(Shedder(Shedding(name), 3, 3, edges), streams, [7, 20, 31]) == whole
    assert all(whole)


EXTREME = [
    *(Shedding(name) for name in NAMES),
    *(Shedding("auto", importance=how) for how in ("sum", "product")),
    *(Shedding("dgl", alpha=alpha, beta=1e308) for alpha in (1e-308, 1e308)),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("importances", [(0.0,), (0.0, 1e308), (5e-324, 1.0, 1e300), (5e-324, 0.0, 1e308)])
@pytest.mark.parametrize("shedding", EXTREME, ids=str)
def test_importances_may_be_nothing_or_enormous(shedding: Shedding, importances: tuple[float, ...]) -> None:
    """The important one stays; nothing is divided by zero."""
    tuples = random_streams(2)
    for stream in tuples:
        for one in stream:
            one.importance = importances[one.number % len(importances)]
    gone = shed(Shedder(shedding, 3, 2), tuples, [])
    assert all(gone)
    assert shed(Resumed(shedding, 3, 2), tuples, [9, 30]) == gone


@pytest.mark.parametrize("name", ["auto", "semantic"])
def test_what_is_learnt_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many keys there are, and a resume still changes nothing."""
    monkeypatch.setattr(auto, "_MOST_TOKENS", 40)
    monkeypatch.setattr(policies, "_MOST_TOKENS", 40)
    tuples = [[Tuple(n, n, n + 20, FOREVER, 1.0 + n % 3, (n // 2,)) for n in range(400)] for _ in "rs"]
    shedder = Shedder(Shedding(name), 4, 2)
    whole = shed(shedder, tuples, [])
    assert max(len(column[0]) for column in shedder.save().columns) < 500
    assert shed(Resumed(Shedding(name), 4, 2), tuples, [50, 180, 333]) == whole


@pytest.mark.parametrize("combine", ["min", "sum", "product"])
def test_one_gain_is_what_many_are(combine: str) -> None:
    rng = random.Random(3)
    known = auto.Rates(combine)
    for _ in range(50):
        known.learn([((rng.randrange(9), 9 + rng.randrange(3)), rng.random()) for _ in range(7)])
    tokens = [rng.randrange(14) for _ in range(30)]
    importances = np.array([rng.random() for _ in tokens])
    each = [known.gain(token, x) for token, x in zip(tokens, importances.tolist(), strict=True)]
    assert known.gains(tokens, importances) == pytest.approx(each)
    assert len(set(each)) > 20


def test_auto_aims_at_the_importance_that_counts() -> None:
    """By the sum a rare partner that is important is worth more, by the minimum it is not."""
    r = [Tuple(n, n, n + 400, FOREVER, 1.0, (n % 2,)) for n in range(400)]
    rare = [int(n % 3 == 0) for n in range(300)]
    s = [Tuple(n, n, n + 400, FOREVER, (1.0, 50.0)[kind], (kind,)) for n, kind in enumerate(rare)]

    def late(combine: str) -> int:
        """How many of those that stay till the end are of the important kind."""
        gone = shed(Shedder(Shedding("auto", importance=combine), 20, 2), [r, s], [])[0]
        return sum(n % 2 for n in {one.number for one in r} - {number for number, _ in gone})

    assert late("sum") > 15
    assert late("min") < 5


def test_an_edge_counts_only_the_streams_on_it() -> None:
    """A chain a - b - c: tokens 0, 2, ... join a with b, tokens 1, 3, ... b with c."""
    edges = ((0, 1), (1, 2))
    a = [Tuple(0, 0, 9, FOREVER, 1.0, (0,)), Tuple(1, 0, 9, FOREVER, 1.0, (2,))]
    b = [Tuple(0, 0, 9, FOREVER, 1.0, (2, 1))]
    c = [Tuple(0, 0, 9, FOREVER, 1.0, (1,))]
    shedder = Shedder(Shedding("simpprob"), 1, 3, edges)
    assert shed(shedder, [a, b, c], []) == [[(0, 0)], [], []]


def test_auto_is_at_the_optimum_of_the_papers_example() -> None:
    """The importance of what `auto` reports in the worked example of STAR 3.1.1; the optimum is 38."""
    r = tokens_by_relation([(0, 1, 5), (1, 0, 1), (2, 1, 4), (3, 0, 8), (4, 2, 3), (5, 5, 2)], side=0)
    s = tokens_by_relation([(0, 1, 1), (1, 3, 5), (2, 3, 2), (3, 8, 6), (4, 3, 4), (5, 5, 3)], side=1)
    exact = exact_results(as_arrivals(r), as_arrivals(s))
    assert exact.total() == 43
    assert _importance("auto", r, s, 2) == 38
    assert [_importance(name, r, s, 2) for name in ("simp", "simpprob")] == [31, 37]


PAPERS_RELATION = (
    (0, 3, -1, FOREVER),
    (1, 5, -1, FOREVER),
    (0, 8, -1, FOREVER),
    (4, 5, -1, FOREVER),
    (1, 3, -1, 5),
    (5, 8, 3, FOREVER),
)


def tokens_by_relation(rows: list[tuple[int, int, int]], side: int) -> list[Tuple]:
    """Tuples (ts, key, importance) of life 4, with the places of the relation's tuples as tokens."""
    tuples = []
    for number, (ts, key, importance) in enumerate(rows):
        facts = {n: f[3] for n, f in enumerate(PAPERS_RELATION) if f[side] == key and f[2] <= ts < f[3]}
        until = max(facts.values(), default=FOREVER)
        tuples.append(Tuple(number, ts, ts + 4, until, float(importance), tuple(facts)))
    return tuples


def _importance(name: str, r: list[Tuple], s: list[Tuple], capacity: int) -> float:
    """The importance of the results that a policy reports."""
    streams = [as_arrivals(r), as_arrivals(s)]
    gone = Shedder(Shedding(name), capacity, 2).step(streams)
    exact = exact_results(*streams)
    left, right = (residence(*both) for both in zip(streams, gone, strict=True))
    return float(exact.importance[exact.reported(left, right)].sum())


@pytest.mark.parametrize("others", [0, 3])
def test_auto_gives_up_a_tuple_in_its_last_instant(others: int) -> None:
    """Nothing that comes later meets it, however important it is; also where the other stream is silent."""
    old = Tuple(0, 0, 4, FOREVER, 9.0, (1,))
    young = Tuple(1, 3, 7, FOREVER, 1.0, (1,))
    partners = [Tuple(n, n, n + 4, FOREVER, 9.0, (1,)) for n in range(others)]
    assert shed(Shedder(Shedding("auto"), 1, 2), [[old, young], partners], []) == [
        [(0, 3)],
        [(n, n + 1) for n in range(others - 1)],
    ]


@pytest.mark.parametrize("life", [4, 12])
def test_auto_leads_where_lives_are_short(life: int) -> None:
    """The mean over small streams like the paper's example, beside each of the paper's policies."""
    totals = dict.fromkeys(("auto", "rand", *PAPER), 0.0)
    for seed in seed_range(30):
        r, s = (_steady(random.Random(2 * seed + side), 40, life) for side in (0, 1))
        for name in totals:
            totals[name] += _importance(name, r, s, life // 4)
    assert totals["auto"] > 1.03 * max(totals[name] for name in PAPER), totals


def _steady(rng: random.Random, length: int, life: int) -> list[Tuple]:
    """A tuple at each instant, of one of some keys of unlike frequency."""
    keys = rng.choices(range(8), weights=range(1, 9), k=length)
    return [Tuple(n, n, n + life, FOREVER, float(rng.randint(1, 9)), (key,)) for n, key in enumerate(keys)]
