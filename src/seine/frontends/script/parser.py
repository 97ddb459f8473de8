"""Script text to declarations: every statement is read and checked in turn.

A script is refused whole at its first wrong statement. A query that is well formed but
cannot run yet is refused last, so that nothing hides what is wrong elsewhere.
"""

from __future__ import annotations

from typing import Any

from seine.algebra.plan import Query
from seine.errors import Position, ScriptError
from seine.frontends.names import suggest
from seine.frontends.script.cursor import Cursor, Name
from seine.frontends.script.joins import read_edge, same_edge
from seine.frontends.script.queries import Registration, read_query
from seine.frontends.script.relations import read_relation
from seine.frontends.script.script import Declarations, Script, tables_of
from seine.frontends.script.streams import read_stream
from seine.frontends.text import ScriptText

_OBJECTS = ["STREAM", "RELATION", "JOIN", "QUERY"]


def parse_script(text: str, *, file: str, folder: str, known: Declarations | None = None) -> Script:
    """Read a script on top of what is `known`; refuse it with a position at the first mistake.

    >>> script = parse_script(
    ...     "CREATE STREAM s (a INT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    ...     "CREATE QUERY q AS SELECT a FROM s;", file="s.sql", folder="/data")
    >>> script.declarations.streams["s"].source.path, [query.name for query, _ in script.queries]
    ('/data/s.jsonl', ['q'])
    """
    return _Reader(ScriptText(text, file), folder, known or Declarations()).read()


class _Reader:
    """Reads statements one after the other; holds what stands so far."""

    def __init__(self, source: ScriptText, folder: str, known: Declarations) -> None:
        self.cursor = Cursor(source)
        self.folder = folder
        self.declared = known.copy()
        self.registered = {key: _known(query) for key, query in known.queries.items()}
        self.query_names = {key.lower() for key in known.queries}
        self.published: set[str] = set()
        self.own: dict[str, Position] = {}

    def read(self) -> Script:
        while not self.cursor.at_statement_end() or self.cursor.accept_symbol(";"):
            if not self.cursor.at_statement_end():
                self._read_statement()
                self.cursor.end_statement()
        for registration in self.registered.values():
            if registration.unavailable is not None:
                message = f"query {registration.name}: {registration.unavailable}"
                raise ScriptError(message, hint="leave this query out", where=registration.position)
        return Script(self.declared, dict(self.own))

    def _read_statement(self) -> None:
        if self.cursor.accept("CREATE"):
            self._read_create()
        elif self.cursor.accept("DROP"):
            self._read_drop()
        else:
            raise self.cursor.unexpected("CREATE or DROP", ["CREATE", "DROP"])

    def _read_create(self) -> None:
        cursor = self.cursor
        if cursor.accept("STREAM"):
            name = self._new_table("stream")
            self.declared.streams[name.key] = read_stream(cursor, name, self.folder)
        elif cursor.accept("RELATION"):
            name = self._new_table("relation")
            self.declared.relations[name.key] = read_relation(cursor, name, self.folder)
        elif cursor.accept("QUERY"):
            self._create_query()
        elif cursor.accept("JOIN"):
            self._create_join()
        else:
            raise cursor.unexpected("STREAM, RELATION, JOIN or QUERY", _OBJECTS)

    def _new_table(self, what: str) -> Name:
        name = self.cursor.expect_name(f"the name of the {what}")
        for kind, names in (("stream", self.declared.streams), ("relation", self.declared.relations)):
            if name.key.lower() in {known.lower() for known in names}:
                raise self.cursor.error(
                    f"{kind} {name.written} exists already", "choose another name", at=name
                )
        if name.key in self.published:
            raise self.cursor.error(
                f"a query publishes {name.written} already", "choose another name", at=name
            )
        return name

    def _create_query(self) -> None:
        name = self.cursor.expect_name("the name of the query")
        if name.key.lower() in self.query_names:
            hint = f"choose another name, or DROP QUERY {name.written} first"
            raise self.cursor.error(f"query {name.written} exists already", hint, at=name)
        registration = read_query(self.cursor, name, self.declared, self.published)
        self.registered[name.key] = registration
        self.query_names.add(name.key.lower())
        if registration.publishes is not None:
            self.published.add(registration.publishes)
        if registration.query is not None:
            self.declared.queries[name.key] = registration.query
            self.own[name.key] = registration.position

    def _create_join(self) -> None:
        start = self.cursor.token.start
        edge = read_edge(self.cursor, self.declared)
        if any(same_edge(edge, other) for other in self.declared.edges):
            raise self.cursor.error("this join exists already", at=start)
        self.declared.edges.append(edge)

    def _read_drop(self) -> None:
        cursor = self.cursor
        if cursor.accept("QUERY"):
            self._drop_query()
        elif cursor.accept("STREAM"):
            self._drop_table("stream", self.declared.streams)
        elif cursor.accept("RELATION"):
            self._drop_table("relation", self.declared.relations)
        elif cursor.accept("JOIN"):
            self._drop_join()
        else:
            raise cursor.unexpected("STREAM, RELATION, JOIN or QUERY", _OBJECTS)

    def _drop_query(self) -> None:
        name = self._existing("query", self.registered)
        publishes = self.registered.pop(name.key).publishes
        self.declared.queries.pop(name.key, None)
        self.own.pop(name.key, None)
        self.query_names.discard(name.key.lower())
        if publishes is not None:
            self._refuse_if_used(name, publishes)
            self.published.discard(publishes)

    def _drop_table(self, what: str, tables: dict[str, Any]) -> None:
        name = self._existing(what, tables)
        self._refuse_if_used(name, name.key)
        if any(name.key in (edge.left, edge.right) for edge in self.declared.edges):
            raise self.cursor.error(f"{name.written} is used by a join", "DROP JOIN first", at=name)
        del tables[name.key]

    def _drop_join(self) -> None:
        start = self.cursor.token.start
        edge = read_edge(self.cursor, self.declared)
        left = [other for other in self.declared.edges if not same_edge(edge, other)]
        if len(left) == len(self.declared.edges):
            raise self.cursor.error("no such join", at=start)
        self.declared.edges = left

    def _existing(self, what: str, known: dict[str, Any]) -> Name:
        name = self.cursor.expect_name(f"the name of the {what}")
        if name.key not in known:
            plural = {"query": "queries"}.get(what, what + "s")
            raise self.cursor.error(
                f"no {what} {name.written}", suggest(name.written, known, plural), at=name
            )
        return name

    def _refuse_if_used(self, name: Name, table: str) -> None:
        users = [query.name for query in self.registered.values() if table in query.uses]
        if users:
            message = f"{name.written} is used by query {', '.join(users[:3])}"
            raise self.cursor.error(message, f"DROP QUERY {users[0]} first", at=name)


def _known(query: Query) -> Registration:
    return Registration(query.name, Position("", 0, 0), tables_of(query), query)
