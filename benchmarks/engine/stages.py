"""Benchmark `stages`: small micro-batches through 1, 2 and 3 stages, for the fixed cost of a stage.

Every script reads the same three streams; its query needs 1, 2 or 3 stages.
"""

from __future__ import annotations

import os
import tempfile

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import declare, seconds_of, write_keyed_streams

STREAMS = ("a", "b", "c")
WINDOW_BATCHES = 10
_TWO = " FROM a_side a JOIN b_side b ON a.k = b.k"
_THREE = _TWO + " JOIN c_side c ON b.k = c.k"
QUERIES = {
    1: "SELECT a.k AS k, a.v AS av, b.v AS bv" + _TWO,
    2: "SELECT a.k AS k, a.v AS av, b.v AS bv, c.v AS cv" + _THREE,
    3: "SELECT a.v AS v, COUNT(*) AS n, MAX(c.v) AS top" + _THREE + " GROUP BY a.v",
}


def stages_script(folder: str, window: int, stages: int) -> str:
    """The script whose query needs so many stages; its window is in seconds."""
    return declare(folder, STREAMS, window) + f"CREATE QUERY q AS {QUERIES[stages]};\n"


def main(batches: int, rows: int, runner: Runner = apart) -> Table:
    """The table; there are as many keys as tuples in a window, so a tuple has a few partners."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_keyed_streams(folder, STREAMS, batches, rows, keys=WINDOW_BATCHES * rows)
        costs = {stages: measure(stages, folder, rows, batches // 2, runner) for stages in QUERIES}
    return tabulate(costs)


def measure(stages: int, folder: str, rows: int, warm: int, runner: Runner) -> BatchCost:
    """Run one of the scripts over the files of a folder."""
    path = os.path.join(folder, f"stages-{stages}.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(stages_script(folder, seconds_of(WINDOW_BATCHES * rows), stages))
    return runner(f"stages, {rows:,} rows a stream and batch: {stages}", SEINE, path, rows, warm)


def tabulate(costs: dict[int, BatchCost]) -> Table:
    """One row a number of stages; the ratio is to one stage."""
    table = Table("stages", "s per batch", "CPU-s per batch", "rows out", "slower than one stage by")
    for stages, cost in costs.items():
        table.add(
            str(stages),
            f"{cost.seconds_per_batch:.2f}",
            f"{cost.cpu_per_batch:.2f}",
            f"{cost.total_out:,}",
            f"{cost.seconds_per_batch / costs[1].seconds_per_batch:.2f}x",
        )
    return table
