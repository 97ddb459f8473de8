"""A side: Nexmark's queries on Flink, one after the other in one process, which is warm.

State is in RocksDB, checkpoints are exactly-once and every second, two subtasks; results are JSON in files,
of changelogs as Debezium writes them. Of each query two jobs over the first events come first: one to become
warm, and one for what starting takes; the cost is that of a job over all events beyond the second of them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from benchmarks.harness.measure import tree_cpu
from benchmarks.harness.side import announce
from benchmarks.nexmark import flink_job
from benchmarks.nexmark.flink_queries import CHANGING, flink_text

_COLUMNS = {
    "person": "id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING,"
    " {time}",
    "auction": "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, {time},"
    " expires TIMESTAMP_LTZ(3), seller BIGINT, category BIGINT",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, {time}",
}
_TIME = "date_time TIMESTAMP_LTZ(3), extra STRING, WATERMARK FOR date_time AS date_time - INTERVAL '4' SECOND"
_JSON = "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'"


@dataclass(frozen=True)
class JobCost:
    """What a job took, in seconds; the reason if it failed."""

    wall: float
    cpu: float
    failure: str | None


class Place(NamedTuple):
    """A folder of events, and one of the first of them."""

    whole: Path
    first: Path


def run_flink(
    python: str, queries: Mapping[str, Place], parallelism: int = 2
) -> Iterator[tuple[str, JobCost]]:
    """The cost of each query over its events, beyond what it costs over the first of them."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as out:
        folders = sorted({folder for place in queries.values() for folder in place})
        databases = {folder: f"events_{number}" for number, folder in enumerate(folders)}
        request = {
            "settings": settings(out, parallelism),
            "tables": [text for folder, name in databases.items() for text in tables(name, folder)],
            "jobs": [job for query, place in queries.items() for job in _jobs(query, place, databases, out)],
        }
        taken: list[JobCost] = []
        for number, (_, cost) in enumerate(carried(python, request)):
            taken.append(cost)
            if number % 3 == 2:
                yield list(queries)[number // 3], _beyond(*taken[-2:])


def _beyond(first: JobCost, whole: JobCost) -> JobCost:
    return JobCost(whole.wall - first.wall, whole.cpu - first.cpu, first.failure or whole.failure)


def carried(
    python: str, request: object, environment: Mapping[str, str] = os.environ, seconds: int | None = None
) -> Iterator[tuple[str, JobCost]]:
    """The cost of each job, by the clocks when the process says that it begins and ends.

    With a limit of time, jobs that have not ended by then are left out.
    """
    with (
        subprocess.Popen(
            [python, flink_job.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={name: value for name, value in environment.items() if name != "PYTHONPATH"},
            start_new_session=True,  # to be ended with its JVM
        ) as process,
        _ended_after(process, seconds),
    ):
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        began = (0.0, 0.0)
        for line in process.stdout:
            said = json.loads(line) if line.startswith("{") else {}
            now = (time.monotonic(), tree_cpu(process.pid))
            if "begins" in said:
                began = now
                announce(f"Flink, {said['begins']}")
            elif "ends" in said:
                if said["failure"]:
                    announce(f"Flink cannot run {said['ends']}: {said['failure']}")
                yield said["ends"], JobCost(now[0] - began[0], now[1] - began[1], said["failure"])


@contextmanager
def _ended_after(process: subprocess.Popen[str], seconds: int | None) -> Iterator[None]:
    """End a process and what it has started when the time is over."""
    timer = Timer(seconds or 0, lambda: os.killpg(process.pid, signal.SIGKILL))
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def settings(out: str, parallelism: int) -> dict[str, str]:
    return {
        "parallelism.default": str(parallelism),
        "state.backend.type": "rocksdb",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": f"file://{out}/checkpoints",
        "restart-strategy.type": "none",
        "table.local-time-zone": "UTC",
        "taskmanager.memory.managed.size": "512m",
    }


def tables(database: str, folder: Path) -> list[str]:
    """A database with the streams as tables, and the side input."""
    made = [
        f"CREATE TABLE {name} ({columns.format(time=_TIME)}) WITH ({files_at(folder / name)}, {_JSON})"
        for name, columns in _COLUMNS.items()
    ]
    side = f"{files_at(folder / 'side_input.jsonl')}, 'format' = 'json'"
    made.append(f"CREATE TABLE side_input (`key` BIGINT, `value` STRING) WITH ({side})")
    return [f"CREATE DATABASE {database}", f"USE {database}", *made]


def _jobs(query: str, place: Place, databases: Mapping[Path, str], out: str) -> list[tuple[str, str, str]]:
    """Two jobs over the first events, and one over all: the name of each, its database and its statement."""
    parts = {"to be warm": place.first, "first events": place.first, "all events": place.whole}
    return [
        (
            f"{query}, {part}",
            databases[at],
            _statement(f"{query}_{number}", query, Path(out, f"{query}_{number}")),
        )
        for number, (part, at) in enumerate(parts.items())
    ]


def _statement(table: str, query: str, path: Path) -> str:
    """What writes the answer of a query to files."""
    form = "debezium-json" if query in CHANGING else "json"
    return f"CREATE TABLE {table} WITH ({files_at(path)}, 'format' = '{form}') AS {flink_text(query)}"


def files_at(path: Path) -> str:
    return f"'connector' = 'filesystem', 'path' = 'file://{path}'"
