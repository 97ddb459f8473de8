"""How a refusal looks over HTTP: a status and a JSON object with the message, the place and a hint."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from seine.errors import RunError, SeineError, TakenError
from seine.lifecycle.view import MissingError
from seine.runtime.output.log_files import TooOldError
from seine.service.access.principal import ForbiddenError
from seine.service.refusal_form import RefusalReason, refusal_reason

KEPT_FROM = "Seine-Kept-From"  # the header that says from which position on something is kept


class ErrorAnswer(TypedDict):
    """A refusal."""

    error: RefusalReason


class Refusal(Exception):
    """An answer that is no success; a handler or a check raises it."""

    def __init__(self, status: HTTPStatus, error: SeineError, **headers: str) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error
        self.headers = headers


class JsonAnswer(Response):
    """A JSON answer. A name may hold half a character: it goes back as it came, as a JSON escape."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False).encode(errors="backslashreplace")


def refusal_answer(refusal: Refusal) -> JsonAnswer:
    """The answer to a refused request. The connection is closed: its body may not have been read, and what
    follows would be taken for a request.
    """
    headers = {"Connection": "close", **refusal.headers}
    return JsonAnswer({"error": refusal_reason(refusal.error)}, refusal.status, headers)


def refusal_of(error: SeineError) -> Refusal:
    """The status that an error stands for."""
    if isinstance(error, MissingError):
        return Refusal(HTTPStatus.NOT_FOUND, error)
    if isinstance(error, ForbiddenError):
        return Refusal(HTTPStatus.FORBIDDEN, error)
    if isinstance(error, TakenError):
        return Refusal(HTTPStatus.CONFLICT, error)
    if isinstance(error, TooOldError):
        return Refusal(HTTPStatus.GONE, error, **{KEPT_FROM: str(error.first)})
    if isinstance(error, RunError):
        return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, error)
    return Refusal(HTTPStatus.BAD_REQUEST, error)


def possible(names: list[str]) -> str:
    """A hint that lists what could be said instead."""
    return f"possible: {', '.join(names)}" if names else "there are none"
