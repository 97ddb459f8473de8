"""Coroutines that wait until something published makes a condition true: long polls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress


class Wakeup:
    """Wakes the coroutines of one event loop whenever it is notified.

    Waiting takes no thread. `notify` belongs to the loop; other threads call it by
    `loop.call_soon_threadsafe`.
    """

    def __init__(self) -> None:
        self._next = asyncio.Event()
        self._ended = False

    def notify(self) -> None:
        event, self._next = self._next, asyncio.Event()
        event.set()

    def end(self) -> None:
        """Nobody waits any more."""
        self._ended = True
        self.notify()

    async def wait_for(self, condition: Callable[[], bool], seconds: float, gone: Awaitable[None]) -> None:
        """Return when the condition holds, the time is over, or `gone` is done: whoever asked has left."""
        waiting = {asyncio.ensure_future(self._until(condition)), asyncio.ensure_future(gone)}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
            for task in waiting:
                with suppress(asyncio.CancelledError):
                    await task

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not (self._ended or condition()):
            await self._next.wait()
