"""A side: a service on Spark, as `seine serve` runs it, with and without concurrent registrations.

Stretches without and with registrations come in the order without, with, with, without, so that a steady
drift falls on both alike. Input is always available. At the beginning of a stretch a few batches are not
counted, because their entries were written before it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields

from benchmarks.harness.measure import Mark
from benchmarks.sides.commit_recorder import CommitRecorder, Wait, waits
from benchmarks.sides.registering_client import RegisteringClient
from benchmarks.workloads.seeds import named_queries, queries
from benchmarks.workloads.transfers import DECLARATION, make_transfers, write_transfers
from seine.service.access.allow_list import AllowList
from seine.service.client import Client
from seine.service.folder import ServiceFolder
from seine.service.http.listening import Listening
from seine.service.http.server import Server
from seine.service.service import Service, ServiceOptions

STRETCHES = (False, True, True, False)  # whether queries are registered meanwhile
_SETTLING_BATCHES = 2  # batches: the entries that wait in the journal
_SPARE_FILES = 4  # files beyond the last batch that counts, so that intake never runs dry
_OTHER_QUERIES = 1_000  # queries to register, more than there is time for
_OTHER_SEED = 8

Host = Callable[[Service, str], None]


@dataclass(frozen=True)
class Size:
    """`standing` queries; `warm` micro-batches, then stretches of `batches`; a new query each `interval`."""

    standing: int
    batch_rows: int
    warm: int
    batches: int
    interval: float

    @property
    def all_batches(self) -> int:
        return self.warm + len(STRETCHES) * (_SETTLING_BATCHES + self.batches)


@dataclass(frozen=True)
class ServiceStretch:
    """Consecutive micro-batches and their cost; `changes` counts the changes that were made meanwhile."""

    busy: bool
    batches: int
    rows: int
    wall: float
    cpu: float
    changes: int


@dataclass(frozen=True)
class Live:
    """The stretches, the waits of queries for their first results, and the seconds of each change."""

    stretches: list[ServiceStretch]
    waits: list[Wait]
    changes: list[float]


def run_side(size: Size, host: Host | None = None) -> Live:
    """Run a service over generated transfers in a temporary folder; by default on Spark."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as work:
        write_transfers(
            work, make_transfers((size.all_batches + _SPARE_FILES) * size.batch_rows), size.batch_rows
        )
        recorder = CommitRecorder()
        options = ServiceOptions(
            size.batch_rows, os.cpu_count() or 2, progress=recorder, reach=AllowList((work,))
        )
        service = Service(ServiceFolder(os.path.join(work, "service")), options)
        try:
            return _measure(service, recorder, work, size, host or on_spark)
        finally:
            service.close()


def _measure(service: Service, recorder: CommitRecorder, work: str, size: Size, host: Host) -> Live:
    standing = DECLARATION.format(folder=work) + queries(size.standing)
    service.registrar.register(standing, file="queries", folder=work)
    others = ((f"more_{name}", text) for name, text in named_queries(_OTHER_QUERIES, seed=_OTHER_SEED))
    server = Server(service, Listening())
    client = RegisteringClient(Client(server.url), recorder, others, size.interval)

    def plan() -> list[ServiceStretch]:
        try:
            recorder.wait(size.warm)
            return [_stretch(recorder, client, busy, size.batches) for busy in STRETCHES]
        finally:
            service.stop()

    try:
        with ThreadPoolExecutor(1, "plan") as pool:
            planned = pool.submit(plan)
            try:
                host(service, os.path.join(work, "spark.log"))
            finally:
                recorder.end()
        return Live(planned.result(), waits(client.awaited, recorder.firsts), client.seconds)
    finally:
        server.close()


def on_spark(service: Service, log: str) -> None:
    """Run a service on Spark until it is stopped."""
    from seine.spark.session import open_session
    from seine.spark.spark_host import run_on_spark

    run_on_spark(open_session(None, log), service)


def _stretch(recorder: CommitRecorder, client: RegisteringClient, busy: bool, batches: int) -> ServiceStretch:
    begin = recorder.batches + _SETTLING_BATCHES
    changes = []
    for batch in (begin, begin + batches):
        if busy:
            client.work(until=batch)
        recorder.wait(batch)
        changes.append(len(client.seconds))
    return between(recorder.marks, begin, begin + batches, busy, changes[1] - changes[0])


def between(marks: Sequence[Mark], begin: int, end: int, busy: bool, changes: int) -> ServiceStretch:
    """The cost of the micro-batches after `begin` up to `end`."""
    first, last = (next(mark for mark in marks if mark.batch == batch) for batch in (begin, end))
    rows, wall, cpu = last.rows - first.rows, last.wall - first.wall, last.cpu - first.cpu
    return ServiceStretch(busy, end - begin, rows, wall, cpu, changes)


def main(arguments: list[str]) -> Live:
    """Run this side with the fields of `Size` as command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    for field in fields(Size):
        parser.add_argument(field.name, type=float if field.name == "interval" else int)
    return run_side(Size(**vars(parser.parse_args(arguments))))


if __name__ == "__main__":
    print(json.dumps(asdict(main(sys.argv[1:]))))
