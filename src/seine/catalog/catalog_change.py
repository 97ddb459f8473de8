"""Typed writing of the catalog: everything of one change happens, or nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, update

from seine.algebra.definitions import JoinEdge, RelationDef, Source, StreamDef
from seine.algebra.types import Field
from seine.catalog import catalog_tables as t
from seine.catalog.catalog_view import CatalogView
from seine.catalog.index.enter_index import enter_index
from seine.catalog.index.leave_index import leave_index
from seine.catalog.index.placement import Placement
from seine.catalog.network_rows import save_version
from seine.catalog.stored import QueryPosition, StoredNode, StoredQuery, name_key, shown, storable
from seine.catalog.table_rows import ids_by_key, put, put_all, refusing
from seine.errors import SeineError
from seine.typed_json import write_json

_OTHER_NAME = "choose another name or drop it first"


class CatalogChange(CatalogView):
    """A transaction that writes, and reads what it has written.

    Of two writers that take the same name or network version, the unique constraint lets one
    win and the other gets a refusal. A refused call leaves no trace and the change may go on.
    """

    def add_stream(self, stream: StreamDef) -> None:
        with refusing(self._connection, _taken("stream or relation", stream.name), _OTHER_NAME):
            key = self._add_input(stream.name, "stream", stream.fields, stream.source)
            put(
                self._connection,
                t.stream,
                input_id=key,
                time_column=stream.time,
                life=stream.window,
                lateness=stream.lateness,
                retractable=stream.retractable,
                importance_column=stream.importance,
            )
            self._add_schemes(key, stream)

    def add_relation(self, relation: RelationDef) -> None:
        with refusing(self._connection, _taken("stream or relation", relation.name), _OTHER_NAME):
            key = self._add_input(relation.name, "relation", relation.fields, relation.source)
            begin, end = relation.valid or (None, None)
            put(self._connection, t.relation, input_id=key, valid_from=begin, valid_to=end)

    def add_edge(self, edge: JoinEdge) -> None:
        (left, left_column), (right, right_column) = ends = self._ends(edge)
        message = f"{shown(edge.left)} and {shown(edge.right)} are joined on these columns already"
        with refusing(self._connection, message, "drop that join first"):
            put(
                self._connection,
                t.join_edge,
                key=_edge_key(ends),
                left_id=left,
                left_column=left_column,
                right_id=right,
                right_column=right_column,
            )

    def add_query(self, query: StoredQuery) -> None:
        with refusing(self._connection, _taken("query", query.name), _OTHER_NAME):
            self._add_queries([query])

    def add_queries(self, queries: Sequence[StoredQuery]) -> None:
        """Add many at once, in order; if any name is taken, none is added."""
        with refusing(self._connection, "one of these queries has a name that is taken", _OTHER_NAME):
            self._add_queries(queries)

    def drop_stream(self, name: str) -> None:
        self._drop_input(name, "stream")

    def drop_relation(self, name: str) -> None:
        self._drop_input(name, "relation")

    def drop_edge(self, edge: JoinEdge) -> None:
        """Drop an edge, whichever way round it was written."""
        gone = self._connection.execute(
            delete(t.join_edge).where(t.join_edge.c.key == _edge_key(self._ends(edge)))
        )
        if not gone.rowcount:
            raise SeineError(f"{shown(edge.left)} and {shown(edge.right)} are not joined on these columns")

    def enter(self, placements: Sequence[Placement]) -> None:
        """Enter conditions of queries in the computation index, many at once."""
        enter_index(self._connection, placements)

    def leave(self, queries: Sequence[str]) -> None:
        """Take all that queries entered out of the computation index."""
        leave_index(self._connection, queries)

    def drop_query(self, name: str) -> None:
        """Drop a query; it stops being a user of any node, and its conditions leave the index."""
        leave_index(self._connection, [name])
        gone = self._connection.execute(delete(t.query).where(t.query.c.key == name_key(name)))
        if not gone.rowcount:
            raise SeineError(f"there is no query named {shown(name)}")

    def pause_query(self, name: str) -> None:
        """Note that a query is in no network for now."""
        self._set_query(name, paused=True)

    def resume_query(self, name: str, born: int, position: QueryPosition | None) -> None:
        """Note that a query runs, and from where on it counts."""
        self._set_query(name, paused=False, born=born, position=_position_text(position))

    def _set_query(self, name: str, **values: object) -> None:
        change = update(t.query).where(t.query.c.key == name_key(name)).values(**values)
        if not self._connection.execute(change).rowcount:
            raise SeineError(f"there is no query named {shown(name)}")

    def save_version(
        self,
        version: int,
        *,
        added: Iterable[StoredNode] = (),
        removed: Iterable[int] = (),
        users: Mapping[int, Iterable[str]] | None = None,
        note: str = "",
    ) -> None:
        """Record a network version by what changed in it since the one before.

        `added` are nodes, `removed` ids of nodes; a node that changed is in
        both. `users` replaces the users of the nodes it names.
        """
        message, hint = f"network version {version} is saved already", "read the catalog again, then retry"
        with refusing(self._connection, message, hint):
            save_version(self._connection, version, list(added), list(removed), users or {}, note)

    def set(self, name: str, value: Any) -> None:
        """Set a setting to a JSON value."""
        self._connection.execute(delete(t.setting).where(t.setting.c.name == name))
        put(self._connection, t.setting, name=name, value=json.dumps(value))

    def _ends(self, edge: JoinEdge) -> tuple[tuple[int, int], tuple[int, int]]:
        ids = ids_by_key(self._connection, t.input_, [edge.left, edge.right])
        return (ids[name_key(edge.left)], edge.left_column), (ids[name_key(edge.right)], edge.right_column)

    def _add_input(self, name: str, kind: str, fields: Sequence[Field], source: Source | None) -> int:
        key: int = put(
            self._connection,
            t.input_,
            key=name_key(name),
            name=name,
            kind=kind,
            source_path=storable(source.path) if source else None,
            source_format=source.format if source else None,
            source_options=json.dumps(source.options) if source else None,
        )
        columns = [
            {"input_id": key, "position": position, "name": storable(field.name), "type": str(field.type)}
            for position, field in enumerate(fields)
        ]
        put_all(self._connection, t.column, columns)
        return key

    def _add_schemes(self, key: int, stream: StreamDef) -> None:
        numbered = list(enumerate(stream.schemes))
        schemes = [{"stream_id": key, "number": n, "lifespan": scheme.lifespan} for n, scheme in numbered]
        places = [
            {"stream_id": key, "scheme": n, "place": place, "position": position}
            for n, scheme in numbered
            for place, position in enumerate(scheme.columns)
        ]
        put_all(self._connection, t.scheme, schemes)
        put_all(self._connection, t.scheme_column, places)

    def _add_queries(self, queries: Sequence[StoredQuery]) -> None:
        inputs = ids_by_key(self._connection, t.input_, (name for query in queries for name in query.inputs))
        put_all(self._connection, t.query, [_query_row(query) for query in queries])
        ids = ids_by_key(self._connection, t.query, (query.name for query in queries))
        reads = [
            {"query_id": ids[name_key(query.name)], "input_id": inputs[key]}
            for query in queries
            for key in dict.fromkeys(map(name_key, query.inputs))
        ]
        put_all(self._connection, t.query_input, reads)

    def _drop_input(self, name: str, kind: str) -> None:
        message, hint = f"{kind} {shown(name)} is in use", "drop the queries and joins that use it first"
        with refusing(self._connection, message, hint, on="reference"):
            ask = delete(t.input_).where(t.input_.c.key == name_key(name), t.input_.c.kind == kind)
            gone = self._connection.execute(ask)
        if not gone.rowcount:
            raise SeineError(f"there is no {kind} named {shown(name)}")


def _query_row(query: StoredQuery) -> dict[str, Any]:
    return {
        "key": name_key(query.name),
        "name": query.name,
        "text": storable(query.text),
        "options": json.dumps(query.options),
        "plan": json.dumps(query.plan),
        "born": query.born,
        "position": _position_text(query.position),
        "paused": query.paused,
    }


def _position_text(position: QueryPosition | None) -> str:
    return "" if position is None else write_json(position).decode()


def _edge_key(ends: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """The same for a = b and b = a."""
    return hashlib.sha256(json.dumps(sorted(ends)).encode()).hexdigest()


def _taken(what: str, name: str) -> str:
    return f"there is already a {what} named {shown(name)}"
