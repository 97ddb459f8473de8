"""The push door over HTTP: POST /v1/streams/{name}/records."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Header, Path, Request, Response
from pydantic import AfterValidator

from seine.errors import SeineError
from seine.service.answers import PushAnswer
from seine.service.http.guarded_route import LinesRoute
from seine.service.http.refusals import ErrorAnswer, JsonAnswer, Refusal
from seine.service.http.service_calls import Calls
from seine.service.push_door import BehindError

_RETRY_SECONDS = "1"
_MOST_KEY = 256  # characters
_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}
}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in (
        (400, "there are no records, or the stream has another source"),
        (403, "the token's role does not allow this"),
        (404, "there is no such stream"),
        (409, "the Idempotency-Key came with other records"),
        (413, "the body is too large"),
        (415, "the body is not application/x-ndjson"),
        (429, "intake is behind: try again after the seconds of Retry-After"),
        (507, "the disk is full: nothing was taken"),
        ("default", "refused before it was looked at, or the service failed"),
    )
}
PUSHING = APIRouter(route_class=LinesRoute, responses=_REFUSALS, redirect_slashes=False)


@PUSHING.post(
    "/v1/streams/{name}/records",
    operation_id="push",
    summary="Send records to a stream FROM 'push:', as JSON Lines; they are durable when this is answered",
    response_model=PushAnswer,
    openapi_extra=_BODY,
)
async def _push(
    request: Request,
    calls: Calls,
    name: Annotated[str, Path(), AfterValidator(unquote)],
    key: Annotated[
        str | None,
        Header(alias="Idempotency-Key", description="the same in a retry, which changes nothing then"),
    ] = None,
) -> Response:
    if key is not None and not 0 < len(key) <= _MOST_KEY:
        error = SeineError(f"an Idempotency-Key has 1 to {_MOST_KEY} characters")
        raise Refusal(HTTPStatus.BAD_REQUEST, error)
    body = await request.body()
    try:
        return JsonAnswer(await calls.changes.run(lambda: calls.service.push(name, body, key)))
    except BehindError as error:
        raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, error, **{"Retry-After": _RETRY_SECONDS}) from None
