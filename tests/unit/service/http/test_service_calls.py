"""Reads that are alike are one read for all who ask meanwhile, and only then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from seine.service.http.service_calls import SharedReads


class Reads:
    """Reads that wait until they are let go, and are counted."""

    def __init__(self) -> None:
        self.done, self.at_once, self._now = 0, 0, 0
        self.go, self._lock = threading.Event(), threading.Lock()

    def read(self) -> int:
        with self._lock:
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        assert self.go.wait(60)
        with self._lock:
            self._now -= 1
            self.done += 1
            return self.done


def _run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


def test_what_is_alike_is_read_once_for_all() -> None:
    reads = Reads()

    async def work() -> list[int]:
        shared = SharedReads(2)
        waiting = [asyncio.ensure_future(shared.run(("q", 7), reads.read)) for _ in range(200)]
        await asyncio.sleep(0)
        reads.go.set()
        return await asyncio.gather(*waiting)

    assert _run(work) == [1] * 200 and reads.done == 1


def test_what_is_not_alike_is_read_by_few_threads_at_a_time() -> None:
    reads = Reads()

    async def work() -> list[int]:
        shared = SharedReads(2)
        waiting = [asyncio.ensure_future(shared.run(place, reads.read)) for place in range(20)]
        await asyncio.sleep(0.05)
        reads.go.set()
        return await asyncio.gather(*waiting)

    assert sorted(_run(work)) == [*range(1, 21)] and reads.at_once == 2


def test_it_is_read_again_for_who_comes_after_it() -> None:
    reads = Reads()
    reads.go.set()

    async def work() -> list[int]:
        shared = SharedReads(2)
        return [await shared.run("same", reads.read) for _ in range(3)]

    assert _run(work) == [1, 2, 3]


def test_who_leaves_does_not_take_it_from_the_others() -> None:
    reads = Reads()

    async def work() -> int:
        shared = SharedReads(2)
        leaving, staying = (asyncio.ensure_future(shared.run("same", reads.read)) for _ in range(2))
        await asyncio.sleep(0.05)
        leaving.cancel()
        await asyncio.sleep(0)
        reads.go.set()
        return await staying

    assert _run(work) == 1


def test_what_a_read_raises_is_raised_for_all() -> None:
    def fail() -> int:
        raise ValueError("pruned")

    async def work() -> list[Any]:
        shared = SharedReads(2)
        return await asyncio.gather(*(shared.run("same", fail) for _ in range(3)), return_exceptions=True)

    answers = _run(work)
    assert [str(one) for one in answers] == ["pruned"] * 3
    with pytest.raises(ValueError, match="pruned"):
        raise answers[0]
