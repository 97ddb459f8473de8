"""An answer waits while entries from before a change may read topics of its queries, and not otherwise."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from seine.lifecycle.edit import Outcome
from seine.service.http import app
from seine.service.http.app import topics_count, wait_for_topics
from seine.service.http.wakeup import Wakeup

OUTCOME = Outcome(version=3, entry=8, registered=("Q",))


def _state(entry: int, *, reader: object, read: str = "t") -> Any:
    query = SimpleNamespace(position=SimpleNamespace(streams={read: 0}))
    streams = {"t": SimpleNamespace(reader=reader), "file": SimpleNamespace(reader=None)}
    view = SimpleNamespace(declared=SimpleNamespace(streams=streams), registered={"q": query})
    return SimpleNamespace(view=view, figures=SimpleNamespace(entry=entry))


@pytest.mark.parametrize(("entry", "count"), [(5, False), (6, False), (7, True), (8, True)])
def test_topics_count_once_the_entries_before_a_change_are_done(entry: int, count: bool) -> None:
    assert topics_count(_state(entry, reader="kafka"), OUTCOME) is count


def test_files_count_at_once() -> None:
    assert topics_count(_state(5, reader=None), OUTCOME)
    assert topics_count(_state(5, reader="kafka", read="file"), OUTCOME)


def test_a_query_or_stream_that_is_gone_is_not_waited_for() -> None:
    assert topics_count(_state(5, reader="kafka", read="dropped"), OUTCOME)
    assert topics_count(_state(5, reader="kafka"), Outcome(version=3, entry=8, registered=("dropped",)))


class _Request:
    """A request of a client that stays."""

    state = SimpleNamespace()

    async def receive(self) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError


def _wait(change: Any) -> list[str]:
    """What happened, in order: `change` does something to the publisher while somebody waits."""
    happened: list[str] = []

    async def story() -> None:
        publisher = SimpleNamespace(current=_state(6, reader="kafka"), ended=False)
        wakeup = Wakeup()
        calls: Any = SimpleNamespace(service=SimpleNamespace(publisher=publisher), wakeup=wakeup)
        request: Any = _Request()
        answer = asyncio.ensure_future(wait_for_topics(calls, request, OUTCOME))
        await asyncio.sleep(0)
        wakeup.notify()  # nothing has changed
        await asyncio.sleep(0.01)
        happened.append("answered too early" if answer.done() else "waits")
        change(publisher)
        wakeup.notify()
        await answer
        happened.append("answered")

    asyncio.run(story())
    return happened


def test_an_answer_waits_for_the_entry_before() -> None:
    assert _wait(lambda publisher: setattr(publisher, "current", _state(7, reader="kafka"))) == [
        "waits",
        "answered",
    ]


def test_the_end_of_a_service_is_not_waited_for() -> None:
    assert _wait(lambda publisher: setattr(publisher, "ended", True)) == ["waits", "answered"]


def test_a_pipeline_that_is_behind_is_not_waited_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_MOST_SECONDS", 0.05)
    assert _wait(lambda publisher: None) == ["waits", "answered"]
