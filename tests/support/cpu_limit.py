"""A limit of CPU time for work that would take hours if it read its input again and again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most_cpu_seconds(seconds: float) -> Iterator[None]:
    """Within this, work that takes more CPU time of this process raises a TimeoutError."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
