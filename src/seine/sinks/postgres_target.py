"""A table of PostgreSQL: a piece in one transaction, with the position after it in a table of ours.

    WITH (table = 'alerts')                   records are appended: query, op, t_start, t_end, row (jsonb)
    WITH (table = 'totals', key = 'item')     the rows of one query, as they are after each piece

Law (exactly once): the position of a sink is a row of `seine_sink_position`, changed in the transaction that
has the records, and locked by it: of two processes that deliver the same, the second finds it done.

Errors of PostgreSQL in one line, without the values of rows.

The fields of records as texts, exact as they were written, for databases that parse them by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import psycopg
from msgspec import Raw

from seine.algebra.plan import Query
from seine.catalog.tables.stored import StoredSink
from seine.errors import SeineError
from seine.network.plan.output_form import form_of
from seine.postgres_timeouts import SilenceGuard, connection_arguments
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks import postgres_tables as tables
from seine.sinks.postgres_tables import Row, net_changes
from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkProgress, SinkTarget
from seine.typed_json import json_decoder

_CREATING = 60674836  # a lock of ours: two that create the same table at once would fail
_READ = "SELECT position FROM seine_sink_position WHERE sink = %s FOR UPDATE"
_SET = "UPDATE seine_sink_position SET position = %s WHERE sink = %s"
_BEGIN = "INSERT INTO seine_sink_position (sink, position) VALUES (%s, %s)"


class PostgresTarget(SinkTarget):
    """Applies pieces to a table."""

    def __init__(self, sink: StoredSink, queries: Mapping[str, Query], secrets: OptionSecrets) -> None:
        self._sink, self._identity, self._secrets = sink.definition, sink.identity, secrets
        self._table = tables.table_name(sink.definition.option("table"))
        self._key = sink.definition.key
        read = [queries[name] for name in sink.definition.queries]
        rows, domain = read[0].record_fields, form_of(read[0]).domain
        self._columns = tables.row_columns(rows) if self._key else tables.record_columns(domain)
        self.in_whole_batches = bool(self._key)
        self._names = [name for name, _ in self._columns]
        self._connection: psycopg.Connection[Any] | None = None

    def begin(self, progress: SinkProgress) -> None:
        """Connect, create what is missing, and see that the position is known before a piece is begun."""
        options = self._secrets.values(f"sink {self._sink.name}", self._sink.options)
        address = "postgresql://" + self._sink.target.partition("://")[2]
        given = dict(parse_qsl(urlsplit(address).query))
        password: dict[str, Any] = {"password": options["password"]} if "password" in options else {}
        with self._one_line_errors():
            self._connection = psycopg.connect(address, **connection_arguments(given), **password)
        with self._transaction() as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_CREATING])
            tables.create_table(connection, self._table, self._columns, self._key)
            tables.create_positions(connection)
            if self._position(connection) is None:
                self._refuse_forgotten(progress)
                connection.execute(_BEGIN, [self._identity, progress.position])

    def _refuse_forgotten(self, progress: SinkProgress) -> None:
        """A piece was begun, and nobody knows any more whether it came to its end."""
        if progress.pending is not None:
            raise SeineError(
                f"seine_sink_position no longer has a row of sink {self._sink.name}",
                hint=f"DROP SINK {self._sink.name}, look what is there, and create it again",
            )

    def write(self, piece: RecordPiece) -> None:
        """Apply a piece, unless it is there."""
        with self._transaction() as connection:
            position = self._position(connection)
            if position is None or piece.start < position < piece.end:
                raise SeineError(f"another process delivers for sink {self._sink.name}")
            if position < piece.end:
                self._apply(connection, piece)
                connection.execute(_SET, [piece.end, self._identity])

    def _position(self, connection: psycopg.Connection[Any]) -> int | None:
        row = connection.execute(_READ, [self._identity]).fetchone()
        return None if row is None else int(row[0])

    def _apply(self, connection: psycopg.Connection[Any], piece: RecordPiece) -> None:
        if self._key:
            self._upsert(connection, b"".join(lines for _, lines in piece.portions))
            return
        records = (record for _, lines in piece.portions for record in whole_records(lines))
        tables.append_rows(connection, self._table, self._names, records)

    def _upsert(self, connection: psycopg.Connection[Any], lines: bytes) -> None:
        places = [self._names.index(name) for name in self._key]
        net = net_changes(changed_rows(lines, self._names), places)
        tables.delete_rows(connection, self._table, self._key, net.keys)
        tables.append_rows(connection, self._table, self._names, net.rows)

    @contextmanager
    def _transaction(self) -> Iterator[psycopg.Connection[Any]]:
        assert self._connection is not None
        with SilenceGuard() as guard, self._one_line_errors():
            guard.watch(self._connection.fileno())
            with self._connection.transaction():
                yield self._connection

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise SeineError(f"PostgreSQL: {error_line(error)}") from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_MOST_CHARACTERS = 300
_OF_VALUES = "22"  # the class of errors whose first line may quote a value
_VALUE = re.compile(r'\s*["«»„“”「][\s\S]*$')  # as servers of any language quote it
_COLUMN = re.compile(r"COPY .*?, line \d+, column (.+?)(?::|$)")


def error_line(error: psycopg.Error) -> str:
    """What the server says first; of a value that does not fit, the column and not the value.

    >>> error_line(psycopg.OperationalError("no connection\\nis the server there?"))
    'no connection'
    """
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if not (error.sqlstate or "").startswith(_OF_VALUES):
        return text[:_MOST_CHARACTERS]
    column = _COLUMN.search(error.diag.context or "")
    place = f" in column {column[1]}" if column is not None else ""
    return _VALUE.sub("", text)[:_MOST_CHARACTERS].rstrip(":") + place


_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")  # an escape, and no escaped backslash before u0000


class _Record(msgspec.Struct):
    query: str
    op: str
    t_start: Raw
    t_end: Raw
    row: Raw


_decode = json_decoder(_Record).decode
_decode_row = json_decoder(dict[str, Raw]).decode
_decode_text = json_decoder(str).decode
_NULL = Raw(b"null")


def whole_records(lines: bytes) -> Iterator[Row]:
    r"""Of each record the query, op, t_start, t_end, and the row as JSON.

    >>> line = b'{"query": "q", "op": "+", "t_start": 7, "t_end": null, "row": {"a": 1.50}}\n'
    >>> list(whole_records(line))
    [('q', '+', '7', None, '{"a": 1.50}')]
    """
    for line in lines.splitlines():
        one = _decode(_without_nul(line))
        yield one.query, one.op, _text(one.t_start), _text(one.t_end), bytes(one.row).decode()


def changed_rows(lines: bytes, columns: Sequence[str]) -> Iterator[tuple[bool, Row]]:
    r"""Of each record whether a row begins, and the columns of the row.

    >>> line = b'{"query": "q", "op": "-", "t_start": 7, "t_end": null, "row": {"b": "x", "a": true}}\n'
    >>> list(changed_rows(line, ["a", "b", "c"]))
    [(False, ('true', 'x', None))]
    """
    for line in lines.splitlines():
        one = _decode(_without_nul(line))
        row = _decode_row(one.row)
        yield one.op == "+", tuple(_text(row.get(name, _NULL)) for name in columns)


def _text(value: Raw) -> str | None:
    """A value as a database reads it: a string without quotes, else its JSON."""
    content = bytes(value)
    if content == b"null":
        return None
    return _decode_text(content) if content.startswith(b'"') else content.decode()


def _without_nul(line: bytes) -> bytes:
    r"""A line with U+FFFD in place of U+0000, which PostgreSQL has in no text.

    >>> _without_nul(rb'"a\u0000b\\u0000"')
    b'"a\\ufffdb\\\\u0000"'
    """
    return _NUL.sub(rb"\1\\ufffd", line) if rb"\u0000" in line else line
