"""One connection of the HTTP server: how many there are, how slow they may be, and what is no HTTP.

uvicorn's protocol for HTTP/1.1 bounds none of this by itself: it waits for ever for the rest of a request,
and answers what it cannot parse with plain text. No server for ASGI has limits by address or lets one that
keeps us waiting make way, so this one adds them to uvicorn's class, which is not made for that:
`pyproject.toml` names the one minor version of uvicorn and of h11 that this file was read against.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from enum import Enum
from http import HTTPStatus
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from seine.errors import SeineError
from seine.service.http.listening import Listening
from seine.service.http.refusals import Refusal, refusal_answer

INPUT_ENDED = "input_ended"  # in the state of a request whose client has ended its side of the connection


class _Arriving(Enum):
    """What a client is to send: nothing yet, after an answer, or the rest of a head or body."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


_logger = logging.getLogger(__name__)
_logger.addFilter(lambda record: record.levelno >= logging.ERROR)  # requests are not logged, however wrong


class GuardedConnection(H11Protocol):
    """A connection that is cut off when its client keeps it waiting.

    Two clocks run while a request is expected or arrives: one since anything was received, one since its
    head or its body was to begin. Two run while an answer is being sent and the client does not take it.
    """

    limits: ClassVar[Listening]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = _logger
        self.address = ""  # of the client
        self._arriving: _Arriving | None = None
        self._arriving_since = 0.0
        self._silence: asyncio.TimerHandle | None = None
        self._arrival: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._blocked_since: float | None = None  # since when an answer waits for its client
        self._input_ended = False  # the client sends no more; it may still take answers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # so that whatever the client does not take is noticed; TLS takes 0 for a buffer that is always full
        encrypted = transport.get_extra_info("sslcontext") is not None
        transport.set_write_buffer_limits(1 if encrypted else 0, 0)
        self.address = str((transport.get_extra_info("peername") or [""])[0])
        if self._make_way():
            self._expect()
        else:
            transport.close()

    def _make_way(self) -> bool:
        """Whether there is room for this connection; one that keeps us waiting may be cut off for it."""
        present = (one for one in self.connections if isinstance(one, GuardedConnection))
        everybody = [one for one in present if not one.transport.is_closing()]
        neighbours = [one for one in everybody if one.address == self.address]
        crowds = ((neighbours, self.limits.most_of_an_address), (everybody, self.limits.most_connections))
        for crowd, most in crowds:
            if len(crowd) > most:
                waiting = [one for one in crowd if one.waiting_since is not None]
                if not waiting:
                    return False
                min(waiting, key=lambda one: one.waiting_since or 0.0)._cut_off()
                return True
        return True

    @property
    def waiting_since(self) -> float | None:
        """Since when the client keeps us waiting; None while it waits for us."""
        if self._blocked_since is not None:
            return self._blocked_since
        return None if self._arriving is None else self._arriving_since

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clocks()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Stay for the answers to what has arrived: a client may end its side once it has asked."""
        self._input_ended = True
        if not self._is_answering() or self.transport.get_extra_info("sslcontext") is not None:
            return False  # TLS has no half-closed connections
        self.cycle.scope["state"][INPUT_ENDED] = True
        self.cycle.message_event.set()
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._input_ended and not self._is_answering():
            self.transport.close()
        self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._blocked_since = self.loop.time()
        self._await_taking(self.transport.get_write_buffer_size())
        self._expect()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._blocked_since = None
        _cancel(self._stalled)
        self._expect()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP: called while the parser's complaint is handled."""
        refusal = self._complaint(sys.exception())
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # its handler speaks to nobody
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = refusal_answer(refusal)
            headers = [*self.server_state.default_headers, *answer.raw_headers]
            reason = refusal.status.phrase.encode()
            for event in (
                h11.Response(status_code=refusal.status, headers=headers, reason=reason),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _complaint(self, error: BaseException | None) -> Refusal:
        text = str(error)
        status = HTTPStatus(getattr(error, "error_status_hint", HTTPStatus.BAD_REQUEST))
        if "Host:" in text:  # none, or several: whom this is for cannot be known
            status = HTTPStatus.FORBIDDEN
        elif "Transfer-Encoding" in text:
            status = HTTPStatus.LENGTH_REQUIRED
        elif status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE and b"\n" not in self.conn.trailing_data[0]:
            status = HTTPStatus.REQUEST_URI_TOO_LONG
        return Refusal(status, SeineError(f"this is no request: {text}"))

    def _is_answering(self) -> bool:
        """Whether a request has arrived, all of it, and has not been answered yet."""
        if self.cycle is None or self.cycle.response_complete:
            return False
        return self.conn.their_state is not h11.SEND_BODY

    def _expect(self) -> None:
        """Start the clocks of a request that is to come or arrives; stop them when it is there."""
        _cancel(self._silence)
        arriving = self._what_arrives()
        if arriving is not self._arriving:
            self._begin_waiting(arriving)
        if arriving is not None:
            self._silence = self.loop.call_later(self.limits.longest_silence, self._cut_off)

    def _what_arrives(self) -> _Arriving | None:
        """What the client is to send; None if it is our turn."""
        if self._blocked_since is not None or self.transport.is_closing():
            return None
        if self.conn.their_state is h11.SEND_BODY:
            return _Arriving.BODY
        if self.conn.their_state is not h11.IDLE:
            return None
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return _Arriving.HEAD if begun else _Arriving.NOTHING

    def _begin_waiting(self, arriving: _Arriving | None) -> None:
        _cancel(self._arrival)
        self._arriving, self._arrival = arriving, None
        self._arriving_since = self.loop.time()
        seconds = self._longest(arriving)
        if seconds is not None:
            self._arrival = self.loop.call_later(seconds, self._cut_off)

    def _longest(self, arriving: _Arriving | None) -> float | None:
        """How long it may take to arrive; None if only silence counts."""
        limits = self.limits
        if arriving is _Arriving.HEAD:
            return limits.longest_head
        if arriving is _Arriving.BODY:
            return limits.longest_head + limits.longest_request * self._body_share()
        return None

    def _body_share(self) -> float:
        """The length of the body that arrives, as a share of the most that is taken."""
        for name, text in self.headers:
            if name == b"content-length" and text.isdigit():
                return min(1.0, int(text) / max(self.limits.most_body, 1))
        return 0.0

    def _await_taking(self, waiting: int) -> None:
        """Look in a while whether the client has taken any of the bytes that wait for it."""
        _cancel(self._stalled)
        self._stalled = self.loop.call_later(self.limits.longest_silence, self._check_taking, waiting)

    def _check_taking(self, before: int) -> None:
        waiting = self.transport.get_write_buffer_size()
        if self._blocked_since is None:
            return
        slow = self.loop.time() - self._blocked_since >= self.limits.longest_request
        if slow or waiting >= before:
            self._cut_off()
        else:
            self._await_taking(waiting)

    def _cut_off(self) -> None:
        self._stop_clocks()
        self.transport.abort()

    def _stop_clocks(self) -> None:
        for clock in (self._silence, self._arrival, self._stalled):
            _cancel(clock)
        self._silence = self._arrival = self._stalled = None


def guarded_connections(limits: Listening) -> type[GuardedConnection]:
    """The protocol of a server with these limits: uvicorn makes its connections by itself."""
    return type("LimitedConnection", (GuardedConnection,), {"limits": limits})


def _cancel(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()
