"""What can be asked of a service over HTTP: its routes, their types, and how errors are answered.

Lets the answer to a registration wait until what comes to a topic counts for the queries that begin.

    entry 7   cut before the change; it has what is in the topic when Spark plans it
    entry 8   the first that counts; the answer is given once 7 is done

So whoever has the answer and then appends to a topic misses nothing.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from pydantic import AfterValidator
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from seine.errors import RunError, SeineError
from seine.lifecycle.edit import Outcome
from seine.service.answers import (
    CostsAnswer,
    DeadLetterPage,
    OutcomeAnswer,
    QueryAnswer,
    RelatedAnswer,
    SnapshotAnswer,
    StatusAnswer,
    StreamAnswer,
)
from seine.service.costs import CostPart
from seine.service.http.console_routes import CONSOLE, PAGE
from seine.service.http.events_route import EVENTS, has_gone, start_position
from seine.service.http.guarded_route import GuardedRoute
from seine.service.http.monitoring import MONITORING
from seine.service.http.push_route import PUSHING
from seine.service.http.refusals import (
    KEPT_FROM,
    ErrorAnswer,
    JsonAnswer,
    Refusal,
    refusal_answer,
    refusal_of,
)
from seine.service.http.script_request import LONGEST_WAIT, ScriptRequest, invalid
from seine.service.http.service_calls import Asker, Calls, ServiceCalls
from seine.service.http.wakeup import Wakeup
from seine.service.published_state import PublishedState
from seine.service.related import outcome_answer
from seine.service.service import Service
from seine.service.tail import read_records
from seine.shortages import FULL_DISK, is_full_disk

_logger = logging.getLogger(__name__)

DESCRIPTION = "/v1/openapi.json"
_MOST_LETTERS = 1000
_MOST_PLACE = 10**18 - 1
_NEXT = "Seine-Next"

_REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": text}
    for status, text in (
        (400, "refused: the script, or the request, is wrong"),
        (401, "the token is missing or wrong"),
        (403, "the token's role does not allow this, or the query is somebody else's"),
        (404, "there is no such query or path"),
        (409, "somebody else has taken the name, or still uses what is to be dropped"),
        (410, "the position is too old: what came after it is no longer kept"),
        (413, "the body is too large"),
        (429, "too many readers wait for records"),
        (415, "the body is not application/json"),
        (507, "the disk is full: nothing was changed"),
        ("default", "refused before it was looked at, or the service failed"),
    )
}
_RECORDS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "records, one a line",
        "headers": {
            _NEXT: {"schema": {"type": "integer"}, "description": "where to go on"},
            KEPT_FROM: {
                "schema": {"type": "integer"},
                "description": "of from=start: since its registration something was given up before this",
            },
        },
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
    }
}


QueryName = Annotated[str, Path(alias="name"), AfterValidator(unquote)]

ROUTER = APIRouter(route_class=GuardedRoute, responses=_REFUSALS, redirect_slashes=False)


@ROUTER.get(
    "/v1/status",
    operation_id="status",
    summary="What the service is doing, in numbers",
    response_model=StatusAnswer,
)
async def _status(calls: Calls) -> Response:
    return JsonAnswer(await calls.reads.run(calls.service.status))


@ROUTER.get(
    "/v1/costs",
    operation_id="costs",
    summary="What costs what: the dearest queries and nodes since the service was started",
    response_model=CostsAnswer,
)
async def _costs(
    calls: Calls,
    by: Annotated[CostPart, Query(description="what they are compared by")] = "cpu",
    limit: Annotated[int, Query(ge=1, le=_MOST_LETTERS, description="most queries, and most nodes")] = 20,
) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.service.costs(by, limit)))


@ROUTER.get(
    "/v1/streams",
    operation_id="streams",
    summary="Every stream: how far it is, what it lost, whether it can be read, and who waits for it",
    response_model=list[StreamAnswer],
)
async def _streams(calls: Calls) -> Response:
    return JsonAnswer(await calls.reads.run(calls.service.streams))


@ROUTER.get(
    "/v1/dead-letters",
    operation_id="dead_letters",
    summary="Lines that were not let in, with the reasons, page by page",
    response_model=DeadLetterPage,
)
async def _dead_letters(
    calls: Calls,
    after: Annotated[
        int | None,
        Query(ge=0, le=_MOST_PLACE, description="the `next` of a page; left out: the first that is kept"),
    ] = None,
    stream: Annotated[str | None, Query(description="of this stream alone")] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_LETTERS, description="letters of a page")] = 100,
) -> Response:
    service = calls.service
    return JsonAnswer(await calls.reads.run(lambda: service.dead_letters(after, stream, limit)))


@ROUTER.get(
    "/v1/queries",
    operation_id="list",
    summary="Every query, with what it has delivered",
    response_model=list[QueryAnswer],
)
async def _list(calls: Calls) -> Response:
    return await calls.reads.run(lambda: JsonAnswer(calls.service.queries()))


@ROUTER.get("/v1/queries/{name}", operation_id="show", summary="One query", response_model=QueryAnswer)
async def _show(calls: Calls, name: QueryName) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.service.query(name)))


@ROUTER.get(
    "/v1/queries/{name}/related",
    operation_id="related",
    summary="What a query has in common with the others",
    response_model=RelatedAnswer,
)
async def _related(calls: Calls, name: QueryName) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.service.related(name)))


@ROUTER.delete(
    "/v1/queries/{name}", operation_id="drop", summary="Drop a query", response_model=OutcomeAnswer
)
async def _drop(calls: Calls, who: Asker, name: QueryName) -> Response:
    outcome = await calls.changes.run(lambda: calls.service.changes.drop(who, name))
    return JsonAnswer(outcome_answer(outcome))


@ROUTER.post(
    "/v1/queries/{name}/pause", operation_id="pause", summary="Pause a query", response_model=OutcomeAnswer
)
async def _pause(calls: Calls, who: Asker, name: QueryName) -> Response:
    outcome = await calls.changes.run(lambda: calls.service.changes.pause(who, name))
    return JsonAnswer(outcome_answer(outcome))


@ROUTER.post(
    "/v1/queries/{name}/resume",
    operation_id="resume",
    summary="Let a paused query begin anew",
    response_model=OutcomeAnswer,
)
async def _resume(request: Request, calls: Calls, who: Asker, name: QueryName) -> Response:
    outcome = await calls.changes.run(lambda: calls.service.changes.resume(who, name))
    await wait_for_topics(calls, request, outcome)
    return JsonAnswer(outcome_answer(outcome))


@ROUTER.post(
    "/v1/snapshots",
    operation_id="snapshot",
    summary="Make a snapshot of the service's folder, for a backup",
    response_model=SnapshotAnswer,
)
async def _snapshot(calls: Calls) -> Response:
    return JsonAnswer(await calls.changes.run(calls.service.snapshot))


@ROUTER.get(
    "/v1/queries/{name}/results",
    operation_id="results",
    summary="The records of a query from a place on, as JSON Lines; Seine-Next says where to go on",
    response_class=Response,
    responses=_RECORDS,
)
async def _results(
    request: Request,
    calls: Calls,
    name: QueryName,
    begin: Annotated[
        str,
        Query(alias="from", description="start, end, recent (the last of them), or a Seine-Next from before"),
    ] = "start",
    wait: Annotated[
        float,
        Query(ge=0, le=LONGEST_WAIT, allow_inf_nan=False, description="seconds to wait for a record"),
    ] = 0.0,
) -> Response:
    """Lines of one query; an empty answer after `wait` seconds says that there are none yet."""
    service, index = calls.service, calls.service.sink.index
    registered = service.published.view.find(name)
    since, query = registered.position.results, registered.query.name
    start = start_position(index, query, since, begin)
    records = await calls.tails.run(
        (query, start, index.end_of(query)), lambda: read_records(index, query, start)
    )
    if wait and not records.lines and index.end_of(query) <= records.next:
        publisher, end = service.publisher, records.next
        with calls.wakeup.take_seat():
            await calls.wakeup.wait_for(
                lambda: publisher.ended or index.end_of(query) > end, wait, lambda: has_gone(request)
            )
        records = await calls.tails.run(
            (query, end, index.end_of(query)), lambda: read_records(index, query, end)
        )
    headers = {_NEXT: str(records.next)}
    if begin == "start" and since < start:
        headers[KEPT_FROM] = str(start)
    return Response(records.lines, headers=headers, media_type="application/x-ndjson")


@ROUTER.post(
    "/v1/scripts",
    operation_id="register",
    summary="Carry out a script, all of it or nothing",
    response_model=OutcomeAnswer,
)
async def _register(request: Request, calls: Calls, who: Asker, body: ScriptRequest) -> Response:
    service, base = calls.service, calls.service.folder.path

    def register() -> Outcome:
        folder = os.path.join(base, body.folder)
        return service.changes.register(who, body.script, file=body.file, folder=folder, replace=body.replace)

    outcome = await calls.changes.run(register)
    relations = await calls.reads.run(lambda: service.relations.of_change(outcome)) if body.related else None
    await wait_for_topics(calls, request, outcome)
    return JsonAnswer(outcome_answer(outcome, relations))


@ROUTER.get(DESCRIPTION, include_in_schema=False)
async def _describe() -> Response:
    return JsonAnswer(description())


_ROUTERS = (ROUTER, EVENTS, CONSOLE, PUSHING, MONITORING, PAGE)


@cache
def description() -> dict[str, Any]:
    """The OpenAPI document, made from the types of the routes."""
    document: dict[str, Any] = get_openapi(
        title="Seine",
        version="1",
        description="Standing queries that come and go.",
        routes=[*ROUTER.routes, *EVENTS.routes, *CONSOLE.routes, *PUSHING.routes],
    )
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    document["components"]["securitySchemes"] = schemes
    document["security"] = [{}, {"token": []}]  # a token is needed only where one was set
    return document


def make_app(service: Service, wakeup: Wakeup, most_body: int) -> FastAPI:
    """The application that answers for a service."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.calls = ServiceCalls(service, wakeup)
    app.state.most_body = most_body
    for router in _ROUTERS:
        app.include_router(router)
    for error, answer in (
        (Refusal, _refused),
        (SeineError, _refused),
        (OSError, _failed),
        (HTTPException, _not_routed),
        (RequestValidationError, _invalid),
        (Exception, _broken),
    ):
        app.add_exception_handler(error, answer)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if is_full_disk(error):
        return _full(request, error)
    return refusal_answer(error if isinstance(error, Refusal) else refusal_of(cast(SeineError, error)))


