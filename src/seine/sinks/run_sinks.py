"""The sinks of a run: they begin with its first record, and have its last when it ends.

Law: a run that was killed goes on with the same identities and positions, so that each target sees the
records once, as in a service. Without a folder that outlives it, a run that is started again is another one.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping

from seine.algebra.definitions import SinkDef
from seine.algebra.plan import Query
from seine.catalog.tables.stored import StoredSink
from seine.disk_sync import write_whole
from seine.errors import RunError
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import read_record
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.query_figures import SinkStatistics
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.sink_checks import STARTS_OVER
from seine.sinks.sink_thread import SinkThread
from seine.sinks.sink_threads import SinkStatus, SinkThreads
from seine.typed_json import write_json

MOST_SECONDS_STUCK = 600.0  # that the end of the input waits for a target that takes nothing
MOST_SECONDS_STOPPED = 10.0  # that a stop waits in all
_GOES_ON = "with the same --checkpoint it goes on from there"
_POLL_SECONDS = 0.02


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
