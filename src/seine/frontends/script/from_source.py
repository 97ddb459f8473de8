"""The parser of source clauses: FROM 'path' or USING format, [FORMAT f] [WITH (key = 'value', ...)].

The schema of Avro records that a script names: WITH (schema = 'bid.avsc', schema_id = '17').

The file is read when the stream is declared, and its text is part of the stream from then on: a file that
changes later, or is not there where tasks run, changes nothing.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.avro_schema import check_columns, read_avro_schema
from seine.algebra.definitions import PUSHED, Source
from seine.algebra.tree_pattern import read_field_path, read_prefixes
from seine.algebra.types import XML, Field
from seine.frontends.script.using_clause import (
    COLUMNS,
    RECORDS,
    UsingClause,
    finish_reader,
    kafka_url,
    read_key,
    read_using,
)
from seine.frontends.text.cursor import Cursor, Duration, read_duration
from seine.frontends.text.lexer import Token, TokenKind, suggest

SCHEMA, SCHEMA_ID = "schema", "schema_id"
AVRO_OPTIONS = (SCHEMA, SCHEMA_ID)
_MOST_BYTES = 1_000_000
_MOST_ID = 2**32


def with_schema(
    cursor: Cursor,
    options: Mapping[str, str],
    places: Mapping[str, Token],
    folder: str,
    within: Sequence[str] | None,
) -> dict[str, str]:
    """The options with the text of the schema in place of its path.

    `within` are the folders, as real paths, in which the file must lie; None if it may lie anywhere.
    """
    if SCHEMA not in options:
        raise cursor.error("FORMAT AVRO needs a schema", "add WITH (schema = 'file.avsc')")
    given = options.get(SCHEMA_ID)
    if given is not None and not (given.isascii() and given.isdigit() and int(given) < _MOST_ID):
        message, hint = "schema_id is the number of the schema in its registry", "write schema_id = '17'"
        raise cursor.error(message, hint, at=places[SCHEMA_ID])
    try:
        text = _read(os.path.join(folder, options[SCHEMA]), within)
        read_avro_schema(text)
    except ValueError as error:
        raise cursor.error(str(error), at=places[SCHEMA]) from None
    return {**options, SCHEMA: json.dumps(json.loads(text), separators=(",", ":"))}


def check_schema_columns(
    cursor: Cursor, text: str, place: Token, fields: tuple[Field, ...], time: int
) -> None:
    """Refuse a schema whose fields are not the columns of a stream."""
    try:
        check_columns(read_avro_schema(text), fields, time)
    except ValueError as error:
        raise cursor.error(str(error), at=place) from None


def _read(path: str, within: Sequence[str] | None) -> str:
    """The text of a file; a ValueError if it cannot be read, which says nothing of files elsewhere."""
    real = os.path.realpath(path) if "\0" not in path else ""
    if within is not None and not any(os.path.commonpath([root, real or "/"]) == root for root in within):
        raise ValueError("the schema lies outside the folders that may be read")
    try:
        with open(real, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("the schema is no file")
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"the schema has more than {_MOST_BYTES:,} bytes")
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("the schema is no UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"the schema cannot be read: {error.strerror or 'no such file'}") from None


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for whoever writes into a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


OPTIONS = {"JSON": (), "CSV": ("header", "delimiter"), "PARQUET": (), "XML": ("feed",), "AVRO": AVRO_OPTIONS}
FORMATS = tuple(OPTIONS)
SPARK_OPTIONS = ("clock", "start", "key")  # of a stream that Spark reads
RELATION_OPTIONS = ("follow", "table", "version", "notify")
_NOT_PATHS = (
    "feed",
    "namespaces",
    "idle",
    "ahead",
    "follow",
    "table",
    *SPARK_OPTIONS,
)  # though a column is called so
_KAFKA_URL = "kafka://"
_CHANNEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
BOUNDS = ("idle", "ahead")  # options of a stream: lengths of time


@dataclass
class SourceClauses:
    """The three source clauses parsed so far, in any order, each at most once."""

    folder: str
    pushed: str | None = None  # where a service keeps the records that are sent to it
    within: tuple[str, ...] | None = None  # where files lie that are read at once; None: anywhere
    path: str | None = None
    place: Token | None = None  # of the path
    format: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    places: dict[str, Token] = field(default_factory=dict)  # of the options
    bounds: dict[str, Duration] = field(default_factory=dict)  # the options that are lengths of time
    using: UsingClause | None = None

    @property
    def is_spark(self) -> bool:
        """Whether Spark reads it."""
        return self.using is not None or (self.path or "").lower().startswith(_KAFKA_URL)

    def read(self, cursor: Cursor) -> bool:
        """Parse one clause if one comes next; whether it did."""
        token = cursor.token
        if cursor.accept("FROM"):
            _only_once(cursor, self.path, "FROM", token)
            self.path = self._read_path(cursor)
            self._refuse_two_places(cursor, token)
        elif cursor.accept("USING"):
            _only_once(cursor, self.using, "USING", token)
            self.using = read_using(cursor, self.folder)
            self._refuse_two_places(cursor, token)
        elif cursor.accept("FORMAT"):
            _only_once(cursor, self.format, "FORMAT", token)
            self.format = _read_format(cursor)
        elif cursor.accept("WITH"):
            _only_once(cursor, self.options or None, "WITH", token)
            cursor.comma_separated(lambda: self._read_option(cursor))
        else:
            return False
        return True

    def check_bounds(self, cursor: Cursor, plain: bool) -> None:
        """Refuse lengths that do not fit the event time of a stream: `plain` units, or a TIMESTAMP."""
        if "idle" in self.options:
            idle = self.bounds.get("idle")
            if idle is None or not idle.is_interval or not idle.length:
                hint = "write idle = INTERVAL '30' SECOND"
                raise cursor.error("idle is a time by the wall clock", hint, at=self.places["idle"])
        ahead = self.bounds.get("ahead")
        if "ahead" in self.options and (ahead is None or ahead.is_interval == plain):
            if ahead is None and self.options["ahead"].lower() == "none":
                self.options["ahead"] = "none"
                return
            hint = "write ahead = 100" if plain else "write ahead = INTERVAL '1' DAY"
            message = "ahead is a length of this stream's event time, or 'none'"
            raise cursor.error(message, hint, at=self.places["ahead"])

    def check_schema(self, cursor: Cursor, fields: tuple[Field, ...], time: int) -> None:
        """Read the schema of Avro records, and refuse one whose fields are not the columns of a stream."""
        if self.format == "AVRO" and self.is_spark:
            self.options = with_schema(cursor, self.options, self.places, self.folder, self.within)
            check_schema_columns(cursor, self.options[SCHEMA], self.places[SCHEMA], fields, time)

    def finish(self, cursor: Cursor, fields: tuple[Field, ...], relation: bool = False) -> Source:
        """The source, once all clauses are parsed; refuses options that do not apply.

        Columns of XML allow the options of documents, `relation` those of databases and of following changes.
        """
        if self.path is not None and self.is_spark and self.place is not None:
            self.using = kafka_url(cursor, self.path, self.place)
        if self.using is not None:
            return self._finish_using(cursor, self.using, fields, relation)
        if self.path is None:
            raise cursor.error(
                f"expected FROM 'path', found {cursor.token}", "say where the records come from"
            )
        if self._is_pushed and self.format not in (None, "JSON"):
            raise cursor.error("what is sent to a service are JSON Lines", "leave FORMAT out", at=self.place)
        if self.format == "AVRO":
            hint = "USING avro OPTIONS (path 'folder') reads files of Avro's"
            raise cursor.error("FORMAT AVRO is for records of topics", hint, at=self.place)
        source = Source(self.path, self.format or "JSON", tuple(self.options.items()))
        if "://" in self.path and not (relation and source.is_database):
            hint = "FROM 'postgresql://host/database' WITH (table = 'name'), sqlite:///file, or a path"
            message = (
                "only local files are read, streams from kafka://, and relations from PostgreSQL and SQLite"
            )
            raise cursor.error(message, hint, at=self.place)
        more = self._document_options(cursor, fields, relation)
        self._refuse_unknown(cursor, [*more, *(RELATION_OPTIONS if relation else BOUNDS)])
        if relation and source.is_database != ("table" in self.options):
            hint = "FROM 'postgresql://host/database' WITH (table = 'name')"
            raise cursor.error("a database and a table belong together", hint, at=cursor.token)
        self._check_following(cursor, source)
        if self.format == "XML":
            self._check_paths(cursor, fields)
        return source

    def _check_following(self, cursor: Cursor, source: Source) -> None:
        """Refuse ways to learn of changes that a source does not have."""
        given = [key for key in ("version", "notify") if key in self.options]
        if not given:
            return
        place = self.places[given[-1]]
        if not source.path.lower().startswith("postgresql") or self.options.get("follow") != "true":
            hint = (
                "FROM 'postgresql://host/database' WITH (table = 'name', follow = 'true', version = 'column')"
            )
            raise cursor.error(f"{given[-1]} is for a table of PostgreSQL that is followed", hint, at=place)
        if len(given) > 1:
            raise cursor.error("version and notify both tell of changes", "leave one out", at=place)
        if not _CHANNEL.fullmatch(self.options[given[0]]):
            message = f"{given[0]} is a name of letters, digits and underscores, 63 at most"
            raise cursor.error(message, at=place)

    def _document_options(self, cursor: Cursor, fields: tuple[Field, ...], relation: bool) -> list[str]:
        """The options that columns of XML allow."""
        documents = [field.name for field in fields if field.type == XML and not relation]
        more = ["namespaces"] if documents or self.format == "XML" else []
        if self.format == "XML" and not relation:
            if len(documents) != 1:
                hint = "declare doc XML; other columns are read from the document"
                raise cursor.error("FORMAT XML needs one column of type XML", hint, at=self.place)
            more += [field.name for field in fields if field.name not in documents]
        return more

    def _finish_using(
        self, cursor: Cursor, using: UsingClause, fields: tuple[Field, ...], relation: bool
    ) -> Source:
        """The source of a stream that Spark reads."""
        if relation:
            hint = "FROM a file or a database, or Engine.relation(name, frame)"
            raise cursor.error("a relation cannot be read USING a streaming format", hint, at=using.place)
        self._refuse_format(cursor, using)
        known = [*self._document_options(cursor, fields, relation), *BOUNDS, *SPARK_OPTIONS]
        known += {"CSV": ["delimiter"], "AVRO": [*AVRO_OPTIONS]}.get(self.format or "", [])
        for key, token in self.places.items():
            if key not in known:
                hint = suggest(key, known, "options") or "options of Spark's stand in OPTIONS (...)"
                raise cursor.error(f"a stream USING {using.name} has no option {key}", hint, at=token)
        if self.format == "XML":
            if "feed" in self.options:
                raise cursor.error("a record has one document: no feed", at=self.places["feed"])
            self._check_paths(cursor, fields)
        reader = finish_reader(cursor, using, fields, self.options, self.places)
        return Source("", self.format or "JSON", tuple(self.options.items()), reader)

    def _refuse_format(self, cursor: Cursor, using: UsingClause) -> None:
        """Refuse a FORMAT of records where there are none; set it where the format of Spark implies it."""
        implied = RECORDS.get(using.name)
        in_lines = self.format == "AVRO" and using.name == "text"
        if self.format == "PARQUET" or in_lines or (self.format and using.name in COLUMNS):
            hint = "FORMAT says how records are read: JSON, CSV or XML, and AVRO those of kafka"
            raise cursor.error(f"FORMAT {self.format} is not for USING {using.name}", hint, at=using.place)
        if implied and self.format not in (None, implied):
            raise cursor.error(
                f"USING {using.name} is of FORMAT {implied}", "leave FORMAT out", at=using.place
            )
        self.format = self.format or implied

    def _refuse_two_places(self, cursor: Cursor, token: Token) -> None:
        if self.using is not None and self.path is not None:
            raise cursor.error("FROM and USING both say where records come from", "leave one out", at=token)

    def _check_paths(self, cursor: Cursor, fields: tuple[Field, ...]) -> None:
        """Refuse a column's option that is no path."""
        prefixes = read_prefixes(self.options.get("namespaces"))
        for name in [column.name for column in fields if column.name in self.options]:
            if name not in _NOT_PATHS:
                try:
                    read_field_path(self.options[name], prefixes)
                except ValueError as error:
                    raise cursor.error(str(error), at=self.places[name]) from None

    def _refuse_unknown(self, cursor: Cursor, more: list[str]) -> None:
        known = [*OPTIONS[self.format or "JSON"], *more]
        for key, token in self.places.items():
            if key in SPARK_OPTIONS and key not in known:
                hint = "USING kafka OPTIONS (...), or FROM 'kafka://host:9092/topic'"
                raise cursor.error(f"{key} is for a stream that Spark reads", hint, at=token)
            if key not in known:
                hint = suggest(key, known, "options") or "take it out"
                raise cursor.error(
                    f"a source of FORMAT {self.format or 'JSON'} has no option {key}", hint, at=token
                )
        try:
            read_prefixes(self.options.get("namespaces"))
        except ValueError as error:
            raise cursor.error(str(error), at=self.places["namespaces"]) from None
        if self.options.get("feed", "true") not in ("true", "false"):
            raise cursor.error("option feed is 'true' or 'false'", at=self.places["feed"])
        if self.options.get("follow", "true") not in ("true", "false"):
            raise cursor.error("option follow is 'true' or 'false'", at=self.places["follow"])

    def _read_path(self, cursor: Cursor) -> str:
        self.place = token = cursor.expect_kind(TokenKind.STRING, "a path in quotes")
        if not token.value.strip():
            raise cursor.error("the path is empty", at=token)
        if token.value.lower() == PUSHED:
            return self._pushed_path(cursor, token)
        return (
            token.value if "://" in token.value else os.path.normpath(os.path.join(self.folder, token.value))
        )

    @property
    def _is_pushed(self) -> bool:
        return self.place is not None and self.place.value.lower() == PUSHED

    def _pushed_path(self, cursor: Cursor, token: Token) -> str:
        """A folder of its own for a stream whose records are sent to a service."""
        if self.pushed is None:
            hint = "seine serve, and seine register"
            raise cursor.error("records are sent to the streams of a service alone", hint, at=token)
        return os.path.join(self.pushed, uuid.uuid4().hex)

    def _read_option(self, cursor: Cursor) -> None:
        token = cursor.token
        key = read_key(cursor)
        key = key.lower() if token.kind is TokenKind.WORD else key
        if key in self.options:
            raise cursor.error(f"option {key} is given twice", at=token)
        cursor.expect_symbol("=")
        self.places[key] = token
        if key in BOUNDS and cursor.token.kind is not TokenKind.STRING:
            self.bounds[key] = duration = read_duration(cursor)
            self.options[key] = str(duration.length)
        else:
            self.options[key] = cursor.expect_kind(TokenKind.STRING, "a value in quotes").value


def _read_format(cursor: Cursor) -> str:
    if not cursor.token.is_word(*FORMATS):
        raise cursor.unexpected("a format", list(FORMATS))
    return cursor.advance().text.upper()


def _only_once(cursor: Cursor, already: object, clause: str, token: Token) -> None:
    if already is not None:
        raise cursor.error(f"{clause} is given twice", at=token)
