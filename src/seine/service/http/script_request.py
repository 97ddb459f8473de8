"""The body of a registration, and what is said of one that is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from seine.errors import SeineError
from seine.service.http.refusals import possible

LONGEST_WAIT = 60.0  # seconds of a long poll
_TYPES = {"string_type": "string", "bool_type": "boolean"}


def _refuse_broken_text(text: str) -> str:
    if re.search("[\0\ud800-\udfff]", text):
        raise ValueError("broken text")
    return text


Text = Annotated[str, AfterValidator(_refuse_broken_text)]


class ScriptRequest(BaseModel):
    """A script to carry out, all of it or nothing."""

    model_config = ConfigDict(extra="forbid", strict=True)

    script: Annotated[Text, Field(description="statements, as in a file")]
    file: Annotated[Text, Field(description="what to call it when something in it is refused")] = "<request>"
    folder: Annotated[Text, Field(description="what relative paths in FROM are relative to")] = ""
    replace: Annotated[bool, Field(description="let queries take the place of those of their name")] = False
    related: Annotated[bool, Field(description="say what they have in common with others")] = True


def _query_complaint(error: Mapping[str, Any]) -> str:
    """What is wrong with a parameter of the address.

    >>> _query_complaint({"type": "less_than_equal", "ctx": {"le": 60.0}})
    'must be at most 60'
    """
    bounds = error.get("ctx", {})
    if "expected" in bounds:
        return f"must be {bounds['expected']}"
    if "ge" in bounds:
        return f"must be at least {bounds['ge']:g}"
    if "le" in bounds:
        return f"must be at most {bounds['le']:g}"
    return "must be a number"


def invalid(errors: Sequence[Mapping[str, Any]], body: object = None) -> SeineError:
    """What is wrong with a request, by the first complaint of its validation: in the order of the body's
    properties, and of one that is missing only when those that are there are right.

    >>> invalid([{"type": "missing", "loc": ("body", "script")}]).message
    "'script' is missing"
    """
    places = {name: place for place, name in enumerate(body)} if isinstance(body, dict) else {}
    first = min(errors, key=lambda error: places.get(error["loc"][-1], len(places)))
    kind, loc = first["type"], first["loc"]
    name = loc[-1]
    if kind == "string_unicode":  # a property's name, of which validation says no more
        name, kind = first["input"], "extra_forbidden"
        loc = ("body", name)
    if loc[0] in ("query", "path"):
        return SeineError(f"{name}: {_query_complaint(errors[0])}")
    if kind == "json_invalid" or (kind == "missing" and len(loc) == 1):
        return SeineError("the body is no JSON")
    if len(loc) == 1:
        return SeineError("the body must be a JSON object")
    if kind == "missing":
        return SeineError(f"'{name}' is missing")
    if kind == "extra_forbidden":
        return SeineError(f"unknown property '{name}'", hint=possible(list(ScriptRequest.model_fields)))
    if kind in _TYPES:
        return SeineError(f"'{name}' must be a {_TYPES[kind]}")
    return SeineError(f"'{name}' has a character that is none", hint="leave out U+0000 and surrogates")
