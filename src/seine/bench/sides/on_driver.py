"""A side: Seine on Spark, measured by the CPU time of its driver alone.

The driver is this process, and of Spark's JVM the threads that plan and schedule; those that run tasks,
compile and collect garbage are not of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from seine.bench.harness.measure import BatchCost, Mark, pace
from seine.bench.harness.side import print_cost
from seine.bench.sides.on_seine import run_seine

# Names of threads are cut off after 15 characters.
_OF_DRIVER = (
    "stream executio",
    "dag-scheduler-e",
    "task-result-get",
    "dispatcher-even",
    "Thread-",
    "kafka-admin",
)


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script")
    parser.add_argument("batch_rows", type=int)
    parser.add_argument("warm", type=int)
    given = parser.parse_args(arguments)
    return pace(run_seine(given.script, given.batch_rows, clocks=_mark), given.warm)


def _mark(batch: int, rows: int, out: int) -> Mark:
    return Mark(batch, time.monotonic(), time.process_time() + _planning_cpu(), rows, out)


def _planning_cpu() -> float:
    """CPU seconds of the threads of the JVM that plan and schedule."""
    tick, total = os.sysconf("SC_CLK_TCK"), 0.0
    for child in _children(os.getpid()):
        for thread in os.listdir(f"/proc/{child}/task"):
            with open(f"/proc/{child}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
                name, fields = file.read().split("(", 1)[1].rsplit(")", 1)
            if name.startswith(_OF_DRIVER):
                total += sum(map(int, fields.split()[11:13])) / tick
    return total


def _children(process: int) -> list[str]:
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return file.read().split()


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
