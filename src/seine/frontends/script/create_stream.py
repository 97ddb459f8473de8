"""The parser of CREATE STREAM name (columns) clauses."""

from __future__ import annotations

from dataclasses import dataclass, field

from seine.algebra.definitions import Scheme, StreamDef, with_since
from seine.algebra.types import BIGINT, TIMESTAMP, Field
from seine.errors import ScriptError
from seine.frontends.script.columns import column_index, read_columns
from seine.frontends.script.from_source import SourceClauses
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.durations import Duration, read_duration
from seine.frontends.text.lexer import Token

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
    if clauses.source.is_spark:
        _refuse_unique(cursor, clauses.punctuated)

    def length(duration: Duration | None, least: int) -> int | None:
        return None if duration is None else _length(cursor, duration, plain, least)

    def scheme(one: _SchemeClause) -> Scheme:
        lifespan, timeout = length(one.lifespan, 1), length(one.timeout, 0)
        return Scheme(one.columns, lifespan, one.unique is not None, timeout, one.reused is not None)

    return with_since(
        StreamDef(
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
    )


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


def _refuse_unique(cursor: Cursor, schemes: list[_SchemeClause]) -> None:
    """Refuse UNIQUE of a stream that many tasks read side by side."""
    for scheme in schemes:
        if scheme.unique:
            message = "UNIQUE needs one reader that sees all tuples: a stream that Spark reads has many"
            raise cursor.error(message, "leave UNIQUE out, or send punctuations", at=scheme.unique)


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
