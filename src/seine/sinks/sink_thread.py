"""The thread of one sink: it delivers what is committed, and tries again while its target is down."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from seine.backoff import Backoff
from seine.catalog.tables.stored import StoredSink
from seine.errors import SeineError, printable
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.delivery import Delivery, UndeliveredFiles
from seine.sinks.record_piece import Waiting, waiting
from seine.sinks.sink_progress import SinkProgress, SinkTarget
from seine.storage.log import Register

_logger = logging.getLogger(__name__)

_RETRY_SECONDS = 0.5, 60.0  # the shortest and the longest pause between two tries
_MOST_SECONDS_ASLEEP = 3600.0  # then a target may keep alive what it needs
_MOST_SECONDS_TO_END = 10.0  # that the end of a service waits for a piece that is being written

OpenTarget = Callable[[], SinkTarget]
Hide = Callable[[str], str]  # takes secrets out of a text


class SinkThread:
    """Delivers for one sink until it is stopped. A target that is slow or down keeps nobody else waiting."""

    def __init__(
        self,
        sink: StoredSink,
        index: ResultIndex,
        progress: Register,
        undelivered: UndeliveredFiles,
        open_target: OpenTarget,
        hide: Hide,
    ) -> None:
        self.sink = sink
        self._hide, self._undelivered, self._tries = hide, undelivered, 0
        self.trouble: tuple[str, str] | None = None  # why it cannot deliver, and since when
        self._index, self._register, self._open_target = index, progress, open_target
        self._delivery: Delivery | None = None
        self._at_first = SinkProgress(sink.start)
        self._news, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"sink {sink.definition.name}", daemon=True)
        self._thread.start()

    @property
    def progress(self) -> SinkProgress:
        """How far it has come."""
        delivery = self._delivery
        return self._at_first if delivery is None else delivery.progress

    @property
    def lag(self) -> int:
        """Bytes of the results, of all queries, that it has not looked at yet."""
        return max(self._index.settled - self.progress.position, 0)

    def waiting(self) -> Waiting | None:
        """What it has not delivered yet."""
        return waiting(self._index, self.sink.definition.queries, self.progress.position)

    def wake(self) -> None:
        """There may be more to deliver."""
        self._news.set()

    def stop(self) -> None:
        """End after the piece that is being delivered."""
        self._stopped.set()
        self._news.set()

    def join(self) -> None:
        """Wait for the end, but not for ever: what is under way is done again next time."""
        self._thread.join(_MOST_SECONDS_TO_END)

    def _run(self) -> None:
        backoff = Backoff(*_RETRY_SECONDS)
        while not self._stopped.is_set():
            before = self.progress.records
            try:
                self._deliver()
            except Exception as error:  # whatever a target does, the others go on
                if self.progress.records > before:
                    backoff.reset()
                    self._tries = 0
                self._tries += 1
                pause = backoff.next_seconds() or 0.0
                self._note(error, pause)
                self._stopped.wait(pause)

    def _deliver(self) -> None:
        """Deliver until stopped."""
        target = self._open_target()
        try:
            delivery = Delivery(self.sink, self._index, self._register, self._undelivered, target)
            self._delivery = delivery
            delivery.begin()
            facts = {"sink": self.sink.definition.name, "position": delivery.progress.position}
            _logger.info("a sink is connected", extra=facts)
            self._give_up(target, delivery)
            while not self._stopped.is_set():
                self._news.clear()
                while delivery.step():
                    self._note_success()
                    if self._stopped.is_set():
                        return
                self._note_success()
                self._news.wait(_MOST_SECONDS_ASLEEP)
        finally:
            target.close()

    def _give_up(self, target: SinkTarget, delivery: Delivery) -> None:
        """Set a piece aside that was tried so often as its target allows."""
        if target.attempts is None or self._tries < target.attempts or self.trouble is None:
            return
        delivery.give_up(self.trouble[0])
        self._tries = 0
        extra = {"sink": self.sink.definition.name, "undelivered": delivery.progress.undelivered}
        _logger.warning("a sink has given up records: %s", self.trouble[0], extra=extra)

    def _note_success(self) -> None:
        if self.trouble is not None:
            facts = {"sink": self.sink.definition.name, "since": self.trouble[1], "tries": self._tries}
            _logger.info("a sink delivers again", extra=facts)
        self.trouble = None

    def _note(self, error: Exception, pause: float) -> None:
        reason = error.message if isinstance(error, SeineError) else f"{type(error).__name__}: {error}"
        reason = printable(self._hide(reason))
        since = self.trouble[1] if self.trouble else datetime.now(UTC).isoformat(timespec="seconds")
        self.trouble = reason, since
        extra: dict[str, object] = {"sink": self.sink.definition.name, "again_in_s": round(pause, 1)}
        if not isinstance(error, SeineError | OSError):
            extra["trace"] = self._hide("".join(traceback.format_exception(error)))
        _logger.warning("a sink cannot deliver: %s", reason, extra=extra)
