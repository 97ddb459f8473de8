"""The parser of USING format OPTIONS (key 'value', ...): a stream that Spark reads.

    CREATE STREAM bid (item BIGINT, price DOUBLE, ts BIGINT) TIMESTAMP BY ts
      USING kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'host:9092') WITH (key = 'item')

`FROM 'kafka://host:9092/bids'` is short for this. A secret is never written in a script: an option with one
is `'${NAME}'`, which is looked up in the options file or the environment when the stream is opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlsplit

from seine.algebra.definitions import LARGEST_CLOCK, TOPICS, SparkReader
from seine.algebra.types import Field
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import Token, TokenKind

KAFKA = TOPICS
RECORDS = {
    KAFKA: None,
    "text": None,
    "json": "JSON",
    "csv": "CSV",
}  # formats of records, and how these are read
COLUMNS = ("parquet", "orc", "avro", "delta", "iceberg", "rate", "rate-micro-batch")
STARTS = ("earliest", "latest")
_SECRET = re.compile(
    r"password|passwd|secret|authorization|token(?!\.endpoint\.url)|credential|jaas|private.?key|access.?key|account.?key"
    r"|keystore\.key$|key\.pem$",
    re.I,
)
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_LITERAL_PASSWORD = re.compile(
    r"(?:password|secret)\s*=\s*[\"']?(?!\$\{)[^\s\"';]|-BEGIN [A-Z ]*PRIVATE KEY-", re.I
)
HIDE = "write '${NAME}', and give NAME in the file of --options-file or in the environment"
_REFUSED = {
    "socket": "what came from a socket cannot be read again after a failure",
    "dataframe": "a DataFrame comes from a program: Engine.stream(name, frame)",
}
_REFUSED_OPTIONS = {
    "failondataloss": "what the broker has deleted cannot be passed over: results would be wrong",
    "startingoffsets": "write WITH (start = 'earliest'), 'latest' or a time",
    "startingtimestamp": "write WITH (start = '2026-01-31T12:00:00Z')",
}


@dataclass
class UsingClause:
    """A format of Spark and its options, as written."""

    name: str  # of the format, in lower case
    place: Token
    options: dict[str, str] = field(default_factory=dict)
    places: dict[str, Token] = field(default_factory=dict)


def read_using(cursor: Cursor, folder: str) -> UsingClause:
    """Parse what follows USING; a relative path is one of the folder of the script."""
    clause = UsingClause(cursor.token.value.lower(), cursor.token)
    if cursor.token.kind is TokenKind.STRING:
        cursor.advance()
    else:
        cursor.expect_name("a streaming format of Spark, such as kafka")
    if cursor.accept("OPTIONS"):
        cursor.comma_separated(lambda: _read_option(cursor, clause))
    path = clause.options.get("path")
    if path is not None and "://" not in path:
        clause.options["path"] = os.path.normpath(os.path.join(folder, path))
    _check(cursor, clause)
    return clause


def _read_option(cursor: Cursor, clause: UsingClause) -> None:
    token = cursor.token
    key = read_key(cursor)
    if key.lower() in (known.lower() for known in clause.options):
        raise cursor.error(f"option {key} is given twice", at=token)
    cursor.accept_symbol("=")
    clause.options[key] = cursor.expect_kind(TokenKind.STRING, "a value in quotes").value
    clause.places[key] = token


def read_key(cursor: Cursor) -> str:
    """An option's key: a 'string', or names joined by dots."""
    if cursor.token.kind is TokenKind.STRING:
        return cursor.advance().value
    key = cursor.expect_name("the name of an option").written
    while cursor.accept_symbol("."):
        key += "." + cursor.expect_name("the name of an option").written
    return key


def _check(cursor: Cursor, clause: UsingClause) -> None:
    if clause.name in _REFUSED:
        raise cursor.error(
            f"a stream cannot be read USING {clause.name}", _REFUSED[clause.name], at=clause.place
        )
    for key, value in clause.options.items():
        if key.lower() in _REFUSED_OPTIONS and not (
            key.lower() == "failondataloss" and value.lower() == "true"
        ):
            raise cursor.error(
                f"option {key} is not for here", _REFUSED_OPTIONS[key.lower()], at=clause.places[key]
            )
        if shows_secret(key, value):
            raise cursor.error(f"option {key} has a secret in the script", HIDE, at=clause.places[key])
    if clause.name == "csv" and clause.options.get("header", "false").lower() != "false":
        hint = "FROM 'folder' FORMAT CSV reads files with a header line"
        raise cursor.error("USING csv reads records without a header line", hint, at=clause.places["header"])
    if clause.name == KAFKA:
        _check_kafka(cursor, clause)


