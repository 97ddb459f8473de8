"""A side: Seine in one process without Spark, with a script and a configuration of sharing.

It measures the micro-batches that follow a history.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.harness.progress_text import ProgressText
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.optimizer.estimates import Estimates, Sample
from seine.rows.delta import data_names
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.runtime.output.sink import Sink


@dataclass(frozen=True)
class Stretch:
    """The micro-batches of a run: `history` of them first, then `batches` that are measured.

    The results of the first `sample` measured ones are counted by query, to be compared.
    """

    batch_rows: int
    history: int
    batches: int
    sample: int


@dataclass(frozen=True)
class NetworkFigures:
    """The network, and the cost and results of the measured micro-batches; `outputs` is by query."""

    queries: int
    nodes: int
    joins: int
    build_cpu: float
    batches: int
    rows: int
    cpu: float
    wall: float
    out: int
    outputs: dict[str, int]

    @property
    def cpu_per_batch(self) -> float:
        """CPU seconds of a micro-batch."""
        return self.cpu / self.batches

    @property
    def rows_per_second(self) -> float:
        """Rows by CPU second, not wall-clock: other processes may use the machine."""
        return self.rows / self.cpu


@dataclass(frozen=True)
class _Mark:
    cpu: float
    wall: float
    rows: int
    outputs: Mapping[str, int]


def open_run(strategy: Strategy, script: str, options: Options) -> Run:
    """A run of a script file under a strategy."""
    return Run(read_script(script), replace(options, sharing=strategy))


def run_with(
    strategy: Strategy,
    script: str,
    stretch: Stretch,
    report: Callable[[str], None] = lambda text: None,
    estimates: Estimates | None = None,
) -> NetworkFigures:
    """Run a script whose files are those of the stretch, and measure the micro-batches after its history."""
    marks: dict[int, _Mark] = {}
    wanted = {stretch.history + passed for passed in (0, stretch.sample, stretch.batches)}

    def progress(sink: Sink) -> None:
        totals = sink.totals
        if totals.batches in wanted:
            marks[totals.batches - stretch.history] = _Mark(
                time.process_time(), time.monotonic(), totals.input_rows, dict(totals.outputs)
            )
        report(f"batch {totals.batches} of {stretch.history + stretch.batches}")

    report("building the network")
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as work:
        started = time.process_time()
        run = open_run(
            strategy,
            script,
            Options(
                out=os.path.join(work, "out.jsonl"),
                checkpoint=os.path.join(work, "state"),
                batch_rows=stretch.batch_rows,
                progress=progress,
                sample=0,  # what is known of the data is what is compared
                estimates=estimates,
            ),
        )
        built = time.process_time() - started
        run.driver.run_all(LocalHost(run.deployment).run)
        run.close()
    start, end = marks[0], marks[stretch.batches]
    return NetworkFigures(
        queries=len(run.network.queries),
        nodes=len(run.network.nodes),
        joins=sum(node.is_join for node in run.network.nodes.values()),
        build_cpu=built,
        batches=stretch.batches,
        rows=end.rows - start.rows,
        cpu=end.cpu - start.cpu,
        wall=end.wall - start.wall,
        out=sum(_since(start, end).values()),
        outputs=_since(start, marks[stretch.sample]),
    )


def estimates_of(script: str, seen: int) -> Estimates:
    """Statistics of the streams of a script, from the first Parquet file of each, for so many rows."""
    samples = {}
    for stream in read_script(script).declarations.streams.values():
        assert stream.source is not None
        folder = stream.source.path
        table = pq.read_table(os.path.join(folder, min(os.listdir(folder))))
        times = table.column(stream.time).cast(pa.int64())
        span = pc.max(times).as_py() - pc.min(times).as_py()
        few = table.take(np.linspace(0, table.num_rows - 1, MOST_SAMPLED).astype(np.int64))
        (rows,) = few.rename_columns(data_names(table.num_columns)).combine_chunks().to_batches()
        samples[stream.name] = Sample(rows, float(seen), table.num_rows / max(span, 1))
    return Estimates(samples)


def _since(start: _Mark, end: _Mark) -> dict[str, int]:
    """Results by query between two marks."""
    grown = {query: count - start.outputs.get(query, 0) for query, count in end.outputs.items()}
    return {query: count for query, count in grown.items() if count}


def run_side(arguments: list[str]) -> NetworkFigures:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title")
    parser.add_argument("configuration", choices=CONFIGURATIONS)
    parser.add_argument("script")
    for name in ("batch_rows", "history", "batches", "sample"):
        parser.add_argument(name, type=int)
    parser.add_argument("--known", action="store_true", help="with statistics of the first file of a stream")
    given = parser.parse_args(arguments)
    stretch = Stretch(given.batch_rows, given.history, given.batches, given.sample)
    with ProgressText(given.title) as line:
        strategy = CONFIGURATIONS[given.configuration]
        known = estimates_of(given.script, stretch.history * stretch.batch_rows) if given.known else None
        return run_with(strategy, given.script, stretch, line.say, known)


if __name__ == "__main__":
    print(json.dumps(asdict(run_side(sys.argv[1:]))))
