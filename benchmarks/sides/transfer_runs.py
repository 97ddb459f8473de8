"""A data set in files, scripts over a stretch of it, and runs in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict

from benchmarks.sides.on_network import NetworkFigures, Stretch, run_side
from benchmarks.workloads.data_sets import FED, DataSet
from seine.errors import RunError

Side = Callable[[list[str]], NetworkFigures]


class Workload:
    """Rows of a data set as files of `batch_rows` rows in a folder; the first `history` ones are history."""

    def __init__(self, folder: str, rows: int, history: int, batches: int, data: DataSet = FED) -> None:
        self.folder = folder
        self.data = data
        self.batch_rows = -(-(rows - history) // batches)
        self.batches = batches
        self.history = -(-history // self.batch_rows)
        data.write(folder, rows, self.batch_rows)
        self.batches = min(batches, len(self._names()) - self.history)

    def whole(self, sample: int) -> Stretch:
        """The stretch of all history and all batches that follow."""
        return Stretch(self.batch_rows, self.history, self.batches, min(sample, self.batches))

    def recent(self, history: int, sample: int) -> Stretch:
        """The stretch of the last files of the history and the first batches that follow."""
        sample = min(sample, self.batches)
        return Stretch(self.batch_rows, min(history, self.history), sample, sample)

    def script(self, name: str, stretch: Stretch, queries: str) -> str:
        """Write a script of these queries over the files of a stretch; returns its path."""
        part, stream = os.path.join(self.folder, name), self.data.stream
        os.makedirs(os.path.join(part, stream))
        first = self.history - stretch.history
        for file in self._names()[first : self.history + stretch.batches]:
            os.symlink(os.path.join(self.folder, stream, file), os.path.join(part, stream, file))
        path = os.path.join(part, "queries.sql")
        with open(path, "w", encoding="utf-8") as script:
            script.write(self.data.declaration.format(folder=part) + queries)
        return path

    def _names(self) -> list[str]:
        return sorted(os.listdir(os.path.join(self.folder, self.data.stream)))


def words(title: str, configuration: str, script: str, stretch: Stretch) -> list[str]:
    """The command-line arguments of the side `on_network`."""
    return [title, configuration, script, *map(str, asdict(stretch).values())]


def side_apart(arguments: list[str]) -> NetworkFigures:
    """Measure in a fresh process, so that configurations cannot warm up or slow down one another."""
    command = [sys.executable, "-m", "benchmarks.sides.on_network", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RunError(f"the side '{arguments[0]}' failed")
    return NetworkFigures(**json.loads(done.stdout.splitlines()[-1]))


side_together: Side = run_side
