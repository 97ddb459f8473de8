"""The write side of the catalog: typed inserts, updates and deletes within one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import delete, update

from seine.algebra.definitions import JoinEdge, RelationDef, Source, StreamDef
from seine.algebra.types import Field
from seine.catalog.catalog_view import CatalogView
from seine.catalog.index.clauses import Placement
from seine.catalog.index.enter_index import enter_index
from seine.catalog.index.leave_index import leave_index
from seine.catalog.tables import schema as t
from seine.catalog.tables.rows import (
    forget_nodes,
    ids_by_name,
    insert_row,
    insert_rows,
    name_key,
    refusing,
    shown,
    storable,
    write_nodes,
)
from seine.catalog.tables.stored import QueryPosition, StoredNode, StoredQuery, StoredSink, options_text
from seine.errors import SeineError
from seine.typed_json import write_json

NODES = "nodes"  # the setting that has the version of the network whose nodes the rows of nodes are
_OTHER_NAME = "choose another name or drop it first"


class CatalogChange(CatalogView):
    """A read-write transaction, which also reads what it has written so far.

    Names are unique by constraint: of two writers that take the same one, the second is refused. Each call
    runs within a savepoint, so a refused call leaves no trace and the transaction stays usable.
    """

    def add_stream(self, stream: StreamDef) -> None:
        """Declare a stream; refused if the name is taken by a stream or relation."""
        with refusing(self._connection, _taken("stream or relation", stream.name), _OTHER_NAME):
            key = self._add_input(stream.name, "stream", stream.declared, stream.source)
            insert_row(
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

    def add_columns(self, before: StreamDef, after: StreamDef) -> None:
        """Record the columns that a stream has behind those that it had before."""
        key = ids_by_name(self._connection, t.input_, [after.name])[after.name]
        self._add_fields(key, after.declared, len(before.declared))

    def add_relation(self, relation: RelationDef) -> None:
        """Declare a relation; refused if the name is taken by a stream or relation."""
        with refusing(self._connection, _taken("stream or relation", relation.name), _OTHER_NAME):
            key = self._add_input(relation.name, "relation", relation.fields, relation.source)
            begin, end = relation.valid or (None, None)
            insert_row(self._connection, t.relation, input_id=key, valid_from=begin, valid_to=end)

    def add_edge(self, edge: JoinEdge) -> None:
        """Declare that two inputs join on a pair of columns; a = b and b = a are one edge."""
        (left, left_column), (right, right_column) = ends = self._ends(edge)
        message = f"{shown(edge.left)} and {shown(edge.right)} are joined on these columns already"
        with refusing(self._connection, message, "drop that join first"):
            insert_row(
                self._connection,
                t.join_edge,
                key=_edge_key(ends),
                left_id=left,
                left_column=left_column,
                right_id=right,
                right_column=right_column,
            )

    def add_queries(self, queries: Sequence[StoredQuery]) -> None:
        """Register many queries in order; if any name is taken, none is added."""
        with refusing(self._connection, "one of these queries has a name that is taken", _OTHER_NAME):
            self._add_queries(queries)

    def add_sink(self, sink: StoredSink) -> None:
        """Record a sink; refused if its name is taken."""
        one = sink.definition
        queries = ids_by_name(self._connection, t.query, one.queries)
        with refusing(self._connection, _taken("sink", one.name), _OTHER_NAME):
            key = insert_row(
                self._connection,
                t.sink,
                key=name_key(one.name),
                name=one.name,
                identity=sink.identity,
                start=sink.start,
                target=storable(one.target),
                format=one.format,
                options=json.dumps(one.options),
            )
        places = [
            {"sink_id": key, "place": place, "query_id": queries[name]}
            for place, name in enumerate(one.queries)
        ]
        insert_rows(self._connection, t.sink_query, places)

    def drop_sink(self, name: str) -> None:
        """Drop a sink."""
        deleted = self._connection.execute(delete(t.sink).where(t.sink.c.key == name_key(name)))
        if not deleted.rowcount:
            raise SeineError(f"there is no sink named {shown(name)}")

    def drop_stream(self, name: str) -> None:
        """Drop a stream; refused while a query or join edge uses it."""
        self._drop_input(name, "stream")

    def drop_relation(self, name: str) -> None:
        """Drop a relation; refused while a query or join edge uses it."""
        self._drop_input(name, "relation")

    def drop_edge(self, edge: JoinEdge) -> None:
        """Drop a join edge, written as a = b or as b = a."""
        deleted = self._connection.execute(
            delete(t.join_edge).where(t.join_edge.c.key == _edge_key(self._ends(edge)))
        )
        if not deleted.rowcount:
            raise SeineError(f"{shown(edge.left)} and {shown(edge.right)} are not joined on these columns")

    def enter(self, placements: Sequence[Placement]) -> None:
        """Insert the conditions of queries into the computation index, in bulk."""
        enter_index(self._connection, placements)

    def leave(self, queries: Sequence[str]) -> None:
        """Delete all conditions of the named queries from the computation index."""
        leave_index(self._connection, queries)

    def drop_query(self, name: str) -> None:
        """Drop a query, its claims to nodes, and its conditions in the computation index."""
        leave_index(self._connection, [name])
        deleted = self._connection.execute(delete(t.query).where(t.query.c.key == name_key(name)))
        if not deleted.rowcount:
            raise SeineError(f"there is no query named {shown(name)}")

    def pause_query(self, name: str) -> None:
        """Record that a query is paused: in no network for now."""
        self._set_query(name, paused=True)

    def resume_query(self, name: str, birth_epoch: int, position: QueryPosition | None) -> None:
        """Record that a query runs again, its `birth_epoch`, and where in the streams that was."""
        self._set_query(name, paused=False, born=birth_epoch, position=_position_text(position))

    def move_query(self, name: str, birth_epoch: int, position: QueryPosition) -> None:
        """Record that a query goes on with the rows of another birth, which are equal to its own."""
        self._set_query(name, born=birth_epoch, position=_position_text(position))

    def _set_query(self, name: str, **values: object) -> None:
        statement = update(t.query).where(t.query.c.key == name_key(name)).values(**values)
        if not self._connection.execute(statement).rowcount:
            raise SeineError(f"there is no query named {shown(name)}")

    def save_version(self, version: int) -> None:
        """Record that there is a newer network version; its files are there already."""
        if version <= self.version():
            message = f"network version {version} is saved already"
            raise SeineError(message, hint="read the catalog again, then retry")
        insert_row(self._connection, t.network_version, version=version, note="")

    def write_nodes(
        self,
        *,
        gone: Iterable[int] = (),
        come: Iterable[StoredNode] = (),
        predicates: Mapping[int, Iterable[str]] | None = None,
        uses: Mapping[str, Iterable[int]] | None = None,
        afresh: bool = False,
    ) -> None:
        """Bring the rows of nodes to the current version: from those that they show, or, `afresh`, from none.

        `gone` are ids, `come` new nodes, `predicates` what nodes that stay ask of the rows of their inputs,
        and `uses` the nodes that queries use; a query that it does not name uses what it used.
        """
        version = self.version()
        if afresh:
            forget_nodes(self._connection)
        write_nodes(self._connection, version, gone, come, predicates or {}, uses or {})
        self.set(NODES, version)

    def set(self, name: str, value: object) -> None:
        """Store a JSON value under a name, replacing the one before."""
        self._connection.execute(delete(t.setting).where(t.setting.c.name == name))
        insert_row(self._connection, t.setting, name=name, value=json.dumps(value))

    def _ends(self, edge: JoinEdge) -> tuple[tuple[int, int], tuple[int, int]]:
        ids = ids_by_name(self._connection, t.input_, [edge.left, edge.right])
        return (ids[edge.left], edge.left_column), (ids[edge.right], edge.right_column)

    def _add_input(self, name: str, kind: str, fields: Sequence[Field], source: Source | None) -> int:
        key: int = insert_row(
            self._connection,
            t.input_,
            key=name_key(name),
            name=name,
            kind=kind,
            source_path=storable(source.path) if source else None,
            source_format=source.format if source else None,
            source_options=options_text(source) if source else None,
        )
        self._add_fields(key, fields)
        return key

    def _add_fields(self, key: int, fields: Sequence[Field], known: int = 0) -> None:
        """The columns of an input behind those that are known."""
        columns = [
            {"input_id": key, "position": position, "name": storable(field.name), "type": str(field.type)}
            for position, field in enumerate(fields)
        ]
        insert_rows(self._connection, t.column, columns[known:])

    def _add_schemes(self, key: int, stream: StreamDef) -> None:
        numbered = list(enumerate(stream.schemes))
        schemes = [
            {
                "stream_id": key,
                "number": n,
                "lifespan": scheme.lifespan,
                "unique_key": scheme.unique,
                "timeout": scheme.timeout,
                "reused": scheme.reused,
            }
            for n, scheme in numbered
        ]
        places = [
            {"stream_id": key, "scheme": n, "place": place, "position": position}
            for n, scheme in numbered
            for place, position in enumerate(scheme.columns)
        ]
        insert_rows(self._connection, t.scheme, schemes)
        insert_rows(self._connection, t.scheme_column, places)

    def _add_queries(self, queries: Sequence[StoredQuery]) -> None:
        inputs = ids_by_name(self._connection, t.input_, (name for query in queries for name in query.inputs))
        insert_rows(self._connection, t.query, [_query_row(query) for query in queries])
        ids = ids_by_name(self._connection, t.query, (query.name for query in queries))
        reads = [
            {"query_id": ids[query.name], "input_id": input_id}
            for query in queries
            for input_id in dict.fromkeys(inputs[name] for name in query.inputs)
        ]
        insert_rows(self._connection, t.query_input, reads)
        owners = [{"query_id": ids[query.name], "owner": query.owner} for query in queries if query.owner]
        insert_rows(self._connection, t.query_owner, owners)

    def _drop_input(self, name: str, kind: str) -> None:
        message, hint = f"{kind} {shown(name)} is in use", "drop the queries and joins that use it first"
        with refusing(self._connection, message, hint, on="reference"):
            statement = delete(t.input_).where(t.input_.c.key == name_key(name), t.input_.c.kind == kind)
            deleted = self._connection.execute(statement)
        if not deleted.rowcount:
            raise SeineError(f"there is no {kind} named {shown(name)}")


def _query_row(query: StoredQuery) -> dict[str, Any]:
    return {
        "key": name_key(query.name),
        "name": query.name,
        "text": storable(query.text),
        "options": json.dumps(query.options),
        "plan": json.dumps(query.plan),
        "born": query.birth_epoch,
        "position": _position_text(query.position),
        "paused": query.paused,
    }


def _position_text(position: QueryPosition | None) -> str:
    return "" if position is None else write_json(position).decode()


def _edge_key(ends: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """A digest of a join edge that does not depend on which end was written first."""
    return hashlib.sha256(json.dumps(sorted(ends)).encode()).hexdigest()


def _taken(what: str, name: str) -> str:
    return f"there is already a {what} named {shown(name)}"
