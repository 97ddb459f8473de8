"""Requests that are nearly right: every route of the service with parameters and bodies made up by chance."""

from __future__ import annotations

import json
from random import Random
from typing import Any
from urllib.parse import quote

from seine.service.http.app import description
from tests.fuzz.mutations import some_script

_VALUES: tuple[Any, ...] = (
    *(
        "",
        "q",
        "s",
        "start",
        "end",
        "recent",
        "-1",
        "0",
        "1e9",
        "99999999999999999999",
        "NaN",
        "\0",
        "é",
        "..",
        "a/b",
    ),
    *(None, True, 0, -1, 1.5, 10**30, [], {}, [[]], {"a": 1}, "x" * 3000),
)
_METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS")
_FIELDS = (
    "script",
    "file",
    "folder",
    "replace",
    "related",
    "query",
    "text",
    "rows",
    "streams",
    "limit",
    "unknown",
)
_PARAMETERS = (
    "from",
    "wait",
    "limit",
    "offset",
    "stream",
    "after",
    "before",
    "query",
    "by",
    "order",
    "state",
    "text",
    "left",
    "right",
    "bindings",
)
_WAITING = ("/v1/queries/{name}/events",)  # they are answered for minutes


def routes() -> list[tuple[str, str]]:
    """The methods and paths that the service has."""
    paths = description()["paths"]
    return sorted((method.upper(), path) for path in paths for method in paths[path] if path not in _WAITING)


def some_request(rng: Random) -> tuple[str, str, str | None, dict[str, str]]:
    """Method, path, body and headers."""
    method, path = rng.choice(routes())
    if rng.random() < 0.05:
        method = rng.choice(_METHODS)
    while "{" in path:
        begin, end = path.index("{"), path.index("}")
        path = path[:begin] + quote(str(rng.choice(_VALUES)), safe="") + path[end + 1 :]
    parameters = [(rng.choice(_PARAMETERS), str(rng.choice(_VALUES))) for _ in range(rng.randrange(3))]
    words = "&".join(f"{name}={quote(value)}" for name, value in parameters if name != "wait")
    body = _some_body(rng) if method in ("POST", "PUT", "PATCH") else None
    headers = (
        {} if body is None else {"Content_Type": rng.choice(["application/json"] * 4 + ["text/plain", ""])}
    )
    return method, f"{path}?{words}" if words else path, body, headers


def _some_body(rng: Random) -> str:
    if rng.random() < 0.1:
        return rng.choice(["", "{", "[]", "null", '"x"', "{} {}", "\0", '{"script": }'])
    form: dict[str, Any] = {rng.choice(_FIELDS): rng.choice(_VALUES) for _ in range(rng.randrange(4))}
    if rng.random() < 0.7:
        form["script"] = some_script(rng)
    text = json.dumps(form)
    return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.1 else text
