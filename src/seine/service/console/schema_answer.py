"""What can be named in a script for a service: tables with their columns, and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.functions.aggregate_calls import BUILT_IN
from seine.algebra.functions.resolve_call import function_names
from seine.algebra.plan_text import interval_text
from seine.algebra.view_definition import ViewDef
from seine.frontends.script.script import Declarations
from seine.service.console.console_answers import SchemaAnswer, TableAnswer


def schema_answer(declared: Declarations, is_pushed: Callable[[StreamDef], bool]) -> SchemaAnswer:
    """The tables in the order of their declaration, streams first, and the functions by name."""
    tables = [_stream(stream, is_pushed(stream)) for stream in declared.streams.values()]
    tables += [_relation(relation) for relation in declared.relations.values()]
    tables += [_view(view) for view in declared.views.values()]
    tables += [{**_stream(one, False), "kind": "published"} for one in declared.published.values()]
    return {"tables": tables, "functions": sorted({*function_names(), *BUILT_IN})}


def _stream(stream: StreamDef, pushed: bool) -> TableAnswer:
    names = [field.name for field in stream.declared]
    return {
        "name": stream.name,
        "kind": "stream",
        "columns": [{"name": field.name, "type": str(field.type)} for field in stream.declared],
        "time": names[stream.time],
        "window": _window(stream),
        "punctuated": [[names[column] for column in scheme.columns] for scheme in stream.schemes],
        "pushed": pushed,
    }


def _window(stream: StreamDef) -> str | None:
    if stream.window is None:
        return None
    return interval_text(stream.window) if stream.domain == "timestamp" else str(stream.window)


def _relation(relation: RelationDef) -> TableAnswer:
    columns = [(field.name, str(field.type)) for field in relation.fields]
    return _plain(relation.name, "relation", columns)


def _view(view: ViewDef) -> TableAnswer:
    return _plain(view.name, "view", [(name, "") for name in view.columns])


def _plain(name: str, kind: Literal["relation", "view"], columns: list[tuple[str, str]]) -> TableAnswer:
    return {
        "name": name,
        "kind": kind,
        "columns": [{"name": column, "type": text} for column, text in columns],
        "time": None,
        "window": None,
        "punctuated": [],
        "pushed": False,
    }
