"""A side: Seine on Spark, measured by the CPU time of its driver alone; micro-batches of two sizes in turn.

A micro-batch counts from the moment that its records can be read until a while after its commit, the same
while for both sizes: Spark writes its own log in it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time

from benchmarks.sides.driver_cpu import PARTS, driver_cpu
from benchmarks.sides.topic_feeder import TopicFeeder
from seine.errors import RunError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.runtime.output.sink import Sink
from seine.spark.session import open_session
from seine.spark.spark_host import run_on_spark

_TRAIL_SECONDS = 0.3
_MOST_SECONDS = 300.0  # for a micro-batch

Costs = dict[str, float]  # CPU seconds a micro-batch, by part of the driver


def run_side(arguments: list[str]) -> list[Costs]:
    """Run this side with command-line arguments: what a small and what a large micro-batch costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("script", "servers", "prefix"):
        parser.add_argument(name)
    for name in ("rows", "factor", "rounds", "warm"):
        parser.add_argument(name, type=int)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        rounds = _FedRounds(given)
        options = Options(
            out=os.path.join(folder, "out.jsonl"),
            checkpoint=os.path.join(folder, "checkpoint"),
            buckets=os.cpu_count() or 2,
            follow=True,
            progress=rounds.note,
        )
        run = Run(read_script(given.script), options)
        conductor = threading.Thread(target=rounds.conduct, args=(run,), daemon=True)
        conductor.start()
        try:
            run_on_spark(open_session(None, os.path.join(folder, "spark.log")), run)
        finally:
            rounds.feeder.kill()
            run.close()
        conductor.join()
    return rounds.means()


class _FedRounds:
    """Feeds lots in turn, and takes what each costs."""

    def __init__(self, given: argparse.Namespace) -> None:
        self._sizes = (given.rows, given.rows * given.factor)
        self._rounds, self._warm = given.rounds, given.warm
        self.feeder = TopicFeeder(given.servers, given.prefix, 2 * given.rows)
        self._taken: tuple[list[Costs], list[Costs]] = ([], [])
        self._read, self._moved = 0, threading.Condition()

    def note(self, sink: Sink) -> None:
        """A micro-batch is committed."""
        with self._moved:
            self._read = sink.totals.input_rows
            self._moved.notify_all()

    def conduct(self, run: Run) -> None:
        """All rounds; then stop the run."""
        try:
            sent = 0
            for number in range(self._rounds):
                for size, taken in zip(self._sizes, self._taken, strict=True):
                    self.feeder.prepare(size)
                    sent += 2 * size
                    cost = self._cost_until(sent)
                    if number >= self._warm:
                        taken.append(cost)
        finally:
            run.driver.stop()

    def _cost_until(self, rows: int) -> Costs:
        before = driver_cpu()
        self.feeder.show()
        with self._moved:
            if not self._moved.wait_for(lambda: self._read >= rows, _MOST_SECONDS):
                raise RunError("a micro-batch did not come to its end")
        time.sleep(_TRAIL_SECONDS)
        after = driver_cpu()
        return {part: after[part] - before[part] for part in PARTS}

    def means(self) -> list[Costs]:
        """What a micro-batch of each size costs."""
        return [_mean(taken) for taken in self._taken]


def _mean(taken: list[Costs]) -> Costs:
    """
    >>> _mean([{"Python": 1.0, "JVM": 0.0, "planners": 2.0}, {"Python": 3.0, "JVM": 0.0, "planners": 2.0}])
    {'Python': 2.0, 'JVM': 0.0, 'planners': 2.0}
    """
    if not taken:
        raise RunError("no micro-batch came in time")
    return {part: sum(cost[part] for cost in taken) / len(taken) for part in PARTS}


if __name__ == "__main__":
    print(json.dumps(run_side(sys.argv[1:])))
