"""Coroutines that wait until something published makes a condition true: long polls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus

from seine.errors import SeineError
from seine.service.http.refusals import Refusal

Condition = Callable[[], bool]
_MOST_READERS = 768  # that wait at a time: three of four connections
_RETRY_SECONDS = "5"


class _Seat(AbstractContextManager[None]):
    """A place of a reader; given back once, also if nobody ever sat down."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back: Callable[[], None] | None = give_back

    def __exit__(self, *_: object) -> None:
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()

    __del__ = __exit__


class Wakeup:
    """Wakes those coroutines of one event loop whose condition holds when it is notified.

    Waiting takes no thread, and whose condition does not hold is not woken: a notification costs one call of
    each condition. `notify` belongs to the loop; other threads call it by `loop.call_soon_threadsafe`.
    """

    def __init__(self, most_readers: int = _MOST_READERS) -> None:
        self._waiting: dict[asyncio.Future[None], Condition] = {}
        self._ended = False
        self._free = most_readers

    def take_seat(self) -> AbstractContextManager[None]:
        """A place for a reader that waits, given back at the end of the block; refused if all are taken.

        Who waits for records keeps a connection: without a bound they would keep everybody else out.
        """
        if self._free <= 0:
            error = SeineError("too many readers wait for records", hint="come again, or ask without waiting")
            raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, error, **{"Retry-After": _RETRY_SECONDS})
        self._free -= 1
        return _Seat(self._give_back)

    def _give_back(self) -> None:
        self._free += 1

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
    ) -> bool:
        """Return when the condition holds, the time is over, or `gone` returns: whoever asked has left.

        False if only time has passed.
        """
        if self._ended or condition():
            return True
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = condition
        left = asyncio.ensure_future(gone())
        try:
            done, _ = await asyncio.wait({woken, left}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return bool(done)
        finally:
            del self._waiting[woken]
            left.cancel()
            with suppress(asyncio.CancelledError):
                await left
