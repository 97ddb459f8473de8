"""The OpenAPI description of the HTTP interface, made from the table that answers requests."""

from __future__ import annotations

import re
from typing import Any

from seine.service.api import ROUTES, ApiRoute
from seine.service.related import MOST_QUERIES

Form = dict[str, Any]


def _object(**properties: Form) -> Form:
    return {"type": "object", "required": list(properties), "properties": properties}


_WHOLE: Form = {"type": "integer"}
_NUMBER: Form = {"type": "number"}
_TEXT: Form = {"type": "string"}
_SHARE: Form = {
    "type": ["number", "null"],
    "description": "an estimate of the share of the exact importance that was told within memory",
}
_NAMES: Form = {"type": "array", "items": _TEXT}
_RELATIONS: Form = {"type": "array", "items": {"$ref": "#/components/schemas/Relation"}}

SCHEMAS: dict[str, Form] = {
    "Status": _object(
        folder=_TEXT,
        process=_WHOLE,
        version={**_WHOLE, "description": "of the network"},
        entry={**_WHOLE, "description": "the last that was delivered; -1 before the first"},
        written={**_WHOLE, "description": "the last that was admitted"},
        batches=_WHOLE,
        input_rows=_WHOLE,
        output_rows=_WHOLE,
        dead_letters=_WHOLE,
        rows_per_second={**_NUMBER, "description": "of late"},
        state_rows={**_WHOLE, "description": "tuples and promises held for joins"},
        state_by_query={
            "type": "object",
            "description": "of the queries that hold most, how much of which streams; joins are shared",
            "additionalProperties": {"type": "object", "additionalProperties": _WHOLE},
        },
        shed={**_WHOLE, "description": "tuples that memory limits pushed out or kept out"},
        exact_share=_SHARE,
        streams=_WHOLE,
        relations=_WHOLE,
        queries=_object(running=_WHOLE, paused=_WHOLE),
        nodes=_WHOLE,
        depth=_object(used=_WHOLE, stages=_WHOLE),
    ),
    "Query": _object(
        query=_TEXT,
        state={"type": "string", "enum": ["running", "paused"]},
        since={
            "type": "object",
            "description": "where it began: the first entry that counts, the length of the results then, "
            "and of each of its streams the number of the next arrival",
            "properties": {
                "entry": _WHOLE,
                "results": _WHOLE,
                "streams": {"type": "object", "additionalProperties": _WHOLE},
            },
        },
        outputs=_WHOLE,
        state_rows={
            "type": "object",
            "description": "tuples and promises held for its joins, by stream",
            "additionalProperties": _WHOLE,
        },
        importance={
            "type": ["number", "null"],
            "description": "the sum over its results; null if they have none",
        },
        shed={**_WHOLE, "description": "tuples that its memory pushed out or kept out"},
        exact_share=_SHARE,
        text=_TEXT,
    ),
    "Queries": {"type": "array", "items": {"$ref": "#/components/schemas/Query"}},
    "Relation": _object(
        kind={
            "type": "string",
            "enum": ["select", "join", "group", "union", "union_all", "except"],
            "description": "what is compared: conditions, keys of groups, inputs of a set operator",
        },
        over={**_NAMES, "description": "of what the conditions are; else empty"},
        equal={**_NAMES, "description": "queries that have the same"},
        weaker={**_NAMES, "description": "queries with weaker conditions, or fewer keys or inputs"},
        stronger={**_NAMES, "description": "queries with stronger conditions, or more keys or inputs"},
        text={**_TEXT, "description": "the same in words"},
    ),
    "Related": _object(query=_TEXT, related=_RELATIONS),
    "Outcome": _object(
        version={**_WHOLE, "description": "of the network after the change"},
        entry={**_WHOLE, "description": "the first that runs with it"},
        registered=_NAMES,
        dropped=_NAMES,
        related={
            "type": ["object", "null"],
            "description": "of each query that was registered, a few that have something in common with it; "
            f"null if nobody has looked: they are more than {MOST_QUERIES}, or it was not asked for",
            "additionalProperties": _RELATIONS,
        },
    ),
    "Error": _object(
        error={
            "type": "object",
            "required": ["message"],
            "properties": {
                "message": _TEXT,
                "hint": _TEXT,
                "where": _object(file=_TEXT, line=_WHOLE, column=_WHOLE),
            },
        }
    ),
}

_REFUSALS = {
    "400": "refused: the script, or the request, is wrong",
    "401": "the token is missing or wrong",
    "404": "there is no such query or path",
    "409": "somebody else has taken the name, or still uses what is to be dropped",
    "413": "the body is too large",
    "415": "the body is not application/json",
    "default": "refused before it was looked at, or the service failed",
}


def description() -> Form:
    """The whole document."""
    paths: dict[str, Form] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Seine", "version": "1", "description": "Standing queries that come and go."},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: ApiRoute) -> Form:
    parameters: list[Form] = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    for name, schema in route.words.items():
        kind = {"type": schema["type"]}
        about = schema["description"]
        parameters.append({"name": name, "in": "query", "schema": kind, "description": about})
    form: Form = {"operationId": route.name, "summary": route.summary, "parameters": parameters}
    if route.body is not None:
        form["requestBody"] = {"required": True, "content": {"application/json": {"schema": route.body}}}
    form["responses"] = {"200": _answer(route), **{code: _refusal(code) for code in _REFUSALS}}
    return form


def _answer(route: ApiRoute) -> Form:
    if route.reply == "Records":
        next_: Form = {"schema": _WHOLE, "description": "where to go on"}
        content: Form = {"application/x-ndjson": {"schema": _TEXT}}
        return {"description": "records, one a line", "headers": {"Seine-Next": next_}, "content": content}
    schema = {"$ref": f"#/components/schemas/{route.reply}"}
    return {"description": "done", "content": {"application/json": {"schema": schema}}}


def _refusal(code: str) -> Form:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": _REFUSALS[code], "content": {"application/json": {"schema": schema}}}
