"""Branches of a running pipeline whose topics cannot be read: they are looked at again, ever more rarely.

    a topic is gone     its stream waits, and a source that gives nothing has its place; all else goes on
    it is there again   the pipeline starts anew, and the stream goes on where it was
    another is there    the stream waits on, for another reason: it has to be dropped and created again

A broker that does not answer is waited for in the same way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from seine.backoff import Backoff
from seine.errors import RunError, SeineError
from seine.intake.spark_feed import SourceBranch

_logger = logging.getLogger(__name__)

Ask = Callable[[Collection[SourceBranch]], Mapping[SourceBranch, RunError | None]]
Tell = Callable[[Mapping[SourceBranch, RunError]], None]


class WaitingBranches:
    """Looks at branches in a thread of its own, until one `can_go_on` or nobody wants to know.

    `ask` says of those branches that are still wanted why they cannot be read, or None; `tell` hears what is
    known of those that wait.
    """

    def __init__(self, waiting: Mapping[SourceBranch, RunError], ask: Ask, tell: Tell) -> None:
        self._waiting, self._ask, self._tell = waiting, ask, tell
        self._closed = threading.Event()
        self.can_go_on = False
        tell(waiting)
        if waiting:
            threading.Thread(target=self._look, name="seine-topics", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _look(self) -> None:
        backoff = Backoff(2.0, 30.0)
        while not (self.can_go_on or self._closed.wait(backoff.next_seconds())):
            try:
                answers = self._ask(self._waiting.keys())
            except (SeineError, Py4JError, PySparkException, OSError) as error:
                _logger.warning("topics cannot be looked at: %s", error)
                continue
            if not self._closed.is_set():
                self._tell({branch: error for branch, error in answers.items() if error is not None})
                self.can_go_on = None in answers.values()
        if self.can_go_on:
            _logger.info("a stream that waited can be read again")