async def _failed(request: Request, error: Exception) -> Response:
    if is_full_disk(error):
        return _full(request, error)
    reason = getattr(error, "strerror", None) or error
    return refusal_answer(refusal_of(RunError(f"the service failed: {reason}")))


def _full(request: Request, error: Exception) -> Response:
    """There was no room for what the request would have written; what it asked for is not done."""
    _logger.warning("%s: %s", FULL_DISK, error, extra={"path": request.scope["path"]})
    hint = "nothing was changed: make room where the service's folder is, and ask again"
    return refusal_answer(Refusal(HTTPStatus.INSUFFICIENT_STORAGE, SeineError(FULL_DISK, hint=hint)))


async def _invalid(request: Request, error: Exception) -> Response:
    wrong = cast(RequestValidationError, error)
    return refusal_answer(refusal_of(invalid(wrong.errors(), wrong.body)))


async def _not_routed(request: Request, error: Exception) -> Response:
    """There is no such path, or not this method of it; or a body that cannot be parsed."""
    status, path = cast(HTTPException, error).status_code, request.scope["path"]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = ", ".join(_methods(request))
        reason = SeineError(f"{request.method} is not possible on {path}", hint=f"possible: {allowed}")
        return refusal_answer(Refusal(HTTPStatus.METHOD_NOT_ALLOWED, reason, Allow=allowed))
    if status == HTTPStatus.NOT_FOUND:
        reason = SeineError(f"there is no {path}", hint=f"see {DESCRIPTION}")
        return refusal_answer(Refusal(HTTPStatus.NOT_FOUND, reason))
    return refusal_answer(refusal_of(SeineError("the body is no JSON")))


