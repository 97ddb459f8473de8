"""The parser of column lists, (name TYPE, ...), and the resolution of column references."""

from __future__ import annotations

from collections.abc import Collection

from seine.algebra.other_types import holder_hint
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, XML, Field, Kind, Type
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import TokenKind
from seine.frontends.text.names import suggest

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
