"""Memory, disk and CPU time of a service, and how long lines wait for their results, as time goes by."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
import urllib.error
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.soak.reading import read_records
from tests.support.service_process import ServiceProcess

_PAUSE_SECONDS = 5.0
_POLL_SECONDS = 2.0
_HEAP_SECONDS = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")
DISK_PARTS = ("results", "journal", "networks", "spark", "catalog", "audit", "other")


@dataclass(frozen=True)
class Sample:
    """Figures at an instant: bytes of memory and of disk, and what was used up to then."""

    second: float
    driver: int
    jvm: int
    workers: int
    disk: dict[str, int]
    cpu_seconds: float
    rows: int
    heap: int | None = None  # of the JVM's memory what lives, after a collection; of few samples

    @property
    def memory(self) -> int:
        return self.driver + self.jvm + self.workers

    @property
    def disk_bytes(self) -> int:
        """All but the audit log, which has a line for each change and ends with its tenth file."""
        return sum(size for part, size in self.disk.items() if part != "audit")


class Sampler(threading.Thread):
    """Looks at the service every few seconds, through all its restarts."""

    def __init__(self, service: ServiceProcess, rows: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self.samples: list[Sample] = []
        self._service, self._rows = service, rows
        self._begin = time.monotonic()
        self._closed = threading.Event()
        self._cpu: dict[int, float] = {}  # of each process that was seen
        self._next_heap = 0.0

    def run(self) -> None:
        while not self._closed.wait(_PAUSE_SECONDS):
            self.samples.append(self._look())

    def close(self) -> None:
        self._closed.set()
        self.join()

    def _look(self) -> Sample:
        driver = self._service.process.pid
        below = self._service.below()
        for pid in (driver, *(one.pid for one in below)):
            self._cpu[pid] = max(_cpu_seconds(pid), self._cpu.get(pid, 0.0))
        machines = [one.pid for one in below if "java" in one.command]
        jvm = sum(map(_memory, machines))
        workers = sum(_memory(one.pid) for one in below if "java" not in one.command)
        return Sample(
            time.monotonic() - self._begin,
            _memory(driver),
            jvm,
            workers,
            disk_parts(self._service.state),
            sum(self._cpu.values()),
            self._rows(),
            self._live_heap(machines),
        )

    def _live_heap(self, machines: Sequence[int]) -> int | None:
        """What lives in the heap of the only JVM, once a minute; None if it cannot be known now."""
        now = time.monotonic()
        if len(machines) != 1 or now < self._next_heap:
            return None
        self._next_heap = now + _HEAP_SECONDS
        return live_heap(machines[0])


class WaitWatch(threading.Thread):
    """Tails a query that reports every line of a stream: how long does each wait?"""

    def __init__(self, state: Path, query: str, position: str) -> None:
        super().__init__(daemon=True)
        self._state, self._query, self._position = state, query, position
        self._closed = threading.Event()
        self._begin = time.monotonic()
        self.written: dict[int, float] = {}  # when each id that was not read yet was written
        self.waits: list[tuple[float, float]] = []  # when a line was readable, and how long it had waited

    def run(self) -> None:
        while not self._closed.is_set():
            try:
                self._read()
            except (OSError, ValueError, urllib.error.HTTPError):  # nobody serves at the moment
                time.sleep(0.2)

    def close(self) -> None:
        self._closed.set()
        self.join()

    def _read(self) -> None:
        records, self._position = read_records(self._state, self._query, self._position, _POLL_SECONDS)
        now = time.monotonic()
        for record in records:
            written = self.written.pop(record["row"]["id"], None)
            if written is not None:
                self.waits.append((now - self._begin, now - written))


def disk_parts(state: Path) -> dict[str, int]:
    """The bytes of a service's folder, by what they are for."""
    parts = dict.fromkeys(DISK_PARTS, 0)
    for folder, _, names in os.walk(state):
        for name in names:
            path = Path(folder, name)
            try:
                parts[_part(path.relative_to(state))] += path.stat().st_size
            except OSError:  # it is gone meanwhile
                continue
    return parts


def _part(path: Path) -> str:
    first = path.parts[1] if path.parts[0] == "pipeline" and len(path.parts) > 1 else path.parts[0]
    for part in DISK_PARTS:
        if first.startswith(part) or (part == "results" and first.startswith(("result_index", "dead"))):
            return part
    return "other"


def _memory(pid: int) -> int:
    """Bytes of memory, of shared pages its share; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def live_heap(pid: int) -> int | None:
    """Bytes of the heap of a JVM after a collection; None without the tool of a JDK, or if it has ended."""
    home = os.environ.get("JAVA_HOME")
    tool = shutil.which("jcmd", path=os.path.join(home, "bin") if home else None)
    if tool is None:
        return None
    answers = [
        subprocess.run([tool, str(pid), command], capture_output=True, text=True, check=False, timeout=60)
        for command in ("GC.run", "GC.heap_info")
    ]
    used = re.findall(r" total \d+K, used (\d+)K", answers[-1].stdout)  # of each generation
    return sum(map(int, used)) << 10 if used else None


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
