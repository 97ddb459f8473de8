"""Benchmark `memory`: bytes of state of a join, relative to the Arrow bytes of the tuples that it must keep.

A tuple is alive while a partner of it may still come: until the watermark of the other stream has reached
the end of its lifetime. State is every segment that the heads refer to, and the heads. It runs without
Spark.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.engine.join_throughput import STREAMS, join_script
from benchmarks.harness.side import announce
from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import LATENESS_SECONDS, seconds_of, write_keyed_streams
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.output.task_report import TaskReport

_SECOND = 1_000_000


class StateSize(NamedTuple):
    """State at the end of a micro-batch: tuples alive, their Arrow bytes, and bytes held."""

    batch: int
    live: int
    needed: int
    held: int


class WeighedHost(LocalHost):
    """A local host that reports the size of its state."""

    def state_bytes(self) -> int:
        """Bytes of the segments that the heads refer to, and of the heads."""
        return sum(map(len, self.blobs.values())) + sum(map(len, self.heads.values()))


def live_part(tuples: pa.Table, window: int) -> pa.Table:
    """The tuples so far of one stream that are alive, by a watermark that is the same for both streams.

    >>> ts = pa.array([0, 1_500_000, 3_000_000], pa.timestamp("us"))
    >>> live_part(pa.table({"ts": ts}), 1).num_rows
    2
    """
    ts = tuples["ts"].to_numpy().astype("datetime64[us]").astype(np.int64)
    return tuples.filter(pa.array(ts + window * _SECOND > ts.max() - LATENESS_SECONDS * _SECOND))


def main(batches: int, rows: int, windows: Sequence[float] = (0.5, 4.0)) -> Table:
    """The table; windows are in micro-batches."""
    table = Table("window", "after batch", "tuples alive", "Arrow MB alive", "MB of state", "state to alive")
    for window in windows:
        announce(f"memory, a window of {window:g} micro-batches")
        for held in weigh(batches, rows, window, points_of(batches)):
            table.add(
                f"{window:g} batches",
                str(held.batch),
                f"{held.live:,}",
                f"{held.needed / 1e6:.2f}",
                f"{held.held / 1e6:.2f}",
                f"{held.held / held.needed:.2f}x",
            )
    return table


def points_of(batches: int) -> list[int]:
    """The micro-batches to measure state after: an early one and three spread over the run, not the last.

    >>> points_of(24)
    [2, 7, 15, 23]
    """
    return sorted({2, *((batches - 1) * part // 3 for part in (1, 2, 3))})


def weigh(batches: int, rows: int, window_batches: float, points: Sequence[int]) -> list[StateSize]:
    """Run the join in this process and measure its state at the end of the given micro-batches."""
    window = seconds_of(window_batches * rows)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_keyed_streams(folder, STREAMS, batches, rows, keys=max(1, round(window_batches * rows)))
        path = os.path.join(folder, "join.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(join_script(folder, window))
        held = dict(_run(path, os.path.join(folder, "work"), rows))
        return [_compare(folder, batch, window, held[batch]) for batch in points]


def _run(script: str, folder: str, rows: int) -> Iterator[tuple[int, int]]:
    """Bytes held at the end of each micro-batch; they count from 1."""
    os.makedirs(folder)
    options = Options(out=os.path.join(folder, "out.jsonl"), checkpoint=folder, batch_rows=rows)
    run = Run(read_script(script), options)
    host = WeighedHost(run.deployment)
    sizes: list[int] = []

    def work(number: int) -> list[TaskReport]:
        reports = host.run(number)
        sizes.append(host.state_bytes())
        return reports

    run.driver.run_all(work)
    run.close()
    return zip(range(1, len(sizes)), sizes, strict=False)  # the last entry only ends the input


def _compare(folder: str, batch: int, window: int, held: int) -> StateSize:
    alive = [live_part(_read(folder, name, batch), window) for name in STREAMS]
    return StateSize(batch, sum(t.num_rows for t in alive), sum(t.nbytes for t in alive), held)


def _read(folder: str, stream: str, batches: int) -> pa.Table:
    """The first files of a stream."""
    paths = sorted(os.listdir(os.path.join(folder, stream)))[:batches]
    return pa.concat_tables([pq.read_table(os.path.join(folder, stream, path)) for path in paths])
