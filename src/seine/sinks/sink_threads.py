"""All sinks of a service or a run: each has a thread, a position and a target of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock

from seine.algebra.plan import Query
from seine.catalog import StoredSink
from seine.disk_sync import make_folder
from seine.intake.allowed_hosts import Hosts
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.folder_target import FolderTarget
from seine.sinks.kafka_target import KafkaTarget
from seine.sinks.record_piece import Waiting
from seine.sinks.sink_progress import MissedResults
from seine.sinks.sink_target import SinkTarget
from seine.sinks.sink_thread import SinkThread
from seine.sinks.undelivered_files import UndeliveredFiles
from seine.sinks.webhook_target import WebhookTarget


@dataclass(frozen=True)
class SinkStatus:
    """What a sink is doing: a `trouble` is why it cannot deliver, and since when."""

    sink: StoredSink
    records: int
    position: int
    lag: int
    trouble: tuple[str, str] | None
    undelivered: int  # records that were given up
    missed: MissedResults | None  # what was no longer kept when it came to it
    waiting: Waiting | None  # None while nothing waits


class SinkThreads:
    """Starts and ends the threads of sinks as these come and go."""

    def __init__(
        self,
        folder: str,
        undelivered: str,
        index: ResultIndex,
        secrets: OptionSecrets,
        keep: RetentionLimit | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """Of what could not be delivered so much is kept for each sink as `keep` says.

        Brokers are of `hosts`, if these are given.
        """
        self._folder, self._undelivered, self._index, self._secrets = folder, undelivered, index, secrets
        self._keep, self._hosts = keep, hosts
        self._lock = Lock()
        self._followed: Mapping[str, StoredSink] | None = None
        self._threads: dict[str, SinkThread] = {}  # by identity

    def follow(self, sinks: Mapping[str, StoredSink], query_of: Callable[[str], Query]) -> None:
        """Let these sinks deliver, and no others, for there may be more to deliver."""
        with self._lock:
            if sinks is not self._followed:
                self._followed = sinks
                self._start_and_stop({one.identity: one for one in sinks.values()}, query_of)
            for thread in self._threads.values():
                thread.wake()

    def _start_and_stop(self, standing: Mapping[str, StoredSink], query_of: Callable[[str], Query]) -> None:
        for identity in [*self._threads]:
            if identity not in standing:
                self._threads.pop(identity).stop()
        for identity, sink in standing.items():
            if identity not in self._threads:
                read = {name: query_of(name) for name in sink.definition.queries}
                opening = partial(open_target, sink, read, self._secrets, self._hosts)
                aside = UndeliveredFiles(os.path.join(self._undelivered, identity), self._keep)
                path, hide = self._path(identity), self._secrets.hide
                self._threads[identity] = SinkThread(sink, self._index, path, aside, opening, hide)

    def clear(self, sinks: Mapping[str, StoredSink]) -> None:
        """Remove the positions of sinks that are gone, and make a place for others, before all begins."""
        make_folder(self._folder)
        kept = {f"{one.identity}.json" for one in sinks.values()}
        for name in os.listdir(self._folder):
            if name not in kept:
                os.remove(os.path.join(self._folder, name))

    def states(self) -> list[SinkStatus]:
        """What each sink is doing, in the order of their creation."""
        return [_status(thread) for thread in [*self._threads.values()]]

    def behind(self) -> list[SinkThread]:
        """Those that have not delivered all that is committed."""
        return [thread for thread in self._threads.values() if thread.lag]

    def troubles(self) -> list[tuple[str, str | None]]:
        """The name of each sink, and why it cannot deliver if it cannot."""
        return [(one.sink.definition.name, one.trouble and one.trouble[0]) for one in self._threads.values()]

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            for thread in self._threads.values():
                thread.stop()
            for thread in self._threads.values():
                thread.join()

    def _path(self, identity: str) -> str:
        return os.path.join(self._folder, f"{identity}.json")


def _status(thread: SinkThread) -> SinkStatus:
    progress = thread.progress
    return SinkStatus(
        thread.sink,
        progress.records,
        progress.position,
        thread.lag,
        thread.trouble,
        progress.undelivered,
        progress.missed,
        thread.waiting(),
    )


def open_target(
    sink: StoredSink, queries: Mapping[str, Query], secrets: OptionSecrets, hosts: Hosts | None = None
) -> SinkTarget:
    """The target of a sink, which is not connected to yet; brokers are of `hosts`, if these are given."""
    if sink.definition.kind == "kafka":
        return KafkaTarget(sink, secrets, hosts)
    if sink.definition.kind == "webhook":
        return WebhookTarget(sink, secrets)
    if sink.definition.kind == "postgresql":
        from seine.sinks.postgres_target import PostgresTarget  # its driver is an extra

        return PostgresTarget(sink, queries, secrets)
    return FolderTarget(sink, queries)
