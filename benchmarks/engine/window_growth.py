"""Benchmark `window`: one join with windows of 1, 4 and 16 times a base, with equally many matches.

The number of keys grows with the window, so a tuple has as many partners in each. So only the cost of
holding more tuples can grow.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

from benchmarks.engine.join_throughput import STREAMS, join_script
from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import seconds_of, write_keyed_streams


def main(
    batches: int, rows: int, base: int, factors: Sequence[int] = (1, 4, 16), runner: Runner = apart
) -> Table:
    """The table; `base` is the smallest window in tuples. The longest window must fill while warming up."""
    warm = max(batches // 2, 1 + -(-base * max(factors) // rows))
    return tabulate({factor: measure(factor, batches, rows, base, warm, runner) for factor in factors})


def measure(factor: int, batches: int, rows: int, base: int, warm: int, runner: Runner) -> BatchCost:
    """Run the join with one window."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_keyed_streams(folder, STREAMS, batches, rows, keys=base * factor)
        path = os.path.join(folder, "join.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(join_script(folder, seconds_of(base * factor)))
        return runner(f"window, {factor}x of {base:,} tuples", SEINE, path, rows, warm)


def tabulate(costs: dict[int, BatchCost]) -> Table:
    """One row a window; the ratios are to the smallest window."""
    table = Table("window", "s per batch", "CPU-s per batch", "matches per batch", "wall ratio", "CPU ratio")
    least = costs[min(costs)]
    for factor, cost in costs.items():
        table.add(
            f"{factor}x",
            f"{cost.seconds_per_batch:.2f}",
            f"{cost.cpu_per_batch:.2f}",
            f"{cost.out_per_batch:,.0f}",
            f"{cost.seconds_per_batch / least.seconds_per_batch:.2f}x",
            f"{cost.cpu_per_batch / least.cpu_per_batch:.2f}x",
        )
    return table
