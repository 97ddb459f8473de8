"""The parser of ALTER STREAM name ADD COLUMN column type.

    ALTER STREAM bid ADD COLUMN channel STRING;

Law: whatever read the stream before sees it as it was; whatever is created later finds the column behind the
others, NULL in tuples from before.
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.definitions import StreamDef
from seine.algebra.types import XML, Field
from seine.errors import ScriptError
from seine.frontends.script.columns import read_column
from seine.frontends.text.cursor import Cursor, Name


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