def _methods(request: Request) -> list[str]:
    """The methods that are possible on a path."""
    routes = [route for router in _ROUTERS for route in router.routes if isinstance(route, Route)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted(method for route in matching for method in route.methods or ())


async def _broken(request: Request, error: Exception) -> Response:
    """A fault of ours; whoever called the application logs it."""
    if is_full_disk(error):
        return _full(request, error)
    reason = SeineError(f"internal error: {type(error).__name__}", hint="the service's log says more")
    return refusal_answer(Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, reason))


_MOST_SECONDS = 5.0  # a pipeline that is behind is not waited for longer: the answer names the first entry


async def wait_for_topics(calls: ServiceCalls, request: Request, outcome: Outcome) -> None:
    """Return when topics count for the queries of a change, or nobody listens, or after some seconds."""
    publisher = calls.service.publisher
    if not topics_count(publisher.current, outcome):
        await calls.wakeup.wait_for(
            lambda: publisher.ended or topics_count(publisher.current, outcome),
            _MOST_SECONDS,
            lambda: has_gone(request),
        )


def topics_count(state: PublishedState, outcome: Outcome) -> bool:
    """Whether no entry from before a change may still read a stream of its queries that Spark reads."""
    return state.figures.entry >= outcome.entry - 1 or not _reads_topics(state, outcome)


def _reads_topics(state: PublishedState, outcome: Outcome) -> bool:
    streams, queries = state.view.declared.streams, state.view.registered
    begun = [queries[name.lower()] for name in outcome.registered if name.lower() in queries]
    names = {name.lower() for query in begun for name in query.position.streams}
    return any(streams[name].reader is not None for name in names if name in streams)
