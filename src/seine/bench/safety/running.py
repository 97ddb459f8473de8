"""One run of a workload through the whole pipeline without Spark, results and dead letters included."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from seine.bench.safety.feeds import Workload
from seine.engine import Options, Run, read_script
from seine.runtime.host import LocalHost
from seine.runtime.sink import Sink
from seine.sharing.strategy import Strategy


@dataclass(frozen=True)
class Ran:
    """Tuples read, results written, CPU seconds, and rows held after each micro-batch."""

    tuples: int
    results: int
    seconds: float
    held: list[tuple[int, int]]  # tuples read so far, rows and promises held then


@contextmanager
def written(workload: Workload, punctuated: bool, windowed: bool = False) -> Iterator[str]:
    """The workload in files, as long as they are needed."""
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        yield workload.write(folder, punctuated, windowed)


def run(path: str, lazy: bool = False, batch_rows: int | None = None) -> Ran:
    """Run a script to the end of its input; nothing in it may be refused."""
    held: list[tuple[int, int]] = []

    def progress(sink: Sink) -> None:
        held.append((sink.totals.input_rows, sum(sink.totals.state_rows.values())))

    with tempfile.TemporaryDirectory(prefix="seine-") as work:
        out, dead = os.path.join(work, "out.jsonl"), os.path.join(work, "dead.jsonl")
        options = Options(out, dead, None, batch_rows, sharing=Strategy(lazy=lazy), progress=progress)
        started = time.process_time()
        running = Run(read_script(path), options)
        running.driver.run_all(LocalHost(running.deployment).run)
        running.close()
        spent = time.process_time() - started
        totals = running.sink.totals
    assert not totals.dead_letters and totals.output_rows
    return Ran(totals.input_rows, totals.output_rows, spent, held)
