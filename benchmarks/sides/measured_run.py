"""A side: the whole pipeline without Spark, from lines to results, with the state that it holds."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.workloads.punctuated_feeds import SafetyWorkload
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import Strategy
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.flow.task_output import Row
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport


@dataclass(frozen=True)
class Ran:
    """Tuples read, results written, CPU seconds, and rows held after each micro-batch.

    Of the CPU seconds, `stages` are those of all stages, and `longest` those of the bucket that takes longest
    in each stage of each micro-batch: with a core for every bucket, stages would take that long.
    """

    tuples: int
    results: int
    seconds: float
    held: list[tuple[int, int]]  # tuples read so far, rows and punctuations held then
    stages: float
    longest: float


class TimedHost(LocalHost):
    """A local host that measures the CPU time of its stages."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__(deployment)
        self._spent: dict[int, list[float]] = {}
        self.stages = self.longest = 0.0

    def run(self, number: int, read: Sequence[Row] = ()) -> list[TaskReport]:
        """Run one micro-batch and add up the time of its stages."""
        self._spent = {}
        reports = super().run(number, read)
        self.stages += sum(map(sum, self._spent.values()))
        self.longest += sum(map(max, self._spent.values()))
        return reports

    def _stage(self, stage: int, bucket: int, label: int, rows: list[Row]) -> list[Row]:
        started = time.process_time()
        produced = super()._stage(stage, bucket, label, rows)
        self._spent.setdefault(stage, []).append(time.process_time() - started)
        return produced


@contextmanager
def written(workload: SafetyWorkload, punctuated: bool, windowed: bool = False) -> Iterator[str]:
    """The path of the workload's script, with its files, for as long as the context lives."""
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        yield workload.write(folder, punctuated, windowed)


def run(path: str, lazy: bool = False, batch_rows: int | None = None, sharing: Strategy | None = None) -> Ran:
    """Run a script to the end of its input; there must be results and no dead letters."""
    held: list[tuple[int, int]] = []

    def progress(sink: Sink) -> None:
        held.append((sink.totals.input_rows, sum(sink.totals.state_rows.values())))

    with tempfile.TemporaryDirectory(prefix="seine-") as work:
        out, dead = os.path.join(work, "out.jsonl"), os.path.join(work, "dead.jsonl")
        options = Options(
            out, dead, None, batch_rows, sharing=sharing or Strategy(lazy=lazy), progress=progress
        )
        started = time.process_time()
        running = Run(read_script(path), options)
        host = TimedHost(running.deployment)
        running.driver.run_all(host.run)
        running.close()
        spent = time.process_time() - started
        totals = running.sink.totals
    assert not totals.dead_letters and totals.output_rows
    return Ran(totals.input_rows, totals.output_rows, spent, held, host.stages, host.longest)
