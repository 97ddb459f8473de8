"""Benchmarks `join` and `join-large`: one windowed equi-join on Seine and on Spark's stream-stream join.

Both read the same Parquet files. A pair joins when its keys are equal and its timestamps are less than a
window apart. Seine writes every result to a file; Spark discards its results.
"""

from __future__ import annotations

import os
import tempfile

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, SPARK, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import declare, seconds_of, write_keyed_streams

SIDES = ("seine", "spark", "spark_rocksdb")
STREAMS = ("left", "right")


def join_script(folder: str, window: int) -> str:
    """The script with the join query; the window is in seconds."""
    return declare(folder, STREAMS, window) + (
        "CREATE QUERY pairs WITH (limit = 1000000000000) AS "
        "SELECT l.k AS k, l.ts AS lt, r.ts AS rt, l.v AS lv, r.v AS rv "
        "FROM left_side l JOIN right_side r ON l.k = r.k;\n"
    )


def main(
    batches: int,
    rows: int,
    window_batches: float = 1.0,
    sides: tuple[str, ...] = SIDES,
    runner: Runner = apart,
) -> Table:
    """The table of the join benchmark; there are twice as many keys as tuples in a window.

    Spark on RocksDB is so much slower that it gets only the first third of the batches.
    """
    window = seconds_of(window_batches * rows)
    costs: dict[str, BatchCost] = {}
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_keyed_streams(folder, STREAMS, batches, rows, keys=max(1, round(2 * window_batches * rows)))
        for side in sides:
            given = max(2, batches // 3) if side == "spark_rocksdb" else batches
            part = first_files(folder, given)
            costs[side] = measure(side, part, rows, window, given // 2, runner)
    return tabulate(costs)


def first_files(folder: str, count: int) -> str:
    """A folder with links to the first files of each stream."""
    part = os.path.join(folder, f"first-{count}")
    for stream in STREAMS:
        os.makedirs(os.path.join(part, stream), exist_ok=True)
        for name in sorted(os.listdir(os.path.join(folder, stream)))[:count]:
            link = os.path.join(part, stream, name)
            if not os.path.exists(link):
                os.symlink(os.path.join(folder, stream, name), link)
    return part


def measure(side: str, folder: str, rows: int, window: int, warm: int, runner: Runner) -> BatchCost:
    """Run one side over the files of a folder."""
    title = f"join, {rows:,} rows a stream and batch: {side}"
    if side != "seine":
        options = ["--rocksdb"] if side == "spark_rocksdb" else []
        return runner(title, SPARK, folder, window, warm, *options)
    path = os.path.join(folder, "join.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(join_script(folder, window))
    return runner(title, SEINE, path, rows, warm)


def tabulate(costs: dict[str, BatchCost]) -> Table:
    """The table, a row for each side; the ratio is Seine's throughput to that side's."""
    table = Table(
        "engine", "rows/s", "CPU-s per million rows", "s per batch", "rows out", "Seine is faster by"
    )
    for side, cost in costs.items():
        table.add(
            side,
            f"{cost.rows_per_second:,.0f}",
            f"{cost.cpu_per_million:.1f}",
            f"{cost.seconds_per_batch:.2f}",
            f"{cost.total_out:,}",
            f"{costs['seine'].rows_per_second / cost.rows_per_second:.1f}x",
        )
    return table
