"""Wall and CPU time of micro-batches, over the whole tree of processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """The clocks at the end of a micro-batch, and the rows read by then."""

    batch: int
    wall: float
    cpu: float
    rows: int


@dataclass(frozen=True)
class Pace:
    """Throughput between two marks."""

    batches: int
    rows_per_second: float
    cpu_per_million: float
    seconds_per_batch: float


def mark(batch: int, rows: int) -> Mark:
    return Mark(batch, time.monotonic(), tree_cpu(os.getpid()), rows)


def pace(marks: list[Mark], first: int) -> Pace:
    """The pace from batch `first` to the last mark: what came before is warming up."""
    start = next(m for m in marks if m.batch >= first)
    end = marks[-1]
    rows, wall = end.rows - start.rows, end.wall - start.wall
    batches = end.batch - start.batch
    return Pace(batches, rows / wall, (end.cpu - start.cpu) / rows * 1e6, wall / batches)


def tree_cpu(root: int) -> float:
    """CPU seconds used so far by a process and all its descendants, as Linux tells them."""
    tick = os.sysconf("SC_CLK_TCK")
    parent: dict[int, int] = {}
    used: dict[int, float] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parent[int(name)] = int(fields[1])
        used[int(name)] = (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / tick
    return sum(seconds for pid, seconds in used.items() if _descends(pid, root, parent))


def _descends(pid: int, root: int, parent: dict[int, int]) -> bool:
    while pid != root and pid in parent:
        pid = parent[pid]
    return pid == root


class Watch(threading.Thread):
    """Marks every new batch that `look` tells of: (batch number, rows so far)."""

    def __init__(self, look: Callable[[], tuple[int, int] | None]) -> None:
        super().__init__(daemon=True)
        self.marks: list[Mark] = []
        self._look = look
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.02):
            seen = self._look()
            if seen and (not self.marks or seen[0] > self.marks[-1].batch):
                self.marks.append(mark(*seen))

    def stop(self) -> list[Mark]:
        self._done.set()
        self.join()
        return self.marks
