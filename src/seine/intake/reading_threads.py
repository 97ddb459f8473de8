"""Threads that read ahead: a source whose disk or folder takes long is left behind, and nobody waits for it.

    fill([a, b, c])     a, b, c are filled side by side; then a and c are at rest, and b is still being read,
                        by its own thread, and comes back later

Law: nobody but its thread touches a feed that is being filled, but for `last_state` and the clock of what was
admitted. A feed that was slow once is not waited for at all until it is quick again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue

from seine.intake.feed import Feed, StreamFeed

_logger = logging.getLogger(__name__)

_THREADS = 4  # that read at the same time, beside those which slow sources keep busy
_PATIENCE_SECONDS = 5.0  # that the others wait for a source which is not known to be slow
_QUICK_SECONDS = 0.2  # who is read in so short a time is waited for again
STUCK_SECONDS = 10.0  # being read for longer, a source is as good as failed


class _Filling:
    """The filling of one feed, under way or over."""

    def __init__(self, feed: StreamFeed) -> None:
        self.feed = feed
        self.began = time.monotonic()
        self.took = 0.0
        self.over = threading.Event()
        self.error: Exception | None = None
        self.closing = False  # nobody wants the feed any more

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return time.monotonic() - self.began


class ReadingThreads:
    """Fills feeds side by side. One thread calls it; any may ask `stuck_for`."""

    def __init__(self, fill: Callable[[StreamFeed], None], *, patient: bool) -> None:
        """With `patient` every feed is waited for, however long it takes."""
        self._fill = fill
        self._patient = patient
        self._waiting: SimpleQueue[_Filling | None] = SimpleQueue()
        self._under_way: dict[Feed, _Filling] = {}
        self._slow: set[Feed] = set()
        self._threads = 0

    def fill(self, feeds: Sequence[StreamFeed]) -> None:
        """Fill those that are at rest, and wait a little."""
        for feed in feeds:
            if feed not in self._under_way:
                self._under_way[feed] = _Filling(feed)
                self._waiting.put(self._under_way[feed])
        self._have_threads()
        self._wait()
        self._collect()

    def at_rest(self, feed: Feed) -> bool:
        """Whether nobody is filling a feed."""
        return feed not in self._under_way

    def is_slow(self, feed: Feed) -> bool:
        """Whether looking at the files of a feed takes long."""
        return feed in self._slow

    def stuck_for(self, feed: Feed) -> float | None:
        """For how many seconds a feed is being read, if that is unusually long."""
        filling = self._under_way.get(feed)
        return filling.seconds if filling is not None and filling.seconds > STUCK_SECONDS else None

    def close_feed(self, feed: Feed) -> None:
        """Close a feed, now or when its reading is over."""
        self._slow.discard(feed)
        filling = self._under_way.pop(feed, None)
        if filling is None:
            feed.close()
            return
        filling.closing = True
        if filling.over.is_set():  # perhaps before it could see that
            feed.close()

    def close(self, feeds: Iterable[Feed]) -> None:
        """Close all feeds and let the threads end; those that are stuck end with the process."""
        for filling in [*self._under_way.values()]:
            if self._patient or filling.feed not in self._slow:
                filling.over.wait(_PATIENCE_SECONDS if not self._patient else None)
        self._collect(quietly=True)
        for feed in feeds:
            self.close_feed(feed)
        for _ in range(self._threads):
            self._waiting.put(None)
        self._threads = 0

    def _have_threads(self) -> None:
        """Start threads until enough are free of slow sources."""
        wanted = min(_THREADS + len(self._slow & self._under_way.keys()), len(self._under_way))
        while self._threads < wanted:
            self._threads += 1
            threading.Thread(target=self._work, name="seine-intake", daemon=True).start()

    def _work(self) -> None:
        while (filling := self._waiting.get()) is not None:
            try:
                self._fill(filling.feed)
            except Exception as error:  # raised again by who collects it
                filling.error = error
            filling.took = filling.seconds
            filling.over.set()
            if filling.closing:
                filling.feed.close()

    def _wait(self) -> None:
        """Wait for those that are not known to be slow; who takes too long is from now on."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        for filling in self._under_way.values():
            if self._patient:
                filling.over.wait()
            elif filling.feed in self._slow:
                continue
            elif not filling.over.wait(max(0.0, deadline - time.monotonic())):
                self._slow.add(filling.feed)
                facts = {"stream": filling.feed.stream.name}
                _logger.warning("reading a source takes long", extra=facts)

    def _collect(self, *, quietly: bool = False) -> None:
        """Let those that are filled be at rest; raises what one of them raised."""
        for filling in [one for one in self._under_way.values() if one.over.is_set()]:
            del self._under_way[filling.feed]
            if filling.took <= _QUICK_SECONDS and filling.feed in self._slow:
                self._slow.discard(filling.feed)
                _logger.info("a source is quick again", extra={"stream": filling.feed.stream.name})
            if filling.error is not None and not quietly:
                raise filling.error
