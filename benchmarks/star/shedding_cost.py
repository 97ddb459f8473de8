"""Cost parts of the benchmark `star`: CPU time of a shedding decision, and of the offline optimum."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from benchmarks.harness.table import Table
from benchmarks.sides.on_shedder import StarBenchmark
from benchmarks.workloads.star_streams import make
from seine.shedding.policies import NAMES, Shedding
from seine.shedding.policy import Arrivals
from seine.shedding.shedder import Shedder


def policies(tuples: int, memories: Sequence[int], names: Sequence[str] = NAMES) -> Table:
    """The table of CPU time a tuple by policy: streams joined directly, one tuple of each at an instant."""
    table = Table("policy", *(f"memory {memory:,}" for memory in memories))
    for name in names:
        spent = [_spent(name, memory, tuples) for memory in memories]
        table.add(name, *(f"{1e6 * seconds / tuples:.1f} µs a tuple" for seconds in spent))
    return table


def many(tuples: int, memory: int, names: Sequence[str]) -> Table:
    """The table of CPU time a tuple by policy, with very many tuples."""
    table = Table("policy", "tuples", "memory", "CPU seconds", "CPU µs a tuple")
    for name in names:
        seconds = _spent(name, memory, tuples)
        table.add(name, f"{tuples:,}", f"{memory:,}", f"{seconds:.1f}", f"{1e6 * seconds / tuples:.1f}")
    return table


def optimum(sizes: Sequence[tuple[int, int, int]]) -> Table:
    """The table of CPU seconds of the offline optimum on the paper's streams, exact results given."""
    table = Table("tuples of each stream", "life", "memory", "exact results", "CPU seconds", "optimum")
    for length, life, memory in sizes:
        measured = StarBenchmark(make("as in the paper", 1, length, life, 250))
        began = time.process_time()
        best = measured.optimum(memory)
        spent = time.process_time() - began
        share = f"{100 * best.importance / measured.total:.2f} % of exact"
        results = len(measured.exact.left)
        table.add(f"{length:,}", str(life), str(memory), f"{results:,}", f"{spent:.1f}", share)
    return table


def _spent(name: str, memory: int, tuples: int) -> float:
    streams = keyed_streams(tuples, memory)
    shedder = Shedder(Shedding(name), memory // 2, 2)
    began = time.process_time()
    shedder.step(streams)
    return time.process_time() - began


def keyed_streams(tuples: int, memory: int) -> list[Arrivals]:
    """Two streams that are joined directly, with so many tuples together."""
    return [_keyed(seed, tuples // 2, memory) for seed in (1, 2)]


def _keyed(seed: int, length: int, memory: int) -> Arrivals:
    """As many keys as a window holds tuples, and lifetimes that are twice as long as memory lasts."""
    draw = np.random.default_rng(seed)
    ts = np.arange(length)
    keys, levels = draw.integers(0, memory // 2, length), draw.integers(1, 11, length)
    return Arrivals.keyed(ts, ts, ts + memory, keys, levels.astype(float))
