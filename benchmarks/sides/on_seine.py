"""A side: Seine on Spark, by the same path as `seine run`.

Admission, lateness and event time are on, state is in RocksDB, and every result is written as JSON to a file.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable

from benchmarks.harness.measure import BatchCost, Mark, mark, pace
from benchmarks.harness.side import print_cost
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run import Options, Run
from seine.runtime.output.sink import Sink
from seine.spark.session import open_session
from seine.spark.spark_host import run_on_spark


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script")
    parser.add_argument("batch_rows", type=int)
    parser.add_argument("warm", type=int)
    parser.add_argument("configuration", choices=CONFIGURATIONS, nargs="?", default="all")
    given = parser.parse_args(arguments)
    strategy = CONFIGURATIONS[given.configuration]
    return pace(run_seine(given.script, given.batch_rows, strategy), given.warm)


def run_seine(
    script: str,
    batch_rows: int,
    strategy: Strategy | None = None,
    clocks: Callable[[int, int, int], Mark] = mark,
) -> list[Mark]:
    """Run a script file to its end; returns a mark for the end of each micro-batch with rows."""
    marks: list[Mark] = []

    def progress(sink: Sink) -> None:
        totals = sink.totals
        if totals.input_rows > (marks[-1].rows if marks else 0):
            marks.append(clocks(totals.batches, totals.input_rows, totals.output_rows))

    with tempfile.TemporaryDirectory(prefix="seine-bench-") as state:
        options = Options(
            out=os.path.join(state, "out.jsonl"),
            checkpoint=os.path.join(state, "checkpoint"),
            batch_rows=batch_rows,
            buckets=os.cpu_count() or 2,
            progress=progress,
            sharing=strategy or Strategy(),
        )
        run = Run(read_script(script), options)
        run_on_spark(open_session(None, os.path.join(state, "spark.log")), run)
        run.close()
    return marks


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
