"""A side that is one network in one process: a script under one strategy, batch by batch, without Spark.

The only place that knows how a strategy is handed to the engine.
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

from seine.bench.fed.progress_text import ProgressText
from seine.frontends.script.script_file import read_script
from seine.graph.nodes import JOINS
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run import Options, Run
from seine.runtime.local_host import LocalHost
from seine.runtime.output.sink import Sink


@dataclass(frozen=True)
class Stretch:
    """How a run is cut: micro-batches of so many rows; some as history, then those that are measured.

    The results of the first `sample` of these are kept by query, to be compared.
    """

    batch_rows: int
    history: int
    batches: int
    sample: int


@dataclass(frozen=True)
class NetworkFigures:
    """What the micro-batches after the history cost, and what they gave; queries without results left out."""

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
        return self.cpu / self.batches

    @property
    def rows_per_second(self) -> float:
        """Rows by CPU second: one process works, and others may use the machine."""
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
    strategy: Strategy, script: str, stretch: Stretch, tell: Callable[[str], None] = lambda text: None
) -> NetworkFigures:
    """Run a script whose files are those of the stretch, and measure what follows its history."""
    marks: dict[int, _Mark] = {}
    wanted = {stretch.history + passed for passed in (0, stretch.sample, stretch.batches)}

    def progress(sink: Sink) -> None:
        totals = sink.totals
        if totals.batches in wanted:
            marks[totals.batches - stretch.history] = _Mark(
                time.process_time(), time.monotonic(), totals.input_rows, dict(totals.outputs)
            )
        tell(f"batch {totals.batches} of {stretch.history + stretch.batches}")

    tell("building the network")
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
            ),
        )
        built = time.process_time() - started
        run.driver.run_all(LocalHost(run.deployment).run)
        run.close()
    start, end = marks[0], marks[stretch.batches]
    return NetworkFigures(
        queries=len(run.network.queries),
        nodes=len(run.network.nodes),
        joins=sum(node.kind in JOINS for node in run.network.nodes.values()),
        build_cpu=built,
        batches=stretch.batches,
        rows=end.rows - start.rows,
        cpu=end.cpu - start.cpu,
        wall=end.wall - start.wall,
        out=sum(_since(start, end).values()),
        outputs=_since(start, marks[stretch.sample]),
    )


def _since(start: _Mark, end: _Mark) -> dict[str, int]:
    """Results by query between two marks."""
    grown = {query: count - start.outputs.get(query, 0) for query, count in end.outputs.items()}
    return {query: count for query, count in grown.items() if count}


def run_side(words: list[str]) -> NetworkFigures:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("title")
    parser.add_argument("configuration", choices=CONFIGURATIONS)
    parser.add_argument("script")
    for name in ("batch_rows", "history", "batches", "sample"):
        parser.add_argument(name, type=int)
    given = parser.parse_args(words)
    stretch = Stretch(given.batch_rows, given.history, given.batches, given.sample)
    with ProgressText(given.title) as line:
        return run_with(CONFIGURATIONS[given.configuration], given.script, stretch, line.say)


if __name__ == "__main__":
    print(json.dumps(asdict(run_side(sys.argv[1:]))))
