"""Deletions find their tuples as a walk through all events in order does, however input is cut."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT, STRING
from seine.graph.node import Port
from seine.operators.state import runs
from seine.operators.state.store import MemoryStore
from seine.operators.stream.resolve import QueuedArrivals, ResolveNode, ResolveOperator, Takers, take_fronts
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns
from tests.support.join_streams import cuts, tuples
from tests.support.seeds import seed_range

TYPES = (STRING, BIGINT, BIGINT)  # the time column is in the middle


@dataclass(frozen=True)
class Tuple:
    time: int
    arrival: int
    content: tuple[str | None, int | None]
    negative: bool


def node(window: int | None) -> ResolveNode:
    return ResolveNode(
        id=1,
        ports=(Port(0, TYPES, ("s",), key=(Column(0, STRING), Column(2, BIGINT))),),
        types=TYPES,
        out=(0, 1, 2),
        streams=("s",),
        hold=("s",),
        identities=1,
        stage=1,
        owner="",
        stream="s",
        window=window,
    )


def random_tuples(rng: random.Random, count: int) -> list[Tuple]:
    content = [(a, b) for a in ("x", "y", None) for b in (1, None)]
    times = sorted((rng.randint(0, 40) for _ in range(count)), key=lambda t: t + rng.randint(0, 8))
    return [Tuple(t, i, rng.choice(content), rng.random() < 0.4) for i, t in enumerate(times)]


def end_of(time: int, window: int | None) -> int:
    return FOREVER if window is None else time + window


def walk(tuples_: list[Tuple], window: int | None) -> tuple[Counter, Counter]:
    alive: list[Tuple] = []
    deleted: dict[int, int] = {}
    for one in sorted(tuples_, key=lambda t: (t.time, t.arrival)):
        if not one.negative:
            alive.append(one)
            continue
        fits = [a for a in alive if a.content == one.content and one.time < end_of(a.time, window)]
        if fits:
            oldest = min(fits, key=lambda t: (t.time, t.arrival))
            alive.remove(oldest)
            deleted[oldest.arrival] = one.time
    plus, minus = Counter(), Counter()
    for one in tuples_:
        early = deleted.get(one.arrival)
        if not one.negative and early != one.time:
            values = (one.content[0], one.time, one.content[1])
            plus[(one.time, end_of(one.time, window), one.arrival, *values)] += 1
            if early is not None:
                minus[(one.time, end_of(one.time, window), early, one.arrival, *values)] += 1
    return plus, minus


def batch(tuples_: list[Tuple], window: int | None, negative: bool) -> pa.RecordBatch:
    chosen = [t for t in tuples_ if t.negative == negative]
    values = [[t.content[0] for t in chosen], [t.time for t in chosen], [t.content[1] for t in chosen]]
    columns = [pa.array(v, kind.arrow()) for v, kind in zip(values, TYPES, strict=True)]
    ends = [FOREVER if negative else end_of(t.time, window) for t in chosen]
    named = {"_k": hash_columns([columns[0], columns[2]], len(chosen)), "_s": values[1], "_e": ends}
    if negative:
        named["_d"] = values[1]
    named["_i0"] = [t.arrival for t in chosen]
    arrays = [pa.array(np.array(v, np.int64)) for v in named.values()]
    return pa.RecordBatch.from_arrays([*arrays, *columns], names=[*named, "c0", "c1", "c2"])


@pytest.mark.parametrize("window", [None, 6, 25])
def test_resolve_is_a_walk_in_event_time(window: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    total = Counter()
    for seed in seed_range(60):
        rng = random.Random(seed)
        monkeypatch.setattr(runs, "TOMBSTONES_BEFORE_SWEEP", rng.choice([0, 1024]))
        all_tuples = random_tuples(rng, rng.randint(0, 80))
        plus, minus = run(ResolveOperator(node(window)), all_tuples, window, rng)
        assert (plus, minus) == walk(all_tuples, window)
        total += Counter(plus=plus.total(), minus=minus.total())
    assert total["plus"] > 500 and total["minus"] > 300


def run(
    operator: ResolveOperator, all_tuples: list[Tuple], window: int | None, rng: random.Random
) -> tuple[Counter, Counter]:
    store, plus, minus, now = MemoryStore(), Counter(), Counter(), NEVER
    steps = [
        (all_tuples[part], all_tuples[part.stop :]) for part in cuts(rng, len(all_tuples), rng.randint(1, 12))
    ]
    for came, later in [*steps, ([], [])]:
        now = max([now, *(t.time for t in came)])
        mark = min((t.time for t in later), default=FOREVER)
        clock = Clock({"s": mark if now > NEVER else NEVER}, {"plain": now}, end=not later and not came)
        delta = Delta(batch(came, window, negative=False), batch(came, window, negative=True))
        store.head = json.loads(json.dumps(store.head))
        for piece in operator.step([[delta]], clock, store):
            plus.update(tuples(piece.plus))
            minus.update(tuples(piece.minus))
    assert not store.runs
    return plus, minus


def test_contents_of_equal_hash_are_told_apart() -> None:
    tuples_ = [Tuple(1, 0, ("x", 1), False), Tuple(1, 1, ("y", 1), False), Tuple(2, 2, ("y", 1), True)]
    batches = [batch(tuples_, None, negative) for negative in (False, True)]
    delta = Delta(*(b.set_column(0, "_k", pa.array(np.zeros(b.num_rows, np.int64))) for b in batches))
    clock = Clock({"s": FOREVER}, {"plain": 2}, end=True)
    (piece,) = ResolveOperator(node(None)).step([[delta]], clock, MemoryStore())
    assert tuples(piece.minus) == [(1, FOREVER, 2, 1, "y", 1, 1)]


def test_long_queues_are_resolved_by_the_scan() -> None:
    for seed in seed_range(20):
        rng = np.random.default_rng(seed)
        start = np.sort(rng.integers(0, 300, 400))
        standing = QueuedArrivals(rng.integers(0, 3, 400), start, start + 12, np.arange(400))
        takers = Takers(
            rng.integers(0, 3, 300), rng.integers(0, 320, 300), rng.permutation(np.arange(1000, 1300))
        )
        got = dict(zip(*(a.tolist() for a in take_fronts(standing, takers)), strict=True))
        taken: set[int] = set()
        for taker in np.lexsort((takers.rank, takers.time)).tolist():
            at = int(takers.time[taker])
            mine = [i for i in range(400) if standing.queue[i] == takers.queue[taker] and i not in taken]
            mine = [i for i in mine if standing.start[i] <= at < standing.end[i]]
            assert got.get(taker) == (mine[0] if mine else None)
            taken.update(mine[:1])
        assert 50 < len(taken) < 300
