"""The console over HTTP: its page and files, which need no token, and what it asks beyond the commands."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import AfterValidator

from seine.service.answers import DeadLetterPage
from seine.service.console.console_answers import (
    BatchesAnswer,
    BoundDocumentsAnswer,
    CheckAnswer,
    NetworkAnswer,
    NodeAnswer,
    QueryPage,
    SchemaAnswer,
    StoryAnswer,
    TrialAnswer,
)
from seine.service.console.console_files import CONSOLE_PATHS, console_file
from seine.service.console.query_page import QueryChoice, QueryOrder, QueryState
from seine.service.console.query_trial import BusyError
from seine.service.http.guarded_route import GuardedRoute
from seine.service.http.refusals import ErrorAnswer, JsonAnswer, Refusal
from seine.service.http.script_request import ScriptRequest
from seine.service.http.service_calls import Asker, Calls

_MOST_LINES = 1000  # queries of a page
_MOST_QUERIES = 10**9
_MOST_PLACE = 10**18 - 1
_RETRY_SECONDS = "5"  # when as many scripts are being tried as may be
_MOST_BINDINGS_TEXT = 16_000

PAGE = APIRouter(route_class=GuardedRoute, redirect_slashes=False, include_in_schema=False)
CONSOLE = APIRouter(
    route_class=GuardedRoute,
    redirect_slashes=False,
    responses={"default": {"model": ErrorAnswer, "description": "refused"}},
)


async def _page(request: Request) -> Response:
    """A file of the console; the browser asks whether it has changed."""
    file = console_file(request.scope["path"])
    if request.headers.get("If-None-Match") == file.headers["ETag"]:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=file.headers)
    return Response(file.content, headers=file.headers)


for _path in CONSOLE_PATHS:
    PAGE.add_api_route(_path, _page, methods=["GET"], response_class=Response)


@CONSOLE.get(
    "/v1/query-page",
    operation_id="query_page",
    summary="Some of the queries: those whose name or text has a text in it, in an order",
    response_model=QueryPage,
)
async def _query_page(
    calls: Calls,
    text: Annotated[str, Query(description="in their names or texts, in any case")] = "",
    state: Annotated[QueryState | None, Query(description="those in this state alone")] = None,
    order: Annotated[QueryOrder, Query(description="what comes first")] = "registered",
    offset: Annotated[int, Query(ge=0, le=_MOST_QUERIES, description="how many to leave out first")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST_LINES, description="queries of a page")] = 100,
) -> Response:
    choice = QueryChoice(text, state, order)
    return JsonAnswer(await calls.reads.run(lambda: calls.console.query_page(choice, offset, limit)))


@CONSOLE.get(
    "/v1/queries/{name}/story",
    operation_id="story",
    summary="What a query does in the network: what it shares with whom, and why",
    response_model=StoryAnswer,
)
async def _story(calls: Calls, name: Annotated[str, Path(), AfterValidator(unquote)]) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.console.story(name)))


@CONSOLE.get(
    "/v1/queries/{name}/documents",
    operation_id="documents",
    summary="The documents that a record of an XSCL query was made of, if they came recently",
    response_model=BoundDocumentsAnswer,
)
async def _documents(
    calls: Calls,
    name: Annotated[str, Path(), AfterValidator(unquote)],
    bindings: Annotated[
        str, Query(max_length=_MOST_BINDINGS_TEXT, description="those of the record, as JSON")
    ],
    right: Annotated[str, Query(description="its right_ts")],
    left: Annotated[str | None, Query(description="its left_ts, if it has one")] = None,
) -> Response:
    console = calls.console
    return JsonAnswer(await calls.reads.run(lambda: console.documents(name, (left, right), bindings)))


@CONSOLE.get(
    "/v1/schema",
    operation_id="schema",
    summary="What a script can name: streams, relations and views with their columns, and functions",
    response_model=SchemaAnswer,
)
async def _schema(calls: Calls) -> Response:
    return JsonAnswer(await calls.reads.run(calls.console.schema))


@CONSOLE.post(
    "/v1/check",
    operation_id="check",
    summary="What a registration of a script would say: verdicts, cures, sharing; nothing is registered",
    response_model=CheckAnswer,
)
async def _check(calls: Calls, who: Asker, body: ScriptRequest) -> Response:
    console = calls.console
    checked = await calls.reads.run(lambda: console.check(who, body.script, body.folder, body.replace))
    return JsonAnswer(checked)


@CONSOLE.post(
    "/v1/try",
    operation_id="try_out",
    summary="What the queries of a script say of the last rows of their streams; nothing is registered",
    response_model=TrialAnswer,
    responses={429: {"model": ErrorAnswer, "description": "as many scripts are being tried as may be"}},
)
async def _try_out(calls: Calls, who: Asker, body: ScriptRequest) -> Response:
    console = calls.console
    try:
        tried = await calls.reads.run(lambda: console.try_out(who, body.script, body.folder, body.replace))
    except BusyError as error:
        raise Refusal(HTTPStatus.TOO_MANY_REQUESTS, error, **{"Retry-After": _RETRY_SECONDS}) from None
    return Response(tried.to_json(), media_type="application/json")


@CONSOLE.get(
    "/v1/network",
    operation_id="network",
    summary="The network as a picture: boxes in their places, with what they hold and send",
    response_model=NetworkAnswer,
)
async def _network(
    calls: Calls, query: Annotated[str | None, Query(description="say where this one is")] = None
) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.console.network(query)))


@CONSOLE.get(
    "/v1/network/{node}",
    operation_id="node",
    summary="A node of the network: what it does, who uses it and why they share it",
    response_model=NodeAnswer,
)
async def _node(calls: Calls, node: Annotated[int, Path(ge=0, le=_MOST_QUERIES)]) -> Response:
    return JsonAnswer(await calls.reads.run(lambda: calls.console.node(node)))


@CONSOLE.get(
    "/v1/batches",
    operation_id="batches",
    summary="The last micro-batches: how long they took, stage by stage, and what waits",
    response_model=BatchesAnswer,
)
async def _batches(calls: Calls) -> Response:
    return JsonAnswer(await calls.reads.run(calls.console.batches))


@CONSOLE.get(
    "/v1/latest-dead-letters",
    operation_id="latest_dead_letters",
    summary="The newest lines that were not let in, with the reasons, page by page backwards",
    response_model=DeadLetterPage,
)
async def _latest_dead_letters(
    calls: Calls,
    before: Annotated[
        int | None, Query(ge=0, le=_MOST_PLACE, description="the `next` of a page; else the newest")
    ] = None,
    stream: Annotated[str | None, Query(description="of this stream alone")] = None,
    limit: Annotated[int, Query(ge=1, le=_MOST_LINES, description="letters of a page")] = 50,
) -> Response:
    service = calls.service
    return JsonAnswer(await calls.reads.run(lambda: service.latest_dead_letters(before, stream, limit)))
