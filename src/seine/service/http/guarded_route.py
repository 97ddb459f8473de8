"""What a route takes: its parameters and no others, and a body only if it has one to take.

The checks of a body come before it is read, so that one that is too large never is.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from email.message import Message
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

from fastapi import Request, Response
from fastapi.routing import APIRoute

from seine.errors import SeineError
from seine.service.http.refusals import Refusal, possible
from seine.service.http.route_roles import asker, role_refusal
from seine.service.http.service_calls import ServiceCalls

LINES = ("application/x-ndjson", "application/jsonl", "application/json")
_MOST_LENGTH_DIGITS = 18  # of a Content-Length


class GuardedRoute(APIRoute):
    """A route that refuses who may not ask, parameters it does not know, and bodies it does not take."""

    lines = False  # whether it takes a body of JSON Lines, which it reads itself

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        parameters = [parameter.alias for parameter in self.dependant.query_params]
        takes_body = self.body_field is not None

        async def guarded(request: Request) -> Response:
            if (error := role_refusal(request, self.path)) is not None:
                await self._note_refusal(request, error)
                raise Refusal(HTTPStatus.FORBIDDEN, error)
            _refuse_unknown_parameters(request, parameters)
            if takes_body or self.lines:
                _refuse_wrong_body(request, LINES if self.lines else ("application/json",))
            elif _content_length(request):
                raise Refusal(HTTPStatus.BAD_REQUEST, SeineError("this request takes no body"))
            return await handle(request)

        return guarded

    async def _note_refusal(self, request: Request, error: SeineError) -> None:
        """Let the audit log know what somebody was refused for their role, and of which query or stream."""
        calls: ServiceCalls = request.app.state.calls
        who, action = asker(request), self.operation_id or self.path
        facts: dict[str, str] = {}
        if (name := request.path_params.get("name")) is not None:
            facts["stream" if "/streams/" in self.path else "query"] = unquote(name)
        await calls.changes.run(lambda: calls.service.changes.note_forbidden(who, action, error, **facts))


def _refuse_unknown_parameters(request: Request, parameters: list[str]) -> None:
    query: str = request.scope["query_string"].decode("latin-1")
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name not in parameters:
            error = SeineError(f"unknown parameter '{name}'", hint=possible(parameters))
            raise Refusal(HTTPStatus.BAD_REQUEST, error)


class LinesRoute(GuardedRoute):
    """A route that takes JSON Lines."""

    lines = True


def _refuse_wrong_body(request: Request, types: tuple[str, ...]) -> None:
    length = _content_length(request)
    given = request.headers.get("Content-Type")
    if given is None or _content_type(given) not in types:
        error = SeineError(f"the body must be {types[0]}, not {given or 'no Content-Type'}")
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, error)
    if length is None:
        raise Refusal(HTTPStatus.LENGTH_REQUIRED, SeineError("a body needs a Content-Length"))
    most: int = request.app.state.most_body
    if length > most:
        error = SeineError(
            f"the body has {length} bytes, more than the {most} that are taken",
            hint="send it in parts, or start the service with a larger --max-body",
        )
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, error)


def _content_type(text: str) -> str:
    """
    >>> _content_type("Application/JSON; charset=utf-8")
    'application/json'
    """
    message = Message()
    message["Content-Type"] = text
    return message.get_content_type()


def _content_length(request: Request) -> int | None:
    """The length of the body; None if there is no header that says it."""
    if "Transfer-Encoding" in request.headers:
        raise Refusal(HTTPStatus.LENGTH_REQUIRED, SeineError("a body needs a Content-Length"))
    lengths = request.headers.getlist("Content-Length")
    if not lengths:
        return None
    text = lengths[0]
    if len(lengths) > 1 or not text.isascii() or not text.isdigit() or len(text) > _MOST_LENGTH_DIGITS:
        raise Refusal(HTTPStatus.BAD_REQUEST, SeineError("Content-Length is no number"))
    return int(text)