def _check_kafka(cursor: Cursor, clause: UsingClause) -> None:
    given = {key.lower() for key in clause.options}
    if len(given & {"subscribe", "subscribepattern", "assign"}) != 1:
        raise cursor.error("kafka needs one of subscribe, subscribePattern and assign", at=clause.place)
    if "kafka.bootstrap.servers" not in given:
        raise cursor.error("kafka needs the option kafka.bootstrap.servers", at=clause.place)


def shows_secret(key: str, value: str) -> bool:
    """Whether an option has a secret that anybody who sees the script could read.

    >>> shows_secret("kafka.ssl.key.password", "abc"), shows_secret("kafka.ssl.key.password", "${KEY}")
    (True, False)
    >>> jaas = 'PlainLoginModule required username="u" password="%s";'
    >>> [shows_secret("kafka.sasl.jaas.config", jaas % word) for word in ("abc", "${WORD}")]
    [True, False]
    """
    if _LITERAL_PASSWORD.search(value):
        return True
    return is_for_secrets(key) and _REFERENCE.search(value) is None


def is_for_secrets(key: str) -> bool:
    """Whether the value of an option is a secret."""
    return _SECRET.search(key) is not None


def kafka_url(cursor: Cursor, url: str, token: Token) -> UsingClause:
    """What `kafka://host:9092,other:9092/topic` is short for."""
    rest = url.partition("://")[2]
    servers, slash, topic = rest.partition("/")
    if "@" in servers or urlsplit(url).query:
        hint = "USING kafka OPTIONS (...), with '${NAME}' for what is secret"
        raise cursor.error("a URL of Kafka has no user, password or parameters", hint, at=token)
    if not servers or not slash or not topic or "/" in topic:
        raise cursor.error("this is no URL of a topic", "write 'kafka://host:9092/topic'", at=token)
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic}
    return UsingClause(KAFKA, token, options)


def finish_reader(
    cursor: Cursor,
    clause: UsingClause,
    fields: tuple[Field, ...],
    options: dict[str, str],
    places: dict[str, Token],
) -> SparkReader:
    """The reader, once all clauses are parsed; refuses a clock or a start that it does not have."""
    clock, start = options.get("clock"), options.get("start")
    names = [column.name for column in fields]
    others = ("partition", LARGEST_CLOCK) if clause.name == KAFKA else ()
    if clock is not None and clock not in names and clock not in others:
        what = "a column of the stream" + "".join(f", or '{other}'" for other in others)
        raise cursor.error(f"clock names {what}, not '{clock}'", at=places["clock"])
    _check_key(cursor, clause, names, options, places)
    if start is not None and clause.name != KAFKA:
        hint = "give that format's own option in OPTIONS"
        raise cursor.error(f"start is for kafka, not for {clause.name}", hint, at=places["start"])
    if start is not None and start not in STARTS and not _is_instant(start):
        hint = "write 'earliest', 'latest' or a time such as '2026-01-31T12:00:00Z'"
        raise cursor.error(f"'{start}' is no place to start at", hint, at=places["start"])
    return SparkReader(clause.name, tuple(clause.options.items()))


def _check_key(
    cursor: Cursor,
    clause: UsingClause,
    names: list[str],
    options: dict[str, str],
    places: dict[str, Token],
) -> None:
    if "key" not in options:
        return
    if clause.name != KAFKA:
        raise cursor.error(f"key is for kafka, not for {clause.name}", at=places["key"])
    for name in key_columns(options):
        if name not in names:
            raise cursor.error(f"key names columns of the stream, not '{name}'", at=places["key"])


def key_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns by which a producer chooses the partition.

    >>> key_columns({"key": "item, shop"}), key_columns({})
    (('item', 'shop'), ())
    """
    return tuple(name.strip() for name in options["key"].split(",")) if "key" in options else ()


def _is_instant(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
