"""What can be asked of a service over HTTP: one table, from which requests are answered and described."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from seine.errors import SeineError
from seine.service.service import Service
from seine.service.tail import TailedRecords, read_records

LONGEST_WAIT = 60.0

Form = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a handler gets: names of the path, of the query string, and the checked body."""

    path: Mapping[str, str]
    words: Mapping[str, str]
    body: Form = field(default_factory=dict)


@dataclass(frozen=True)
class ApiRoute:
    """A method and a path with {names}; `body` and `words` are JSON schemas of what it takes."""

    method: str
    path: str
    name: str
    summary: str
    answer: Callable[[Service, Request], Form | list[Form] | TailedRecords]
    reply: str  # the schema of what it answers
    body: Form | None = None
    words: Mapping[str, Form] = field(default_factory=dict)

    def match(self, path: str) -> dict[str, str] | None:
        """The names in a path, if it is one of this route.

        >>> ROUTES[2].match("/v1/queries/a%20b")
        {'name': 'a b'}
        """
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, path)
        return {key: unquote(value) for key, value in found.groupdict().items()} if found else None


def _status(service: Service, request: Request) -> Form:
    return service.status()


def _list(service: Service, request: Request) -> list[Form]:
    return service.queries()


def _query(service: Service, request: Request) -> Form:
    return service.query(request.path["name"])


def _related(service: Service, request: Request) -> Form:
    return service.related(request.path["name"])


def _register(service: Service, request: Request) -> Form:
    body = request.body
    outcome = service.registrar.register(
        body["script"],
        file=body.get("file", "<request>"),
        folder=os.path.join(service.folder.path, body.get("folder", "")),
        replace=body.get("replace", False),
    )
    if body.get("related", True):
        outcome = service.registrar.relate(outcome)
    return outcome.to_json()


def _drop(service: Service, request: Request) -> Form:
    return service.registrar.drop(request.path["name"]).to_json()


def _pause(service: Service, request: Request) -> Form:
    return service.registrar.pause(request.path["name"]).to_json()


def _resume(service: Service, request: Request) -> Form:
    return service.registrar.resume(request.path["name"]).to_json()


def _results(service: Service, request: Request) -> TailedRecords:
    """Lines of one query; an empty answer after `wait` seconds says that there are none yet."""
    standing = service.present.find(request.path["name"])
    start = _start(service, standing.position.results, request.words.get("from", "start"))
    wait = _number(request.words, "wait", 0.0, LONGEST_WAIT)
    found = _read(service, standing.query.name, start)
    if not found.lines and found.next >= service.sink.settled and wait:
        service.wait_beyond(found.next, wait)
        found = _read(service, standing.query.name, found.next)
    return found


def _read(service: Service, query: str, start: int) -> TailedRecords:
    return read_records(service.folder.results, query, start, service.sink.settled)


def _start(service: Service, first: int, word: str) -> int:
    if word in ("start", "end"):
        return first if word == "start" else service.sink.settled
    if not re.fullmatch(r"\d{1,18}", word) or int(word) > service.sink.settled:
        raise SeineError(
            f"there is no place '{word}' in the results",
            hint="from is start, end, or what the answer before this one said in Seine-Next",
        )
    return int(word)


def _number(words: Mapping[str, str], name: str, default: float, most: float) -> float:
    try:
        value = float(words.get(name, default))
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise SeineError(f"{name} must be a number from 0 to {most:g}")
    return value


_SCRIPT: Form = {
    "type": "object",
    "required": ["script"],
    "additionalProperties": False,
    "properties": {
        "script": {"type": "string", "description": "statements, as in a file"},
        "file": {"type": "string", "description": "what to call it when something in it is refused"},
        "folder": {"type": "string", "description": "what relative paths in FROM are relative to"},
        "replace": {"type": "boolean", "description": "let queries take the place of those of their name"},
        "related": {"type": "boolean", "description": "say what they have in common with others (yes)"},
    },
}
_WORDS: dict[str, Form] = {
    "from": {"type": "string", "description": "start, end, or the Seine-Next of the answer before"},
    "wait": {"type": "number", "description": f"seconds to wait for a record, at most {LONGEST_WAIT:g}"},
}

ROUTES = (
    ApiRoute("GET", "/v1/status", "status", "What the service is doing, in numbers", _status, "Status"),
    ApiRoute("GET", "/v1/queries", "list", "Every query, with what it has delivered", _list, "Queries"),
    ApiRoute("GET", "/v1/queries/{name}", "show", "One query", _query, "Query"),
    ApiRoute(
        "GET",
        "/v1/queries/{name}/related",
        "related",
        "What a query has in common with the others",
        _related,
        "Related",
    ),
    ApiRoute("DELETE", "/v1/queries/{name}", "drop", "Drop a query", _drop, "Outcome"),
    ApiRoute("POST", "/v1/queries/{name}/pause", "pause", "Pause a query", _pause, "Outcome"),
    ApiRoute(
        "POST", "/v1/queries/{name}/resume", "resume", "Let a paused query begin anew", _resume, "Outcome"
    ),
    ApiRoute(
        "GET",
        "/v1/queries/{name}/results",
        "results",
        "The records of a query from a place on, as JSON Lines; Seine-Next says where to go on",
        _results,
        "TailedRecords",
        words=_WORDS,
    ),
    ApiRoute(
        "POST",
        "/v1/scripts",
        "register",
        "Carry out a script, all of it or nothing",
        _register,
        "Outcome",
        body=_SCRIPT,
    ),
)
