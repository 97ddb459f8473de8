"""The parsers of CREATE STREAM name (columns) clauses and ALTER STREAM name ADD COLUMN column type.

    ALTER STREAM bid ADD COLUMN channel STRING;

Law: whatever read the stream before sees it as it was; whatever is created later finds the column behind the
others, NULL in tuples from before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from seine.algebra.definitions import Scheme, StreamDef, with_since
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    XML,
    Field,
    Kind,
    Type,
    holder_hint,
)
from seine.errors import ScriptError
from seine.frontends.script.from_source import SourceClauses
from seine.frontends.script.using_clause import key_columns
from seine.frontends.text.cursor import Cursor, Duration, Name, read_duration
from seine.frontends.text.lexer import Token, TokenKind, suggest

_CLAUSES = [
    "TIMESTAMP",
    "WINDOW",
    "LATENESS",
    "PUNCTUATED",
    "UNIQUE",
    "RETRACTABLE",
    "IMPORTANCE",
    "FROM",
    "USING",
    "FORMAT",
    "WITH",
]
TYPES = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "LONG": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "VARCHAR": STRING,
    "TEXT": STRING,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "XML": XML,
}
_DECIMALS = ("DECIMAL", "NUMERIC", "DEC")


_RESERVED_COLUMNS = ("@op", "@punctuate")


@dataclass(frozen=True)
class _SchemeClause:
    """PUNCTUATED ON (columns) [LIFESPAN length | REUSED AFTER length] [TIMEOUT length], or UNIQUE (columns)
    [LIFESPAN length | REUSED AFTER length].
    """

    columns: tuple[int, ...]
    lifespan: Duration | None
    unique: Token | None = None
    timeout: Duration | None = None
    reused: Token | None = None


@dataclass
class _Clauses:
    """The clauses parsed so far; names and durations are resolved by `_finish`."""

    name: Name
    fields: tuple[Field, ...]
    source: SourceClauses
    time: Name | None = None
    window: Duration | None = None
    lateness: Duration | None = None
    punctuated: list[_SchemeClause] = field(default_factory=list)
    retractable: bool | None = None
    importance: Name | None = None


def read_stream(
    cursor: Cursor,
    name: Name,
    folder: str,
    pushed: str | None = None,
    within: tuple[str, ...] | None = None,
) -> StreamDef:
    """Parse what follows CREATE STREAM name; the clauses may come in any order."""
    clauses = _Clauses(name, read_columns(cursor), SourceClauses(folder, pushed, within))
    while not cursor.at_statement_end():
        if not clauses.source.read(cursor):
            _read_clause(cursor, clauses)
    return _finish(cursor, clauses)


def _read_clause(cursor: Cursor, clauses: _Clauses) -> None:
    start = cursor.token.start
    if cursor.accept("TIMESTAMP"):
        cursor.expect("BY")
        _set(cursor, clauses, "time", cursor.expect_name("the timestamp column"), start)
    elif cursor.accept("WINDOW"):
        _set(cursor, clauses, "window", read_duration(cursor), start)
    elif cursor.accept("LATENESS"):
        _set(cursor, clauses, "lateness", read_duration(cursor), start)
    elif cursor.accept("PUNCTUATED"):
        cursor.expect("ON")
        clauses.punctuated.append(_read_scheme(cursor, clauses))
    elif cursor.token.is_word("UNIQUE"):
        clauses.punctuated.append(_read_scheme(cursor, clauses, cursor.advance()))
    elif cursor.accept("RETRACTABLE"):
        _set(cursor, clauses, "retractable", True, start)
    elif cursor.accept("IMPORTANCE"):
        cursor.expect("BY")
        _set(cursor, clauses, "importance", cursor.expect_name("the importance column"), start)
    else:
        raise cursor.unexpected("a clause of CREATE STREAM or ';'", _CLAUSES)


def _set(cursor: Cursor, clauses: _Clauses, clause: str, value: object, start: int) -> None:
    if getattr(clauses, clause) is not None:
        raise cursor.error("this clause is given twice", at=start)
    setattr(clauses, clause, value)


def _read_scheme(cursor: Cursor, clauses: _Clauses, unique: Token | None = None) -> _SchemeClause:
    start = cursor.token.start
    names = cursor.comma_separated(lambda: cursor.expect_name("a column name"))
    columns = tuple(column_index(cursor, clauses.fields, name, clauses.name.written) for name in names)
    if len(set(columns)) < len(columns):
        raise cursor.error("a punctuation scheme names each column once", at=start)
    if any(set(columns) == set(other.columns) for other in clauses.punctuated):
        hint = "a punctuation could not tell which one it is of; UNIQUE (columns) is such a scheme too"
        raise cursor.error("two punctuation schemes have the same columns", hint, at=start)
    reused = _read_reused(cursor)
    lifespan = read_duration(cursor) if reused is not None or cursor.accept("LIFESPAN") else None
    timeout = read_duration(cursor) if not unique and cursor.accept("TIMEOUT") else None
    return _SchemeClause(columns, lifespan, unique, timeout, reused)


def _read_reused(cursor: Cursor) -> Token | None:
    if not cursor.token.is_word("REUSED"):
        return None
    reused = cursor.advance()
    cursor.expect("AFTER")
    return reused


def _finish(cursor: Cursor, clauses: _Clauses) -> StreamDef:
    time = _time_column(cursor, clauses)
    plain = clauses.fields[time].type == BIGINT

    clauses.source.check_bounds(cursor, plain)
    clauses.source.check_schema(cursor, clauses.fields, time)
    if clauses.retractable:
        _refuse_retractable(cursor, clauses.punctuated)

    def length(duration: Duration | None, least: int) -> int | None:
        return None if duration is None else _length(cursor, duration, plain, least)

    def scheme(one: _SchemeClause) -> Scheme:
        lifespan, timeout = length(one.lifespan, 1), length(one.timeout, 0)
        return Scheme(one.columns, lifespan, one.unique is not None, timeout, one.reused is not None)

    stream = StreamDef(
        name=clauses.name.key,
        fields=clauses.fields,
        time=time,
        source=clauses.source.finish(cursor, clauses.fields),
        window=length(clauses.window, 1),
        lateness=length(clauses.lateness, 0) or 0,
        schemes=tuple(map(scheme, clauses.punctuated)),
        retractable=clauses.retractable or False,
        importance=_importance_column(cursor, clauses),
    )
    if stream.reader is not None:
        _refuse_unique(cursor, stream, clauses.punctuated)
    return with_since(stream)


def _refuse_retractable(cursor: Cursor, schemes: list[_SchemeClause]) -> None:
    """Refuse clauses that need a stream that only appends."""
    for scheme in schemes:
        if scheme.unique:
            hint = "leave out UNIQUE or RETRACTABLE"
            message = "UNIQUE needs a stream that only appends: a deleted tuple could not come again"
            raise cursor.error(message, hint, at=scheme.unique)
        if scheme.reused:
            hint = "leave out REUSED AFTER or RETRACTABLE"
            message = "REUSED AFTER needs a stream that only appends: a deleted tuple has no use of a value"
            raise cursor.error(message, hint, at=scheme.reused)


def _refuse_unique(cursor: Cursor, stream: StreamDef, schemes: list[_SchemeClause]) -> None:
    """Refuse UNIQUE of a stream that many tasks read side by side, unless equal values share a partition."""
    key = key_columns(dict(stream.source.options)) if stream.source is not None else ()
    chosen = {place for place, field in enumerate(stream.declared) if field.name in key}
    for scheme in schemes:
        if scheme.unique and not (stream.by_partition and chosen and chosen <= {*scheme.columns}):
            message = "UNIQUE needs one reader that sees all tuples: a stream that Spark reads has many"
            hint = "leave UNIQUE out, send punctuations, or name the key by which a topic is partitioned"
            raise cursor.error(message, hint, at=scheme.unique)


def _time_column(cursor: Cursor, clauses: _Clauses) -> int:
    if clauses.time is None:
        raise cursor.error(
            f"stream {clauses.name.written} has no event time", "add TIMESTAMP BY column", at=clauses.name
        )
    index = column_index(cursor, clauses.fields, clauses.time, clauses.name.written)
    type_ = clauses.fields[index].type
    if type_ not in (BIGINT, TIMESTAMP):
        raise cursor.error(f"event time must be BIGINT or TIMESTAMP, not {type_}", at=clauses.time)
    return index


def _importance_column(cursor: Cursor, clauses: _Clauses) -> int | None:
    if clauses.importance is None:
        return None
    index = column_index(cursor, clauses.fields, clauses.importance, clauses.name.written)
    if not clauses.fields[index].type.is_numeric:
        raise cursor.error("importance must be a number", at=clauses.importance)
    return index


def _length(cursor: Cursor, duration: Duration, plain: bool, least: int) -> int:
    if duration.is_interval and plain:
        raise _unit_error(cursor, duration, "a BIGINT time is counted in plain units", "write a plain number")
    if not duration.is_interval and not plain:
        raise _unit_error(
            cursor, duration, "a TIMESTAMP time needs an interval", "write INTERVAL '20' MINUTE"
        )
    if duration.length < least:
        raise cursor.error(f"this must be at least {least}", at=duration.token)
    return duration.length


def _unit_error(cursor: Cursor, duration: Duration, message: str, hint: str) -> ScriptError:
    return cursor.error(message, hint, at=duration.token)


def read_columns(cursor: Cursor) -> tuple[Field, ...]:
    """Parse (name TYPE, ...); refuses duplicate and reserved names."""
    seen: set[str] = set()

    def read_next() -> Field:
        column = read_column(cursor, seen)
        seen.add(column.name.lower())
        return column

    return tuple(cursor.comma_separated(read_next))


def read_column(cursor: Cursor, others: Collection[str]) -> Field:
    """Parse name TYPE; refuses a reserved name, and that of another column, which are in lower case."""
    name = cursor.expect_name("a column name")
    if name.key.lower() in others:
        raise cursor.error(f"column {name.written} is declared twice", at=name)
    if name.key.lower() in _RESERVED_COLUMNS:
        raise cursor.error(f"{name.written} marks a kind of line, so no column can have this name", at=name)
    return Field(name.key, read_type(cursor))


def read_type(cursor: Cursor) -> Type:
    """Parse a type name."""
    token = cursor.token
    word = token.text.upper() if token.kind is TokenKind.WORD else ""
    if word not in TYPES and word not in _DECIMALS:
        hint = holder_hint(word)
        if hint is not None:
            raise cursor.error(f"there is no type {word}", hint)
        raise cursor.unexpected("a type", [*TYPES, "DECIMAL"])
    cursor.advance()
    if word in _DECIMALS:
        return _read_decimal(cursor)
    if word == "VARCHAR" and cursor.token.is_symbol("("):
        cursor.comma_separated(lambda: cursor.expect_kind(TokenKind.NUMBER, "a length"))
    if word == "TIMESTAMP" and cursor.token.is_symbol("("):
        _read_precision(cursor)
    return TYPES[word]


def _read_precision(cursor: Cursor) -> None:
    """The 3 of TIMESTAMP(3): up to 6 digits of a second, and microseconds are kept whatever it says."""
    digits = cursor.comma_separated(lambda: cursor.expect_kind(TokenKind.NUMBER, "a number of digits"))
    if [digit.text for digit in digits] not in [[str(count)] for count in range(7)]:
        raise cursor.error("a TIMESTAMP has 0 to 6 digits after the second", at=digits[0])


def _read_decimal(cursor: Cursor) -> Type:
    """DECIMAL is DECIMAL(10,0) and DECIMAL(p) is DECIMAL(p,0), as in Spark."""
    token = cursor.token
    digits = []
    if token.is_symbol("("):
        digits = cursor.comma_separated(lambda: cursor.expect_kind(TokenKind.NUMBER, "a whole number"))
    try:
        precision, scale = [*(int(d.text) for d in digits), *(10, 0)[len(digits) :]]
        return Type(Kind.DECIMAL, precision, scale)
    except ValueError:
        raise cursor.error("a DECIMAL has 1 to 38 digits, of which 0 to all are fraction", at=token) from None


def column_index(cursor: Cursor, fields: tuple[Field, ...], name: Name, table: str) -> int:
    """The position of a column by name; refuses an unknown one."""
    names = [field.name for field in fields]
    if name.key in names:
        return names.index(name.key)
    folded = [field.lower() for field in names]
    if name.key.lower() in folded and cursor.source.text[name.start] != '"':
        return folded.index(name.key.lower())
    hint = suggest(name.written, names, f"columns of {table}")
    raise cursor.error(f"{table} has no column {name.written}", hint, at=name)


def read_added_column(cursor: Cursor, name: Name, stream: StreamDef) -> StreamDef:
    """Parse what follows ALTER STREAM name; the stream with the column behind the others."""
    cursor.expect("ADD")
    cursor.expect("COLUMN")
    _refuse_stream(cursor, name, stream)
    start = cursor.token.start
    field = read_column(cursor, {one.name.lower() for one in stream.declared})
    if field.type == XML:
        raise cursor.error("a column that is added cannot be XML", "declare it with the stream", at=start)
    if not cursor.at_statement_end():
        raise cursor.error(
            "a column that is added has a name and a type, and nothing else",
            "it is NULL in tuples from before, so it is in no UNIQUE, PUNCTUATED or TIMESTAMP clause",
            at=cursor.token,
        )
    return _widened(stream, field)


def _widened(stream: StreamDef, field: Field) -> StreamDef:
    return replace(stream, fields=(*stream.fields, field))


def _refuse_stream(cursor: Cursor, name: Name, stream: StreamDef) -> None:
    """Refuse streams that cannot have another column while they are read."""

    def refusal(reason: str, hint: str) -> ScriptError:
        return cursor.error(f"no column can be added to stream {name.written}: {reason}", hint, at=name)

    again = "drop it, and create it with the column"
    if stream.reader is not None:
        raise refusal("it is read by Spark, with the columns that it was declared with", again)
    if stream.retractable:
        raise refusal("it is RETRACTABLE, and what a deletion takes depends on all columns", again)
    if any(scheme.reused for scheme in stream.schemes):
        raise refusal("values of its columns are REUSED", again)
    source = stream.source
    if source is not None and source.format == "XML":
        raise refusal("it has XML documents", again)
    if source is not None and dict(source.options).get("header") == "false":
        raise refusal("its CSV has no header, so columns are told apart by their places", again)
