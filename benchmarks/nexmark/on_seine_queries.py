"""A side: scripts on Seine, one after the other in one process, which is warm, as Flink's is.

Standard input names them, a JSON list of [name, script, rows of a micro-batch, micro-batches to leave out];
a line with its cost is printed when each has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from benchmarks.harness.measure import BatchCost, TreeClock, pace
from benchmarks.harness.side import announce
from benchmarks.sides.on_seine import run_seine
from seine.errors import RunError

Job = tuple[str, str, int, int]  # name, script, rows of a micro-batch, micro-batches to leave out


def run_scripts(jobs: Sequence[Job]) -> Iterator[tuple[str, BatchCost]]:
    """The cost of each script; the first is run once before, and that is not counted."""
    warming = (f"{jobs[0][0]}, to be warm", *jobs[0][1:])
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([warming, *jobs]))
        process.stdin.close()
        for number, line in enumerate(process.stdout):
            said = json.loads(line)
            if number:
                yield said["name"], BatchCost(**said["cost"])
    if process.returncode:
        raise RunError("a script failed on Seine's side of the benchmark")


def run_scripts_here(jobs: Sequence[Job]) -> Iterator[tuple[str, BatchCost]]:
    """The same in this process, where time is short."""
    for name, script, rows, warm in jobs:
        announce(f"Seine, {name}")
        yield name, pace(run_seine(script, rows, clocks=TreeClock(os.getpid()).mark), warm)


def main() -> None:
    """Run the scripts that standard input names."""
    for name, cost in run_scripts_here(json.load(sys.stdin)):
        print(json.dumps({"name": name, "cost": asdict(cost)}), flush=True)


if __name__ == "__main__":
    main()
