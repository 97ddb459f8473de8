"""Coroutines that wait until something published makes a condition true: long polls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

Condition = Callable[[], bool]


class Wakeup:
    """Wakes those coroutines of one event loop whose condition holds when it is notified.

    Waiting takes no thread, and whose condition does not hold is not woken: a notification costs one call of
    each condition. `notify` belongs to the loop; other threads call it by `loop.call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Condition] = {}
        self._ended = False

    def notify(self) -> None:
        for future, condition in self._waiting.items():
            if not future.done() and (self._ended or condition()):
                future.set_result(None)

    def end(self) -> None:
        """Nobody waits any more."""
        self._ended = True
        self.notify()

    async def wait_for(
        self, condition: Condition, seconds: float, gone: Callable[[], Awaitable[None]]
    ) -> None:
        """Return when the condition holds, the time is over, or `gone` returns: whoever asked has left."""
        if self._ended or condition():
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = condition
        left = asyncio.ensure_future(gone())
        try:
            await asyncio.wait({woken, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._waiting[woken]
            left.cancel()
            with suppress(asyncio.CancelledError):
                await left
