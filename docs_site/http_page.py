"""The reference page of HTTP routes, from the description that the service gives of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seine.service.http.app import description
from seine.service.http.route_roles import ROUTE_ROLES

_HEAD = """# HTTP routes

Every request that a service answers, as `GET /v1/openapi.json` describes it. What they are for is told in
[the service](../service.md#over-http); who may ask, in [roles](../service.md#who-may-do-what).
"""


def http_page() -> str:
    told = description()
    lines = [_HEAD]
    for path, methods in told["paths"].items():
        for method, route in methods.items():
            lines += _route(method.upper(), path, route)
    lines += ["## Forms", "", "What bodies and answers have in them; `?` marks what may be missing.", ""]
    for name, schema in told["components"]["schemas"].items():
        lines += _form(name, schema)
    return "\n".join(lines)


def _route(method: str, path: str, route: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `{method} {path}`"
    yield ""
    role = ROUTE_ROLES.get((method, path), "admin")
    yield f"{route['summary']}. Role: *{role}*." if role else f"{route['summary']}. It needs no token."
    yield ""
    parameters = route.get("parameters", [])
    if parameters:
        yield from ("| parameter | type | default | |", "| --- | --- | --- | --- |")
        yield from map(_parameter, parameters)
        yield ""
    body = route.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield f"Body: `{kind}`, {_type(content.get('schema', {}))}."
        yield ""
    for kind, content in route["responses"].get("200", {}).get("content", {}).items():
        yield f"Answer: `{kind}`, {_type(content.get('schema', {}))}."
        yield ""


def _parameter(parameter: Mapping[str, Any]) -> str:
    schema = parameter["schema"]
    default = f"`{schema['default']}`" if schema.get("default") not in (None, "") else ""
    place = "" if parameter["in"] == "query" else f" (in the {parameter['in']})"
    name, text = parameter["name"], parameter.get("description", "")
    return f"| `{name}`{place} | {_type(schema)} | {default} | {text} |"


def _form(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield schema.get("description", "").split("\n\n")[0].replace("\n", " ")
    yield ""
    properties = schema.get("properties", {})
    if properties:
        needed = schema.get("required", [])
        yield from ("| property | type | |", "| --- | --- | --- |")
        for key, value in properties.items():
            mark = "" if key in needed else "?"
            yield f"| `{key}`{mark} | {_type(value)} | {value.get('description', '')} |"
        yield ""


def _type(schema: Mapping[str, Any]) -> str:
    """A type in words, with a link where it is a form."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    bounds = [f"{word} {schema[key]}" for key, word in _BOUNDS.items() if key in schema]
    return " ".join([str(schema.get("type", "anything")), *bounds])


_BOUNDS = {"minimum": "from", "maximum": "to"}
