"""The records of a query as server-sent events: GET /v1/queries/{name}/events.

    id: 1042
    data: {"query": "q", "op": "+", ...}

Law: the id of a record is the position behind it, so whoever goes on from the last id that it saw
(`Last-Event-ID`, which browsers send by themselves) gets every later record once. A stream ends after a
while, and its client comes again: then its token is looked at again, too.

Positions in the results as requests name them, and clients that have hung up.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import AfterValidator
from starlette.responses import StreamingResponse

from seine.errors import SeineError
from seine.runtime.output.result_index import ResultIndex
from seine.service.http.connection import INPUT_ENDED
from seine.service.http.guarded_route import GuardedRoute
from seine.service.http.refusals import ErrorAnswer
from seine.service.http.service_calls import Calls, ServiceCalls
from seine.service.tail import read_pieces

_BEAT_SECONDS = 15.0  # after which a comment says that the stream is alive
_LONGEST_STREAM = 300.0  # seconds, after which the client is to come again
_RETRY = b"retry: 1000\n\n"
_BEAT = b": nothing yet\n\n"
_REFUSALS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "records, an event each",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    404: {"model": ErrorAnswer, "description": "there is no such query"},
    429: {"model": ErrorAnswer, "description": "too many readers wait for records"},
    "default": {
        "model": ErrorAnswer,
        "description": "refused before it was looked at, or the service failed",
    },
}
EVENTS = APIRouter(route_class=GuardedRoute, responses=_REFUSALS, redirect_slashes=False)


@EVENTS.get(
    "/v1/queries/{name}/events",
    operation_id="events",
    summary="The records of a query as server-sent events, from a place on, as they come",
    response_class=Response,
)
async def _events(
    request: Request,
    calls: Calls,
    name: Annotated[str, Path(), AfterValidator(unquote)],
    begin: Annotated[
        str, Query(alias="from", description="start, end, or the id of an event; Last-Event-ID comes first")
    ] = "start",
    last: Annotated[
        str | None, Header(alias="Last-Event-ID", description="the last id that was seen")
    ] = None,
) -> Response:
    index, registered = calls.service.sink.index, calls.service.published.view.find(name)
    start = start_position(
        index, registered.query.name, registered.position.results, begin if last is None else last
    )
    index.results.refuse_too_old(start)
    stream = _EventStream(request, calls, registered.query.name, start)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream.events(), media_type="text/event-stream", headers=headers)


class _EventStream:
    """The events of one reader; it takes the place of one that waits as long as it lives."""

    def __init__(self, request: Request, calls: ServiceCalls, query: str, start: int) -> None:
        self._request, self._calls = request, calls
        self._query, self._next = query, start
        self._gone = False
        self._ends = time.monotonic() + _LONGEST_STREAM
        self._seat = calls.wakeup.take_seat()

    async def events(self) -> AsyncIterator[bytes]:
        """Events until the service ends, the query or the client is gone, or it is time to come again."""
        with self._seat:
            yield _RETRY
            while self._goes_on():
                try:
                    end = self._calls.service.sink.index.end_of(self._query)
                    key = "events", self._query, self._next, end
                    pieces, self._next = await self._calls.tails.run(key, self._read)
                except SeineError:  # it was pruned meanwhile, which is told when the client comes again
                    return
                for place, lines in pieces:
                    yield events_of(place, lines)
                if not pieces and not self._has_more() and not await self._wait():
                    yield _BEAT

    def _goes_on(self) -> bool:
        view = self._calls.service.published.view
        return not self._gone and time.monotonic() < self._ends and self._query.lower() in view.registered

    def _read(self) -> tuple[list[tuple[int, bytes]], int]:
        return read_pieces(self._calls.service.sink.index, self._query, self._next)

    def _has_more(self) -> bool:
        service = self._calls.service
        return service.publisher.ended or service.sink.index.end_of(self._query) > self._next

    async def _wait(self) -> bool:
        """Whether something has happened within a while."""
        happened = await self._calls.wakeup.wait_for(self._has_more, _BEAT_SECONDS, self._leave)
        self._gone = self._gone or self._calls.service.publisher.ended
        return happened

    async def _leave(self) -> None:
        await has_gone(self._request)
        self._gone = True


def events_of(place: int, lines: bytes) -> bytes:
    r"""Lines that stand at a place of the results as events.

    >>> events_of(10, b'{"a": 1}\n{}\n')
    b'id: 19\ndata: {"a": 1}\n\nid: 22\ndata: {}\n\n'
    """
    events: list[bytes] = []
    for line in lines.splitlines(keepends=True):
        place += len(line)
        events.append(b"id: %d\ndata: %s\n\n" % (place, line.rstrip(b"\n")))
    return b"".join(events)


_RECENT_BYTES = 1 << 16  # of the records of a query


def start_position(index: ResultIndex, query: str, first: int, word: str) -> int:
    """The place in the results that a request's `from` stands for."""
    settled = index.settled
    if word == "recent":
        return max(first, index.recent(query, _RECENT_BYTES))
    if word in ("start", "end"):
        return max(first, index.results.first) if word == "start" else settled
    if not re.fullmatch(r"\d{1,18}", word) or int(word) > settled:
        raise SeineError(
            f"there is no place '{word}' in the results",
            hint="from is start, end, recent, or what the answer before this one said in Seine-Next",
        )
    return int(word)


async def has_gone(request: Request) -> None:
    """Return when the client has hung up or ended its side, which looks the same: it is answered at once."""
    while (await request.receive())["type"] != "http.disconnect":
        if getattr(request.state, INPUT_ENDED, False):
            return
