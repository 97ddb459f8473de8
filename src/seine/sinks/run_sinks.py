"""The sinks of a run: they begin with its first record, and have its last when it ends.

Law: a run that was killed goes on with the same identities and positions, so that each target sees the
records once, as in a service. Without a folder that outlives it, a run that is started again is another one.

What is checked of a sink before it stands, in a run and in a service alike.

What is checked of a sink into a table before it stands.
"""

from __future__ import annotations

import importlib.util
import os
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

from seine.algebra.definitions import SinkDef
from seine.algebra.plan import Query
from seine.catalog import StoredSink
from seine.disk_sync import write_whole
from seine.errors import RunError, SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.network.plan.output_form import form_of
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import read_record
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.overwriting import refuse_inside, refuse_overwriting
from seine.runtime.output.query_figures import SinkStatistics
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.kafka_client import refuse_without_client
from seine.sinks.sink_thread import SinkThread
from seine.sinks.sink_threads import SinkStatus, SinkThreads
from seine.typed_json import write_json

MOST_SECONDS_STUCK = 600.0  # that the end of the input waits for a target that takes nothing
MOST_SECONDS_STOPPED = 10.0  # that a stop waits in all
STARTS_OVER = "a run that is started again delivers everything to its sinks once more"
_GOES_ON = "with the same --checkpoint it goes on from there"
_POLL_SECONDS = 0.02


def refuse_unfit_in_run(
    sinks: Mapping[str, SinkDef],
    queries: Mapping[str, Query],
    read: Sequence[str],
    state: str | None,
    secrets: OptionSecrets,
) -> None:
    """Refuse sinks that could never deliver, that need a secret which is nowhere, or lie in the `state`."""
    refuse_too_many(len(sinks))
    for sink in sinks.values():
        refuse_unfit(sink, queries, read)
        if sink.kind == "folder" and state is not None:
            refuse_inside(state, sink.target)
        secrets.values(f"sink {sink.name}", sink.options)


class RunSinks:
    """Delivers for all sinks of a run while it goes on."""

    def __init__(
        self,
        deployment: Deployment,
        sinks: Mapping[str, SinkDef],
        queries: Mapping[str, Query],
        index: ResultIndex,
        secrets: OptionSecrets,
        notice: Callable[[str], None],
        *,
        lasting: bool,
        keep: RetentionLimit | None = None,
    ) -> None:
        """`lasting` is a folder that the next process finds again. `notice` hears which target is down.

        Of what could not be delivered so much is kept as `keep` says.
        """
        self._lasting, self._notice = lasting, notice
        self._down: set[str] = set()  # sinks whose trouble was told
        identities = _identities(deployment.sink_identities, sinks)
        self._sinks = {key: StoredSink(sink, identities[key], 0) for key, sink in sinks.items()}
        self._queries = queries
        self._threads = SinkThreads(deployment.sinks, deployment.undelivered, index, secrets, keep)
        self._threads.clear(self._sinks)
        self.wake()

    def wake(self) -> None:
        """There may be more to deliver."""
        self._threads.follow(self._sinks, lambda name: self._queries[name.lower()])
        self._tell_trouble()

    def _tell_trouble(self) -> None:
        """Say once of each sink that its target is down, and once that it is back."""
        for name, trouble in self._threads.troubles():
            if trouble is not None and name not in self._down:
                self._notice(f"sink {name} cannot deliver, and tries again: {trouble}")
                self._down.add(name)
            elif trouble is None and name in self._down:
                self._notice(f"sink {name} goes on")
                self._down.remove(name)

    def states(self) -> list[SinkStatus]:
        """What each sink is doing."""
        return self._threads.states()

    def statistics(self) -> dict[str, SinkStatistics]:
        """What each sink has delivered, and given up."""
        states = self._threads.states()
        return {
            one.sink.definition.name: SinkStatistics(
                one.records, one.undelivered, 0 if one.missed is None else one.missed.bytes
            )
            for one in states
        }

    def finish(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until all is delivered; when stopped, only for a moment. A sink that cannot is a RunError.

        A target may take as long as it wants while it takes something.
        """
        for thread in self._drain(is_stopped):
            reason = f": {thread.trouble[0]}" if thread.trouble else ""
            message = f"sink {thread.sink.definition.name} has not delivered all{reason}"
            hint = _GOES_ON if self._lasting else STARTS_OVER
            if not is_stopped():
                raise RunError(message, hint=hint)
            self._notice(f"{message}; {hint}")
        for name, sink in self.statistics().items():
            if sink.missed_bytes:
                gone = f"{sink.missed_bytes:,} bytes of results were no longer kept"
                self._notice(f"sink {name} was too far behind: {gone}")

    def _drain(self, is_stopped: Callable[[], bool]) -> list[SinkThread]:
        """Those that have not got all when patience is over."""
        patience = _Patience(is_stopped)
        while (behind := self._threads.behind()) and patience.goes_on(behind):
            self._tell_trouble()
            time.sleep(_POLL_SECONDS)
        self._tell_trouble()
        return behind

    def close(self) -> None:
        """End after the pieces that are being delivered."""
        self._threads.close()


class _Patience:
    """Says how long those that are behind are waited for."""

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped
        self._positions: list[int] = []
        self._moved = time.monotonic()
        self._stopped: float | None = None  # since when

    def goes_on(self, behind: list[SinkThread]) -> bool:
        """Whether to wait on for these."""
        now = time.monotonic()
        positions = [thread.progress.position for thread in behind]
        if positions != self._positions or all(thread.trouble is None for thread in behind):
            self._positions, self._moved = positions, now
        if self._is_stopped():
            self._stopped = self._stopped or now
            return now - self._stopped < MOST_SECONDS_STOPPED
        return now - self._moved < MOST_SECONDS_STUCK


def _identities(path: str, sinks: Mapping[str, SinkDef]) -> dict[str, str]:
    """Who the sinks are; noted before any of them delivers."""
    if not os.path.exists(path):
        write_whole(path, write_json({key: uuid.uuid4().hex for key in sinks}))
    return read_record(path, dict[str, str])


_MOST_SINKS = 200  # each has a thread


def refuse_too_many(sinks: int) -> None:
    """Refuse more sinks than there may be threads."""
    if sinks > _MOST_SINKS:
        raise SeineError(f"{sinks} sinks are more than {_MOST_SINKS}", hint="one sink may read many queries")


def refuse_unfit(sink: SinkDef, queries: Mapping[str, Query], read: Iterable[str]) -> None:
    """Refuse what could never deliver, and a folder whose files would be `read` as a source.

    `queries` are by lower-case name.
    """
    if sink.kind == "folder":
        refuse_overwriting([os.path.join(sink.target, "part")], read)
    if sink.kind == "kafka":
        refuse_without_client(sink.name)
    if sink.kind == "postgresql":
        refuse_unfit_tables(sink, [queries[name.lower()] for name in sink.queries])


def refuse_unfit_tables(sink: SinkDef, queries: Sequence[Query]) -> None:
    """Refuse a sink whose driver is not installed, and records of two kinds of time in one table."""
    if importlib.util.find_spec("psycopg") is None:
        raise SeineError(
            f"sink {sink.name} needs the package psycopg", hint="pip install 'seine-streams[postgres]'"
        )
    if len({form_of(query).domain for query in queries}) > 1:
        raise SeineError(
            f"sink {sink.name}: one table cannot have times that are TIMESTAMP and times that are numbers",
            hint="make two sinks",
        )
