"""The parser of CREATE SINK name FROM query, ... INTO 'target' [FORMAT f] [WITH (key = 'value', ...)].

The address of a PostgreSQL database in a script: without a password.

The key of a sink: columns that all its queries have.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from seine.algebra.definitions import POSITION_TABLE, SinkDef, SinkKind
from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.rank_plan import identifying_columns
from seine.algebra.search_plan import Search
from seine.errors import Position, ScriptError
from seine.frontends.script.using_clause import HIDE, is_for_secrets, kafka_url, read_key, shows_secret
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import Token, TokenKind, suggest

MOST_IDENTIFIER = 63  # bytes of a name in PostgreSQL
SINK_FORMATS = ("JSON", "PARQUET")
SINK_OPTIONS: dict[SinkKind, tuple[str, ...]] = {
    "folder": (),
    "kafka": (
        "key",
        *("kafka.security.protocol", "kafka.sasl.mechanism", "kafka.sasl.username", "kafka.sasl.password"),
        *("kafka.ssl.ca.location", "kafka.ssl.certificate.location", "kafka.ssl.key.location"),
        *("kafka.ssl.key.password", "kafka.ssl.endpoint.identification.algorithm"),
        *("kafka.compression.type", "kafka.message.max.bytes", "kafka.linger.ms"),
    ),
    "postgresql": ("table", "key", "password"),
    "webhook": ("secret", "authorization", "attempts", "timeout"),
}
_TARGETS = "INTO 'kafka://host:9092/topic', 'postgresql+psycopg://host/db', 'https://host/path' or 'folder'"


_KIND_WORDS = {"folder": "a folder", "kafka": "Kafka", "postgresql": "PostgreSQL", "webhook": "a webhook"}
_WEBHOOK_EXAMPLE = "write 'https://host/path'"
_MOST_ATTEMPTS, _MOST_SECONDS = 1000, 300


def read_sink(cursor: Cursor, name: Name, folder: str, queries: Mapping[str, str]) -> SinkDef:
    """Parse what follows the name; `queries` are the names of those that stand here, by lower case.

    >>> from seine.frontends.text.lexer import ScriptText
    >>> cursor = Cursor(ScriptText("s FROM Q INTO 'alerts' FORMAT PARQUET", "x.sql"))
    >>> read_sink(cursor, cursor.expect_name("a name"), "/data", {"q": "q"})
    SinkDef(name='s', queries=('q',), target='/data/alerts', format='PARQUET', options=())
    """
    cursor.expect("FROM")
    names = [_read_query(cursor, queries)]
    while cursor.accept_symbol(","):
        names.append(_read_query(cursor, queries, names))
    cursor.expect("INTO")
    place = cursor.expect_kind(TokenKind.STRING, "a target in quotes")
    format_ = _read_format(cursor) if cursor.accept("FORMAT") else "JSON"
    options: dict[str, tuple[str, Token]] = {}
    if cursor.accept("WITH"):
        cursor.comma_separated(lambda: _read_option(cursor, options))
    target = _target(cursor, place, folder)
    values = tuple((key, value) for key, (value, _) in options.items())
    sink = SinkDef(name.written, tuple(names), target, format_, values)
    _refuse_unknown(cursor, sink, place, {key: token for key, (_, token) in options.items()})
    return sink


def _read_query(cursor: Cursor, queries: Mapping[str, str], before: list[str] | None = None) -> str:
    name = cursor.expect_name("the name of a query")
    query = queries.get(name.key.lower())
    if query is None:
        hint = suggest(name.written, queries, "queries")
        raise cursor.error(f"no query {name.written}", hint, at=name)
    if before and query in before:
        raise cursor.error(f"query {name.written} is named twice", "name it once", at=name)
    return query


def _target(cursor: Cursor, place: Token, folder: str) -> str:
    if not place.value.strip() or "\0" in place.value:
        raise cursor.error("the target is no path and no URL", f"write {_TARGETS}", at=place)
    if place.value.lower().startswith("kafka://"):
        kafka_url(cursor, place.value, place)
    if place.value.lower().startswith("postgresql"):
        check_postgres_url(cursor, place)
    if place.value.lower().startswith(("http://", "https://")):
        check_webhook_url(cursor, place)
    if "://" in place.value:
        return place.value
    return os.path.normpath(os.path.join(folder, place.value))


def _read_format(cursor: Cursor) -> str:
    if not cursor.token.is_word(*SINK_FORMATS):
        raise cursor.unexpected("a format of sinks", list(SINK_FORMATS))
    return cursor.advance().text.upper()


def _read_option(cursor: Cursor, options: dict[str, tuple[str, Token]]) -> None:
    token = cursor.token
    key = read_key(cursor).lower()
    if key in options:
        raise cursor.error(f"option {key} is given twice", at=token)
    cursor.expect_symbol("=")
    options[key] = cursor.expect_kind(TokenKind.STRING, "a value in quotes").value, token


def _refuse_unknown(cursor: Cursor, sink: SinkDef, place: Token, options: Mapping[str, Token]) -> None:
    """Refuse a kind of target that there is not, and options that it does not have."""
    known = SINK_OPTIONS.get(sink.kind)
    if known is None:
        scheme = sink.target.partition("://")[0]
        message = f"there are no sinks of {scheme} targets"
        raise cursor.error(message, f"write {_TARGETS}", at=place)
    for key, token in options.items():
        if key not in known:
            hint = suggest(key, known, "options") or "take it out"
            raise cursor.error(f"a sink into {_KIND_WORDS[sink.kind]} has no option {key}", hint, at=token)
        if shows_secret(key, sink.option(key)):
            raise cursor.error(f"option {key} has a secret in the script", HIDE, at=token)
        if "${" in sink.option(key) and not is_for_secrets(key):
            raise cursor.error(f"option {key} is not for secrets", "write its value", at=token)
    if sink.kind == "postgresql":
        _check_table(cursor, sink, place)
    if sink.kind == "webhook":
        check_webhook_options(cursor, sink, place, options)
    if sink.format != "JSON" and sink.kind != "folder":
        raise cursor.error(f"FORMAT {sink.format} is for folders", "leave it out", at=place)


def _check_table(cursor: Cursor, sink: SinkDef, place: Token) -> None:
    """Refuse what is no name of a table: PostgreSQL would cut a longer one off."""
    name = sink.option("table")
    if not name:
        raise cursor.error("a sink into PostgreSQL needs a table", "WITH (table = 'alerts')", at=place)
    parts = name.split(".")
    if len(parts) > 2 or not all(0 < len(part.encode()) <= MOST_IDENTIFIER for part in parts) or "\0" in name:
        raise cursor.error(f"'{name}' is no name of a table", "write 'table' or 'schema.table'", at=place)
    if parts[-1].lower() == POSITION_TABLE:
        raise cursor.error(f"{POSITION_TABLE} is the table of the positions of all sinks", at=place)


_DRIVERS = ("postgresql", "postgresql+psycopg")
_PARAMETERS = {
    *("host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey"),
    *("connect_timeout", "application_name", "target_session_attrs", "options"),
}
_HIDE = "WITH (password = '${NAME}'), and give NAME in the file of --options-file or in the environment"


def check_postgres_url(cursor: Cursor, place: Token) -> None:
    """Refuse what is no address, and one with a password; nothing of it is repeated."""
    try:
        parts = urlsplit(place.value)
        given = {key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
        user = parts.netloc.rpartition("@")[0]
    except ValueError:
        raise cursor.error("this is no address of a database", _EXAMPLE, at=place) from None
    if ":" in user or "password" in given:
        raise cursor.error("the URL has a password", _HIDE, at=place)
    if parts.scheme.lower() not in _DRIVERS or not (parts.netloc or given) or parts.fragment:
        raise cursor.error("this is no address of a database", _EXAMPLE, at=place)
    if unknown := given - _PARAMETERS:
        hint = f"parameters: {', '.join(sorted(_PARAMETERS))}"
        raise cursor.error(f"the URL has a parameter {min(unknown)}", hint, at=place)


_EXAMPLE = "write 'postgresql+psycopg://user@host:5432/database'"


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


def check_webhook_url(cursor: Cursor, place: Token) -> None:
    """Refuse what is no address, or shows a secret; nothing of it is repeated."""
    try:
        parts = urlsplit(place.value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise cursor.error("this is no address of a webhook", _WEBHOOK_EXAMPLE, at=place) from None
    if (
        not host
        or parts.fragment
        or not place.value.isascii()
        or not place.value.isprintable()
        or " " in place.value
    ):
        raise cursor.error("this is no address of a webhook", _WEBHOOK_EXAMPLE, at=place)
    if "@" in parts.netloc or any(shows_secret(key, value) for key, value in parse_qsl(parts.query)):
        hint = "WITH (authorization = 'Bearer ${NAME}')"
        raise cursor.error("the URL has a password or another secret", hint, at=place)
    if parts.scheme.lower() == "http" and not _is_loopback(host):
        raise cursor.error("http is for this machine alone", "write https://", at=place)


def check_webhook_options(cursor: Cursor, sink: SinkDef, place: Token, places: Mapping[str, Token]) -> None:
    """Refuse a webhook without a secret, and bounds that are none."""
    if not sink.option("secret"):
        hint = "WITH (secret = '${NAME}'): what is sent is signed with it"
        raise cursor.error("a webhook needs a secret", hint, at=place)
    for key, most in (("attempts", _MOST_ATTEMPTS), ("timeout", _MOST_SECONDS)):
        value = sink.option(key, "1")
        if not (value.isascii() and value.isdigit() and 0 < int(value) <= most):
            raise cursor.error(f"{key} is a number from 1 to {most}", at=places[key])


def _is_loopback(host: str) -> bool:
    """
    >>> _is_loopback("localhost"), _is_loopback("127.0.0.9"), _is_loopback("::1"), _is_loopback("example.org")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
