"""The parser of CREATE JOIN and DROP JOIN left.column = right.column."""

from __future__ import annotations

from seine.algebra.definitions import JoinEdge, StreamDef
from seine.algebra.functions import TypeMismatch, common_type
from seine.frontends.script.columns import column_index
from seine.frontends.script.script import Declarations
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.names import suggest


def read_edge(cursor: Cursor, declared: Declarations) -> JoinEdge:
    """Parse left.column = right.column; both streams must exist and the types be comparable."""
    start = cursor.token.start
    left, left_column = _read_side(cursor, declared)
    cursor.expect_symbol("=")
    right, right_column = _read_side(cursor, declared)
    try:
        common_type([left.fields[left_column].type, right.fields[right_column].type])
    except TypeMismatch as error:
        raise cursor.error(error.message, error.hint, at=start) from None
    return JoinEdge(left.name, left_column, right.name, right_column)


def _read_side(cursor: Cursor, declared: Declarations) -> tuple[StreamDef, int]:
    name = cursor.expect_name("a stream")
    stream = declared.streams.get(name.key)
    if stream is None:
        raise cursor.error(
            f"no stream {name.written}", suggest(name.written, declared.streams, "streams"), at=name
        )
    cursor.expect_symbol(".")
    return stream, column_index(cursor, stream.fields, cursor.expect_name("a column"), name.written)


def same_edge(a: JoinEdge, b: JoinEdge) -> bool:
    """Whether two join edges are equal; an edge has no direction."""
    return a == b or a == JoinEdge(b.right, b.right_column, b.left, b.left_column)
