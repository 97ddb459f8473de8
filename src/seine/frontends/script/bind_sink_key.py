"""The key of a sink: columns that all its queries have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.row_keys import identifying_columns
from seine.algebra.search_plan import Search
from seine.algebra.sink_definition import SinkDef
from seine.errors import Position, ScriptError
from seine.frontends.script.create_sink import MOST_IDENTIFIER
from seine.frontends.text.names import suggest


def bind_sink_key(sink: SinkDef, queries: Sequence[Query], where: Position) -> SinkDef:
    """The sink with the names that its key's columns have in records, as a list of JSON.

    Names are separated by commas, and compared without case; one with a comma in it cannot be named.
    """
    if not (text := sink.option("key")):
        return sink
    names: list[str] = []
    for part in text.split(","):
        columns = {_column(sink, part.strip(), query, where) for query in queries}
        if len(columns) > 1 or columns & {*names}:
            reason = "is named twice" if len(columns) == 1 else "has several spellings in the queries"
            raise ScriptError(f"sink {sink.name}: key column {part.strip()} {reason}", where=where)
        names += columns
    if sink.kind == "postgresql":
        _refuse_ambiguous(sink, names, queries, where)
    options = tuple((key, json.dumps(names) if key == "key" else one) for key, one in sink.options)
    return replace(sink, options=options)


def _column(sink: SinkDef, name: str, query: Query, where: Position) -> str:
    columns = (
        [] if isinstance(query.plan, Search | DocumentQuery) else [one.name for one in query.plan.schema]
    )
    exact = [column for column in columns if column == name]
    alike = exact or [column for column in columns if column.lower() == name.lower()]
    if len(alike) != 1:
        hint = suggest(name, columns, "columns") or "its records have no columns: leave the key out"
        raise ScriptError(
            f"sink {sink.name}: query {query.name} has no key column {name}", hint=hint, where=where
        )
    return alike[0]


def _refuse_ambiguous(sink: SinkDef, names: Sequence[str], queries: Sequence[Query], where: Position) -> None:
    """Refuse an upsert by columns that do not identify a row."""

    def refusal(reason: str, hint: str) -> ScriptError:
        return ScriptError(f"sink {sink.name}: {reason}", hint=hint, where=where)

    if len(queries) > 1:
        raise refusal("an upsert is of one query", f"one sink and one table for each, or {_APPEND}")
    (query,) = queries
    fields, needed = query.plan.schema, identifying_columns(query.plan)
    if any(len(field.name.encode()) > MOST_IDENTIFIER for field in fields):
        raise refusal(f"the name of a column has more than {MOST_IDENTIFIER} bytes", "give it an alias")
    if needed is None:
        hint = f"GROUP BY and DISTINCT identify rows, if their columns are selected; or {_APPEND}"
        raise refusal(f"no key identifies a row of query {query.name}", hint)
    missing = [fields[place].name for place in sorted(needed) if fields[place].name not in names]
    if missing:
        hint = f"name also {', '.join(missing)}"
        raise refusal(f"the key does not identify a row of query {query.name}", hint)


_APPEND = "leave the key out to append records"
