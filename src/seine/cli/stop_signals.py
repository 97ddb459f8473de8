"""Ctrl-C and SIGTERM end a run or a service in good order, with status 0."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, TypeVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

T = TypeVar("T")


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class StopSignals:
    """While it is open, the first signal calls `stop`, and another one ends the process at once.

    A signal may also end Spark: the JVM is deaf to Ctrl-C, but not to a SIGTERM for a whole process group.
    So nothing that fails after `requested` is a failure.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self.requested = False
        self._stop = stop
        self._opening = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}
        self._install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        return self.requested and kind is not None and issubclass(kind, (Exception, KeyboardInterrupt))

    def opening(self, open_spark: Callable[[], T]) -> T:
        """Start Spark, which takes seconds and SIGINT for itself: a signal interrupts that."""
        if self.requested:
            raise KeyboardInterrupt
        self._opening = True
        try:
            return open_spark()
        finally:
            self._opening = False
            self._install()

    def _install(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL if self.requested else self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        self._install()  # whoever asks twice does not want to wait
        self._stop()
        if self._opening:
            raise KeyboardInterrupt
