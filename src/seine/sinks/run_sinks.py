"""The sinks of a run: they begin with its first record, and have its last when it ends.

Law: a run that was killed goes on with the same identities and positions, so that each target sees the
records once, as in a service. Without a folder that outlives it, a run that is started again is another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from seine.errors import RunError
from seine.runtime.output.query_figures import SinkStatistics
from seine.sinks.sink_checks import STARTS_OVER
from seine.sinks.sink_thread import SinkThread
from seine.sinks.sink_threads import SinkThreads

MOST_SECONDS_STUCK = 600.0  # that the end of the input waits for a target that takes nothing
MOST_SECONDS_STOPPED = 10.0  # that a stop waits in all
_GOES_ON = "with the same --checkpoint it goes on from there"
_POLL_SECONDS = 0.02


class RunSinks:
    """Tells of the sinks of a run, and lets it end when they have everything."""

    def __init__(self, threads: SinkThreads, notice: Callable[[str], None], *, lasting: bool) -> None:
        """`lasting` is a folder that the next process finds again. `notice` hears which target is down."""
        self._threads, self._lasting, self._notice = threads, lasting, notice
        self._down: set[str] = set()  # sinks whose trouble was told

    def tell_trouble(self) -> None:
        """Say once of each sink that its target is down, and once that it is back."""
        for name, trouble in self._threads.troubles():
            if trouble is not None and name not in self._down:
                self._notice(f"sink {name} cannot deliver, and tries again: {trouble}")
                self._down.add(name)
            elif trouble is None and name in self._down:
                self._notice(f"sink {name} goes on")
                self._down.remove(name)

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
            self.tell_trouble()
            time.sleep(_POLL_SECONDS)
        self.tell_trouble()
        return behind


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
