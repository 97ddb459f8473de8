"""A side: Seine on Spark, measured by the CPU time of its driver alone.

The driver is this process, of Spark's JVM the threads that plan and schedule, and the processes that plan
for Python sources; threads that run tasks, compile and collect garbage are not of it.
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
_PLANNER = "python_streaming_source_runner"


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
    """CPU seconds of the threads of the JVM that plan and schedule, and of the processes that plan for it."""
    total = 0.0
    for jvm in _children(str(os.getpid())):
        for thread in os.listdir(f"/proc/{jvm}/task"):
            name, used = _named_cpu(f"/proc/{jvm}/task/{thread}")
            total += used if name.startswith(_OF_DRIVER) else 0.0
        total += sum(_named_cpu(f"/proc/{child}")[1] for child in _children(jvm) if _plans(child))
    return total


def _named_cpu(folder: str) -> tuple[str, float]:
    """The name of a process or thread, and the CPU seconds that it has used; of one that has ended, none."""
    content = _content(f"{folder}/stat")
    if not content:
        return "", 0.0
    name, fields = content.split("(", 1)[1].rsplit(")", 1)
    return name, sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def _plans(process: str) -> bool:
    return _PLANNER in _content(f"/proc/{process}/cmdline")


def _children(process: str) -> list[str]:
    """The processes that any thread of a process has started."""
    threads = os.listdir(f"/proc/{process}/task")
    return " ".join(_content(f"/proc/{process}/task/{thread}/children") for thread in threads).split()


def _content(path: str) -> str:
    """A file of /proc; empty if what it is about has ended."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
