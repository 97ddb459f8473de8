"""The script parser: statements are parsed and checked one after the other against the declarations so far.

A script is refused as a whole at its first error. A query that is well-formed but cannot run yet is
refused last, so that it does not hide errors elsewhere.

The parser of CREATE JOIN and DROP JOIN left.column = right.column.

The parser of CREATE RELATION name (columns) [VALID FROM begin TO end] source.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef, ViewDef
from seine.algebra.functions import TypeMismatch, common_type
from seine.algebra.plan import Query, tables_needed
from seine.algebra.search_plan import SchemaGraphs, Search
from seine.algebra.types import BIGINT, INT, TIMESTAMP, Field
from seine.errors import Position, ScriptError, SeineError, TakenError
from seine.frontends.keyword.search import SearchedGraphs
from seine.frontends.script.create_query import Registration, read_query, read_view
from seine.frontends.script.create_sink import bind_sink_key, read_sink
from seine.frontends.script.create_stream import column_index, read_added_column, read_columns, read_stream
from seine.frontends.script.from_source import SourceClauses
from seine.frontends.script.script import Declarations, Script
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.syntax_tree import View
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import ScriptText, suggest
from seine.frontends.xscl.parse_xscl import KnownBlocks

_OBJECTS = ["STREAM", "RELATION", "JOIN", "VIEW", "QUERY", "SINK"]


def parse_script(
    text: str,
    *,
    file: str,
    folder: str,
    known: Declarations | None = None,
    replace: bool = False,
    pushed: str | None = None,
    within: tuple[str, ...] | None = None,
) -> Script:
    """Parse a script on top of the `known` declarations; the first error is raised with its position.

    With `replace`, a query replaces a known one of its name. `pushed` is where a service keeps what is sent
    to it, and `within` are the folders in which files must lie that are read at once.

    >>> script = parse_script(
    ...     "CREATE STREAM s (a INT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    ...     "CREATE QUERY q AS SELECT a FROM s;", file="s.sql", folder="/data")
    >>> script.declarations.streams["s"].source.path, [query.name for query, _ in script.queries]
    ('/data/s.jsonl', ['q'])
    """
    reader = _StatementReader(
        ScriptText(text, file), folder, known or Declarations(), replace, pushed, within
    )
    return reader.read()


class _StatementReader:
    """Parses the statements of a script; holds the declarations so far."""

    def __init__(
        self,
        source: ScriptText,
        folder: str,
        known: Declarations,
        replace: bool,
        pushed: str | None,
        within: tuple[str, ...] | None,
    ) -> None:
        self.cursor = Cursor(source)
        self.folder = folder
        self.pushed, self.within = pushed, within
        self.replace = replace
        self.known, self.known_streams = known.queries, known.streams
        self.declared = known.copy()
        self.registered: dict[str, Registration] = {}  # of this script
        self.dropped: dict[str, Query] = {}
        self.new_sinks: dict[str, Position] = {}
        self.altered: set[str] = set()  # known streams that have another column
        self._forget_tables()

    def read(self) -> Script:
        """Parse all statements."""
        while not self.cursor.at_statement_end() or self.cursor.accept_symbol(";"):
            if not self.cursor.at_statement_end():
                self._read_statement()
                self.cursor.end_statement()
        self._bind_searches()
        for registration in self.registered.values():
            if registration.unavailable is not None:
                message = f"query {registration.name}: {registration.unavailable}"
                raise ScriptError(message, hint="leave this query out", where=registration.position)
        self._bind_sinks()
        positions = {key: one.position for key, one in self.registered.items() if one.query is not None}
        return Script(self.declared, positions, self.dropped, frozenset(self.altered))

    def _bind_searches(self) -> None:
        """Give each SEARCH of this script its plan, over what is declared at its end."""
        if all(one.search is None for one in self.registered.values()):
            return
        graphs = SearchedGraphs(SchemaGraphs(self.declared.tables, self.declared.edges))
        self.registered = {key: one.bound(graphs) for key, one in self.registered.items()}
        for key, one in self.registered.items():
            self.declared.queries.pop(key, None)  # so that all are in their order
            if one.query is not None:
                self.declared.queries[key] = one.query

    def _bind_sinks(self) -> None:
        """Give the keys of the sinks of this script the names of columns, now that all queries are bound."""
        for key, where in self.new_sinks.items():
            if key in self.declared.sinks:
                sink = self.declared.sinks[key]
                read = [self.declared.queries[name.lower()] for name in sink.queries]
                self.declared.sinks[key] = bind_sink_key(sink, read, where)

    def _read_statement(self) -> None:
        if self.cursor.accept("CREATE"):
            self._read_create()
        elif self.cursor.accept("DROP"):
            self._read_drop()
        elif self.cursor.accept("ALTER"):
            self.cursor.expect("STREAM")
            self._alter_stream()
        else:
            raise self.cursor.unexpected("CREATE, DROP or ALTER", ["CREATE", "DROP", "ALTER"])

    def _read_create(self) -> None:
        cursor = self.cursor
        if cursor.accept("STREAM"):
            name = self._new_table("stream")
            self.declared.streams[name.key] = read_stream(cursor, name, self.folder, self.pushed, self.within)
            self._forget_tables()
        elif cursor.accept("RELATION"):
            name = self._new_table("relation")
            self.declared.relations[name.key] = read_relation(cursor, name, self.folder)
            self._forget_tables()
        elif cursor.accept("VIEW"):
            name = self._new_table("view")
            self.declared.views[name.key] = read_view(cursor, name, self.templates)
            self._forget_tables()
        elif cursor.accept("QUERY"):
            self._create_query()
        elif cursor.accept("JOIN"):
            self._create_join()
        elif cursor.accept("SINK"):
            self._create_sink()
        else:
            raise cursor.unexpected("STREAM, RELATION, JOIN, VIEW, QUERY or SINK", _OBJECTS)

    def _forget_tables(self) -> None:
        """Forget what was remembered of queries: it holds while streams and relations stay the same."""
        self._templates: PlanTemplates | None = None
        self._blocks: KnownBlocks | None = None

    @property
    def templates(self) -> PlanTemplates:
        """The cache of plan templates."""
        if self._templates is None:
            self._templates = PlanTemplates(
                {**self.declared.tables, **self.declared.published, **_in_scope(self.declared.views)}
            )
        return self._templates

    @property
    def blocks(self) -> KnownBlocks:
        """The memo of blocks of XSCL queries."""
        if self._blocks is None:
            self._blocks = KnownBlocks({**self.declared.published, **self.declared.streams})
        return self._blocks

    @cached_property
    def tables(self) -> dict[str, str]:
        """The names that may stand in FROM, in lower case, each with what it is of."""
        declared = self.declared
        kinds = (("view", declared.views), ("relation", declared.relations), ("stream", declared.streams))
        return {name.lower(): kind for kind, names in kinds for name in names}

    def _new_table(self, what: str) -> Name:
        name = self.cursor.expect_name(f"the name of the {what}")
        kind = self.tables.get(name.key.lower())
        if kind is not None:
            raise self.cursor.error(
                f"{kind} {name.written} exists already",
                "choose another name; only queries can be replaced",
                at=name,
                kind=TakenError,
            )
        if name.key in self.declared.published:
            raise self.cursor.error(
                f"a query publishes {name.written} already", "choose another name", at=name
            )
        self.tables[name.key.lower()] = what
        return name

    def _create_query(self) -> None:
        name = self.cursor.expect_name("the name of the query")
        key = name.key.lower()
        if key in self.registered or (key in self.declared.queries and not self.replace):
            hint = f"choose another name, or DROP QUERY {name.written} first"
            if key not in self.registered:  # it was there before this script
                hint = f"seine register --replace lets this one take its place; or {hint}"
            message = f"query {name.written} exists already"
            raise self.cursor.error(message, hint, at=name, kind=TakenError)
        self._refuse_if_delivered(name)
        self._forget_query(name, key)
        registration = read_query(
            self.cursor, name, self.declared, self.declared.published, self.templates, self.blocks
        )
        self.registered[key] = registration
        if registration.query is not None:
            published = self.declared.add_query(key, registration.query)
            if published is not None:
                self._forget_tables()

    def _create_join(self) -> None:
        start = self.cursor.token.start
        edge = read_edge(self.cursor, self.declared)
        if any(same_edge(edge, other) for other in self.declared.edges):
            raise self.cursor.error("this join exists already", "leave it out", at=start)
        self.declared.edges.append(edge)

    def _alter_stream(self) -> None:
        """Add a column; a search that runs is over the columns that it began with, so it refuses that."""
        name = self._existing("stream", self.declared.streams)
        for query in self.declared.queries.values():
            if isinstance(query.plan, Search) and name.key in tables_needed(query):
                message = f"no column can be added to stream {name.written}: query {query.name} searches it"
                raise self.cursor.error(message, f"DROP QUERY {query.name} first", at=name, kind=TakenError)
        before = self.declared.streams[name.key]
        self.declared.streams[name.key] = read_added_column(self.cursor, name, before)
        if before is self.known_streams.get(name.key):
            self.altered.add(name.key)
        self._forget_tables()

    def _create_sink(self) -> None:
        name = self.cursor.expect_name("the name of the sink")
        key = name.key.lower()
        if key in self.declared.sinks:
            hint = f"choose another name, or DROP SINK {name.written} first"
            raise self.cursor.error(f"sink {name.written} exists already", hint, at=name, kind=TakenError)
        standing = [one.name for one in self.declared.queries.values()]
        standing += [one.name for one in self.registered.values()]
        queries = {query.lower(): query for query in standing}
        self.declared.sinks[key] = read_sink(self.cursor, name, self.folder, queries)
        self.new_sinks[key] = self.cursor.position(name)

    def _refuse_if_delivered(self, name: Name) -> None:
        """Refuse to take out a query that a sink reads."""
        for sink in self.declared.sinks.values():
            if name.key.lower() in [query.lower() for query in sink.queries]:
                message = f"sink {sink.name} reads query {name.written}"
                raise self.cursor.error(message, f"DROP SINK {sink.name} first", at=name, kind=TakenError)

    def _read_drop(self) -> None:
        cursor = self.cursor
        if cursor.accept("QUERY"):
            self._drop_query()
        elif cursor.accept("STREAM"):
            self._drop_table("stream", self.declared.streams)
        elif cursor.accept("RELATION"):
            self._drop_table("relation", self.declared.relations)
        elif cursor.accept("VIEW"):
            self._drop_table("view", self.declared.views)
        elif cursor.accept("JOIN"):
            self._drop_join()
        elif cursor.accept("SINK"):
            del self.declared.sinks[self._existing("sink", self.declared.sinks, lower=True).key.lower()]
        else:
            raise cursor.unexpected("STREAM, RELATION, JOIN, VIEW, QUERY or SINK", _OBJECTS)

    def _drop_query(self) -> None:
        name = self.cursor.expect_name("the name of the query")
        key = name.key.lower()
        if key not in self.registered and key not in self.declared.queries:
            names = {**self.declared.queries, **self.registered}
            raise self.cursor.error(
                f"no query {name.written}", suggest(name.written, names, "queries"), at=name
            )
        self._refuse_if_delivered(name)
        self.registered.pop(key, None)
        self._forget_query(name, key)

    def _forget_query(self, name: Name, key: str) -> None:
        """Take out a query, unless what it publishes is read; so no query can come to read its own output."""
        query = self.declared.queries.get(key)
        if query is None:
            return
        stream = self.declared.remove_query(key)
        if stream is not None:
            self._refuse_if_used(name, stream.name)
            self._forget_tables()
        if self.known.get(key) is query:
            self.dropped[key] = query

    def _drop_table(self, what: str, tables: dict[str, Any]) -> None:
        name = self._existing(what, tables)
        self._refuse_if_used(name, name.key)
        if any(name.key in (edge.left, edge.right) for edge in self.declared.edges):
            message = f"{name.written} is used by a join"
            raise self.cursor.error(message, "DROP JOIN first", at=name, kind=TakenError)
        self.tables.pop(name.key.lower())
        del tables[name.key]
        self.altered.discard(name.key)
        self._forget_tables()

    def _drop_join(self) -> None:
        start = self.cursor.token.start
        edge = read_edge(self.cursor, self.declared)
        left = [other for other in self.declared.edges if not same_edge(edge, other)]
        if len(left) == len(self.declared.edges):
            raise self.cursor.error("no such join", at=start)
        self.declared.edges = left

    def _existing(self, what: str, known: dict[str, Any], lower: bool = False) -> Name:
        name = self.cursor.expect_name(f"the name of the {what}")
        if (name.key.lower() if lower else name.key) not in known:
            hint = suggest(name.written, known, what + "s")
            raise self.cursor.error(f"no {what} {name.written}", hint, at=name)
        return name

    def _refuse_if_used(self, name: Name, table: str) -> None:
        users = [query.name for query in self.declared.queries.values() if table in tables_needed(query)]
        users += [one.name for one in self.registered.values() if one.query is None and table in one.uses]
        views = [view.name for view in self.declared.views.values() if table in view.uses]
        if views:
            message = f"{name.written} is used by view {', '.join(views[:3])}"
            raise self.cursor.error(message, f"DROP VIEW {views[0]} first", at=name, kind=TakenError)
        if users:
            message = f"{name.written} is used by query {', '.join(users[:3])}"
            raise self.cursor.error(message, f"DROP QUERY {users[0]} first", at=name, kind=TakenError)


def _in_scope(views: dict[str, ViewDef]) -> dict[str, View]:
    return {key: View(view) for key, view in views.items()}


def read_edge(cursor: Cursor, declared: Declarations) -> JoinEdge:
    """Parse left.column = right.column; refuses tables of two kinds of time and types that do not compare."""
    start = cursor.token.start
    left, left_column = _read_side(cursor, declared)
    cursor.expect_symbol("=")
    right, right_column = _read_side(cursor, declared)
    try:
        common_type([left.fields[left_column].type, right.fields[right_column].type])
    except TypeMismatch as error:
        raise cursor.error(error.message, "join columns that can be compared", at=start) from None
    if None not in (left.domain, right.domain) and left.domain != right.domain:
        message = f"{left.name} and {right.name} are timed differently, one by BIGINT and one by TIMESTAMP"
        raise cursor.error(message, "lives can be compared only within one kind of time", at=start)
    return JoinEdge(left.name, left_column, right.name, right_column)


def _read_side(cursor: Cursor, declared: Declarations) -> tuple[StreamDef | RelationDef, int]:
    name = cursor.expect_name("a stream or relation")
    table = declared.tables.get(name.key)
    if table is None:
        hint = suggest(name.written, declared.tables, "streams and relations")
        raise cursor.error(f"no stream or relation {name.written}", hint, at=name)
    cursor.expect_symbol(".")
    fields = table.declared if isinstance(table, StreamDef) else table.fields
    return table, column_index(cursor, fields, cursor.expect_name("a column"), name.written)


def same_edge(a: JoinEdge, b: JoinEdge) -> bool:
    """Whether two join edges are equal; an edge has no direction."""
    return a == b or a == JoinEdge(b.right, b.right_column, b.left, b.left_column)


def read_relation(cursor: Cursor, name: Name, folder: str) -> RelationDef:
    """Parse what follows CREATE RELATION name."""
    fields = read_columns(cursor)
    source = SourceClauses(folder)
    valid: tuple[int, int] | None = None
    while not cursor.at_statement_end():
        token = cursor.token
        if cursor.accept("VALID"):
            if valid is not None:
                raise cursor.error("VALID is given twice", at=token)
            valid = _read_valid(cursor, fields, name.written)
        elif not source.read(cursor):
            raise cursor.unexpected("a clause of CREATE RELATION or ';'", ["VALID", "FROM", "FORMAT", "WITH"])
    relation = RelationDef(name.key, fields, source.finish(cursor, fields, relation=True), valid)
    if relation.followed and valid is None:
        hint = "add VALID FROM column TO column"
        raise cursor.error("a relation that is followed needs VALID: when its tuples count", hint, at=name)
    if source.format == "XML":
        raise cursor.error("a relation cannot be read from XML", "use JSON, CSV or PARQUET", at=name)
    return relation


def _read_valid(cursor: Cursor, fields: tuple[Field, ...], table: str) -> tuple[int, int]:
    cursor.expect("FROM")
    begin = cursor.expect_name("the column where validity begins")
    cursor.expect("TO")
    end = cursor.expect_name("the column where validity ends")
    indexes = column_index(cursor, fields, begin, table), column_index(cursor, fields, end, table)
    types = {fields[index].type for index in indexes}
    if not (types <= {INT, BIGINT} or types == {TIMESTAMP}):
        raise cursor.error("VALID needs two BIGINT or two TIMESTAMP columns", at=begin)
    return indexes


def read_script(path: str, known: Declarations | None = None) -> Script:
    """Parse a script file; relative paths in it are resolved against its folder."""
    return parse_script(
        read_text(path), file=path, folder=os.path.dirname(os.path.abspath(path)), known=known
    )


def read_text(path: str) -> str:
    """The text of a script file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SeineError(f"cannot read script '{path}': {reason}") from error
