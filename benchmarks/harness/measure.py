"""Wall-clock and CPU time of micro-batches, summed over a process and its descendants."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Mark:
    """The clocks at the end of a micro-batch (numbered from 1), and the rows read and written so far."""

    batch: int
    wall: float
    cpu: float
    rows: int
    out: int


@dataclass(frozen=True)
class BatchCost:
    """The mean cost of the micro-batches between two marks; `total_out` counts from the start of the run."""

    batches: int
    rows_per_second: float
    cpu_per_million: float
    seconds_per_batch: float
    cpu_per_batch: float
    out_per_batch: float
    total_out: int


def mark(batch: int, rows: int, out: int) -> Mark:
    """A mark of now: the clocks of this process and its descendants."""
    return Mark(batch, time.monotonic(), tree_cpu(os.getpid()), rows, out)


def pace(marks: list[Mark], warm: int) -> BatchCost:
    """The cost from the end of batch `warm` to the last mark; the batches before it are for warming up.

    >>> marks = [Mark(1, 9.0, 20.0, 100, 7), Mark(2, 11.0, 23.0, 300, 9), Mark(3, 12.0, 25.0, 400, 13)]
    >>> measured = pace(marks, 1)
    >>> measured.batches, measured.rows_per_second, measured.seconds_per_batch, measured.cpu_per_batch
    (2, 100.0, 1.5, 2.5)
    """
    start = next((m for m in marks if m.batch >= warm), None)
    if start is None or start is marks[-1]:
        raise ValueError(f"{len(marks)} micro-batches are too few to leave out {warm} and measure the rest")
    end = marks[-1]
    batches, rows = end.batch - start.batch, end.rows - start.rows
    wall, cpu = end.wall - start.wall, end.cpu - start.cpu
    return BatchCost(
        batches=batches,
        rows_per_second=rows / wall,
        cpu_per_million=cpu / rows * 1e6,
        seconds_per_batch=wall / batches,
        cpu_per_batch=cpu / batches,
        out_per_batch=(end.out - start.out) / batches,
        total_out=end.out,
    )


class _Process(NamedTuple):
    parent: int
    start: str
    own_cpu: float  # CPU seconds
    children_cpu: float  # those of children that have ended and were waited for


def tree_cpu(root: int) -> float:
    """CPU seconds used so far by a process and all its descendants, from Linux's `/proc`."""
    return sum(one.own_cpu + one.children_cpu for one in _tree(root).values())


def _tree(root: int) -> dict[int, _Process]:
    """A process and its descendants by their ids."""
    known: dict[int, _Process] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        own_cpu, children_cpu = (sum(map(int, fields[at : at + 2])) / tick for at in (11, 13))
        known[int(name)] = _Process(int(fields[1]), fields[19], own_cpu, children_cpu)
    parents = {pid: one.parent for pid, one in known.items()}
    return {pid: one for pid, one in known.items() if _descends(pid, root, parents)}


class TreeClock:
    """CPU seconds of a process and its descendants; what ended ones had used, when last looked at, stays.

    `tree_cpu` forgets them where their parent has ended too, as in a process with one Spark query after
    another.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._used: dict[tuple[int, str], float] = {}  # by process id and start, for ids are used again

    def mark(self, batch: int, rows: int, out: int) -> Mark:
        """A mark of now."""
        for pid, one in _tree(self._root).items():
            self._used[pid, one.start] = one.own_cpu
        return Mark(batch, time.monotonic(), sum(self._used.values()), rows, out)


def _descends(pid: int, root: int, parent: dict[int, int]) -> bool:
    while pid != root and pid in parent:
        pid = parent[pid]
    return pid == root
