"""The read side of the catalog: typed queries against one snapshot."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from seine.algebra.definitions import JoinEdge, RelationDef, Scheme, SinkDef, Source, StreamDef, with_since
from seine.algebra.types import Field, Type
from seine.catalog.index.search_index import IndexSearch
from seine.catalog.tables import schema as t
from seine.catalog.tables.rows import name_key
from seine.catalog.tables.stored import QueryPosition, StoredQuery, StoredSink, with_options
from seine.typed_json import read_json


class CatalogView:
    """The contents of the catalog as one transaction sees them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def streams(self) -> dict[str, StreamDef]:
        """All streams by name, in the order of their declaration."""
        return self._streams(None)

    def stream(self, name: str) -> StreamDef | None:
        """The stream of that name in any case, or None."""
        return next(iter(self._streams(name).values()), None)

    def relations(self) -> dict[str, RelationDef]:
        """All relations by name, in the order of their declaration."""
        return self._relations(None)

    def relation(self, name: str) -> RelationDef | None:
        """The relation of that name in any case, or None."""
        return next(iter(self._relations(name).values()), None)

    def edges(self) -> list[JoinEdge]:
        """The declared join edges as they were written, in the order of their declaration."""
        left, right = t.input_.alias(), t.input_.alias()
        edge = t.join_edge
        statement = (
            select(left.c.name, edge.c.left_column, right.c.name, edge.c.right_column)
            .join(left, left.c.id == edge.c.left_id)
            .join(right, right.c.id == edge.c.right_id)
            .order_by(edge.c.id)
        )
        return [JoinEdge(*row) for row in self._rows(statement)]

    def queries(self) -> list[StoredQuery]:
        """All queries in the order of their registration."""
        reads: dict[int, list[str]] = defaultdict(list)
        for query_id, name in self._rows(_inputs_read()):
            reads[query_id].append(name)
        return [
            _stored_query(row, reads[row.id]) for row in self._rows(_owned_queries().order_by(t.query.c.id))
        ]

    def query(self, name: str) -> StoredQuery | None:
        """The query of that name in any case, or None."""
        row = self._connection.execute(_owned_queries().where(t.query.c.key == name_key(name))).first()
        if row is None:
            return None
        reads = self._rows(_inputs_read().where(t.query_input.c.query_id == row.id))
        return _stored_query(row, [name for _, name in reads])

    def sinks(self) -> list[StoredSink]:
        """All sinks in the order of their creation."""
        reads: dict[int, list[str]] = defaultdict(list)
        part = t.sink_query.c
        names = select(part.sink_id, t.query.c.name).join(t.query, t.query.c.id == part.query_id)
        for sink_id, name in self._rows(names.order_by(part.sink_id, part.place)):
            reads[sink_id].append(name)
        rows = self._rows(select(t.sink).order_by(t.sink.c.id))
        return [_stored_sink(row, reads[row.id]) for row in rows]

    def version(self) -> int:
        """The current network version; 0 before the first."""
        return self._connection.execute(select(func.max(t.network_version.c.version))).scalar() or 0

    @property
    def index(self) -> IndexSearch:
        """The computation index: searches for predicate sets that equal, imply or follow from a given one."""
        return IndexSearch(self._connection)

    @property
    def users_index(self) -> IndexSearch:
        """The computation index for callers who need only names of queries: matches have no predicates."""
        return IndexSearch(self._connection, with_predicates=False)

    def setting(self, name: str, default: object = None) -> Any:
        """The JSON value stored under a name, or the default."""
        text = self._connection.execute(select(t.setting.c.value).where(t.setting.c.name == name)).scalar()
        return default if text is None else json.loads(text)

    def _rows(self, statement: Select[Any]) -> list[Any]:
        return list(self._connection.execute(statement).all())

    def _streams(self, name: str | None) -> dict[str, StreamDef]:
        statement = _named(select(t.input_, t.stream).join(t.stream), name)
        fields, schemes = self._fields(name), self._schemes(name)
        return {row.name: _stream(row, fields[row.id], schemes[row.id]) for row in self._rows(statement)}

    def _relations(self, name: str | None) -> dict[str, RelationDef]:
        statement = _named(select(t.input_, t.relation).join(t.relation), name)
        fields = self._fields(name)
        return {row.name: _relation(row, fields[row.id]) for row in self._rows(statement)}

    def _fields(self, name: str | None) -> dict[int, list[Field]]:
        statement = _named(select(t.column).join(t.input_), name).order_by(t.column.c.position)
        fields: dict[int, list[Field]] = defaultdict(list)
        for row in self._rows(statement):
            fields[row.input_id].append(Field(row.name, Type.parse(row.type)))
        return fields

    def _schemes(self, name: str | None) -> dict[int, list[Scheme]]:
        of, part = t.scheme.c, t.scheme_column.c
        places = defaultdict(list)
        for row in self._rows(select(t.scheme_column).order_by(part.stream_id, part.scheme, part.place)):
            places[row.stream_id, row.scheme].append(row.position)
        statement = select(t.scheme).join(t.input_, t.input_.c.id == of.stream_id)
        schemes: dict[int, list[Scheme]] = defaultdict(list)
        for row in self._rows(_named(statement, name).order_by(of.number)):
            columns = tuple(places[row.stream_id, row.number])
            scheme = Scheme(columns, row.lifespan, row.unique_key, row.timeout, row.reused)
            schemes[row.stream_id].append(scheme)
        return schemes


def _named(statement: Select[Any], name: str | None) -> Select[Any]:
    if name is not None:
        statement = statement.where(t.input_.c.key == name_key(name))
    return statement.order_by(t.input_.c.id)


def _owned_queries() -> Select[Any]:
    owner = t.query_owner
    return select(t.query, owner.c.owner).outerjoin(owner, owner.c.query_id == t.query.c.id)


def _inputs_read() -> Select[Any]:
    return (
        select(t.query_input.c.query_id, t.input_.c.name)
        .join(t.input_, t.input_.c.id == t.query_input.c.input_id)
        .order_by(t.query_input.c.query_id, t.input_.c.id)
    )


def _stream(row: Row[Any], fields: list[Field], schemes: list[Scheme]) -> StreamDef:
    return with_since(
        StreamDef(
            name=row.name,
            fields=tuple(fields),
            time=row.time_column,
            source=_source(row),
            window=row.life,
            lateness=row.lateness,
            schemes=tuple(schemes),
            retractable=row.retractable,
            importance=row.importance_column,
        )
    )


def _relation(row: Row[Any], fields: list[Field]) -> RelationDef:
    valid = None if row.valid_from is None else (row.valid_from, row.valid_to)
    return RelationDef(row.name, tuple(fields), _source(row), valid)


def _source(row: Row[Any]) -> Source | None:
    if row.source_path is None:
        return None
    return with_options(row.source_path, row.source_format, row.source_options)


def _stored_sink(row: Row[Any], queries: list[str]) -> StoredSink:
    options = tuple(map(tuple, json.loads(row.options)))
    sink = SinkDef(row.name, tuple(queries), row.target, row.format, options)
    return StoredSink(sink, row.identity, row.start)


def _stored_query(row: Row[Any], inputs: list[str]) -> StoredQuery:
    return StoredQuery(
        name=row.name,
        text=row.text,
        plan=json.loads(row.plan),
        inputs=tuple(inputs),
        options=json.loads(row.options),
        birth_epoch=row.born,
        position=read_json(row.position.encode(), QueryPosition) if row.position else None,
        paused=row.paused,
        owner=row.owner,
    )
