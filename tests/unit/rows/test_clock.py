"""Parts of a clock: put together in any order and grouping they make one clock, which never falls."""

from __future__ import annotations

import random

from seine.rows.clock import Clock, ClockPart, raise_clock
from seine.rows.delta import NEVER
from tests.support.seeds import seed_range


def test_the_clock_of_all_parts_by_brute_force() -> None:
    rose = 0
    for seed in seed_range(100):
        rng = random.Random(seed)
        known = {value: rng.randrange(20) for value in "abc" if rng.random() < 0.6}
        rows = [(rng.choice("abcd"), rng.randrange(30)) for _ in range(rng.randrange(6))]
        lateness, before = rng.randrange(4), rng.randrange(10)
        tasks: list[list[tuple[str, int]]] = [[] for _ in range(3)]
        for row in rows:
            tasks[rng.randrange(3)].append(row)
        parts = [ClockPart("s", "plain", lateness, known, _largest(task), _latest(task)) for task in tasks]
        rng.shuffle(parts)
        clock = raise_clock(Clock({"s": before, "t": 5}, {"plain": 7}), parts)
        values = {value for value, _ in rows} | set(known) if rows else set()
        least = [
            max([known.get(value, -99), *(ts for other, ts in rows if other == value)]) for value in values
        ]
        assert clock.watermarks == {"s": max([before, *(min(least) - lateness for _ in rows[:1])]), "t": 5}
        assert clock.now == {"plain": max([7, *(ts for _, ts in rows)])}
        rose += clock.watermarks["s"] > before
    assert rose > 10


def _largest(rows: list[tuple[str, int]]) -> dict[str, int]:
    return {value: max(ts for other, ts in rows if other == value) for value, _ in rows}


def _latest(rows: list[tuple[str, int]]) -> int:
    return max((ts for _, ts in rows), default=NEVER)
