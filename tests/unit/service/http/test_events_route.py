"""Server-sent events: each record once, from wherever a reader goes on, and not too many readers."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.service.http import events_route
from tests.support.http_rig import HttpRig

STREAM = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
QUERIES = "CREATE QUERY q AS SELECT a FROM s; CREATE QUERY other AS SELECT a FROM s WHERE a % 2 = 0;"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path)
    rig.register(STREAM + QUERIES)
    yield rig
    rig.close()


class EventReader:
    """Reads events of a query over a connection of its own."""

    def __init__(self, rig: HttpRig, path: str, **headers: str) -> None:
        self._connection = http.client.HTTPConnection(rig.server.url.removeprefix("http://"), timeout=10)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", path, headers=sent)
        self.answer = self._connection.getresponse()

    def events(self, count: int) -> list[tuple[str, int]]:
        """So many events: the id of each, and the value of its record."""
        events: list[tuple[str, int]] = []
        name = ""
        while len(events) < count:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                name = line.removeprefix("id: ")
            elif line.startswith("data: "):
                events.append((name, json.loads(line.removeprefix("data: "))["row"]["a"]))
        return events

    def rest(self) -> bytes:
        return self.answer.read()

    def close(self) -> None:
        self._connection.sock.close() if self._connection.sock else None
        self._connection.close()


def test_records_come_as_events_and_go_on_from_any_of_them(rig: HttpRig) -> None:
    rig.feed(1, 2, 3)
    rig.feed(4, 5)
    reader = EventReader(rig, "/v1/queries/Q/events")
    assert reader.answer.getheader("Content-Type") == "text/event-stream; charset=utf-8"
    assert reader.answer.getheader("Cache-Control") == "no-store"
    events = reader.events(5)
    reader.close()
    assert [value for _, value in events] == [1, 2, 3, 4, 5]
    rig.feed(6)
    for seen in range(6):
        last = {"Last_Event_ID": events[seen - 1][0]} if seen else {}
        again = EventReader(rig, "/v1/queries/q/events?from=end" if seen else "/v1/queries/q/events", **last)
        assert [value for _, value in again.events(6 - seen)] == [*range(seen + 1, 7)], seen
        again.close()


def test_an_event_comes_when_its_record_does(rig: HttpRig) -> None:
    reader = EventReader(rig, "/v1/queries/other/events?from=end")
    values: list[int] = []
    thread = threading.Thread(target=lambda: values.extend(value for _, value in reader.events(2)))
    thread.start()
    rig.feed(1)
    rig.feed(2, 3)
    rig.feed(4)
    thread.join(10)
    reader.close()
    assert values == [2, 4]


def test_a_stream_ends_with_its_query_and_with_its_time(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = EventReader(rig, "/v1/queries/q/events")
    monkeypatch.setattr(events_route, "_BEAT_SECONDS", 0.05)
    reader.answer.readline()
    rig.feed(1)  # wakes it up, so that the shorter beat counts
    rig.client.drop("q")
    assert b"data: " in reader.rest()
    monkeypatch.setattr(events_route, "_LONGEST_STREAM", 0.2)
    rest = EventReader(rig, "/v1/queries/other/events").rest()
    assert rest.startswith(b"retry: 1000\n\n") and b": nothing yet\n\n" in rest


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/queries/none/events", {}, 404),
        ("/v1/queries/q/events?from=x", {}, 400),
        ("/v1/queries/q/events", {"Last_Event_ID": "999999"}, 400),
        ("/v1/queries/q/events", {"Last_Event_ID": "-1"}, 400),
        ("/v1/queries/q/events?wait=1", {}, 400),
    ],
)
def test_what_is_refused(rig: HttpRig, path: str, headers: dict[str, str], status: int) -> None:
    assert rig.ask("GET", path, **headers)[0] == status


def test_readers_that_wait_do_not_keep_others_out(rig: HttpRig) -> None:
    rig.server._wakeup._free = 3
    readers = [EventReader(rig, "/v1/queries/q/events") for _ in range(2)]
    poll: list[Any] = []
    thread = threading.Thread(
        target=lambda: poll.append(rig.ask("GET", "/v1/queries/q/results?from=end&wait=20")[0])
    )
    thread.start()
    while rig.server._wakeup._free:
        thread.join(0.01)
    assert rig.ask("GET", "/v1/queries/q/events")[0] == 429
    status, _, headers = rig.ask("GET", "/v1/queries/q/results?from=end&wait=20")
    assert status == 429 and headers["Retry-After"] == "5"
    assert rig.ask("GET", "/v1/queries/q/results")[0] == 200, "who does not wait is answered"
    rig.feed(1)
    thread.join(10)
    assert poll == [200]
    for reader in readers:
        reader.close()
    rig.feed(2)  # what they are sent tells that they are gone
    for _ in range(1000):
        if rig.server._wakeup._free == 3:
            break
        thread.join()
        threading.Event().wait(0.01)
    assert rig.server._wakeup._free == 3
