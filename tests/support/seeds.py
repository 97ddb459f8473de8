"""The one way to make seeds: every random test takes its seeds from here, and `SEINE_SEEDS` gives it others.

    @seeds(16)                              a test for each of 16 seeds; `make test` tries the first four
    def test_engine_agrees(seed: int) -> None: ...

    for seed in seed_range(300): ...        one test of 300 quick seeds, which counts what it came across

`SEINE_SEEDS=200` is at least 200 seeds from 0 on. `SEINE_SEEDS=500-600` is the hundred from 500 on, and
`517-518` the one that failed. A test of many seeds in turn keeps at least its number, so that what it counts
still comes up. With either, `make test` tries all that were named.
"""

from __future__ import annotations

import os

import pytest

VARIABLE = "SEINE_SEEDS"


def seeds(count: int) -> pytest.MarkDecorator:
    """Run a test once for each seed; it has a parameter `seed`. Three of four are marked `long`."""
    setting = os.environ.get(VARIABLE, "")
    chosen = _chosen(count, setting)
    quick = len(chosen) if setting else -(-count // 4)
    rest = [pytest.param(seed, marks=pytest.mark.long) for seed in chosen[quick:]]
    return pytest.mark.parametrize("seed", [*chosen[:quick], *rest])


def seed_range(count: int, first: int = 0) -> range:
    """Seeds for a loop inside a test: at least `count`, from `first` on."""
    chosen = _chosen(count, os.environ.get(VARIABLE, ""))
    start = first + chosen.start
    return range(start, start + max(count, len(chosen)))


def _chosen(count: int, setting: str) -> range:
    """
    >>> _chosen(8, ""), _chosen(8, "200"), _chosen(8, "3"), _chosen(8, "500-600")
    (range(0, 8), range(0, 200), range(0, 8), range(500, 600))
    """
    if not setting:
        return range(count)
    first, dash, last = setting.rpartition("-")
    return range(int(first), int(last)) if dash else range(max(count, int(last)))
