"""The parser of CREATE JOIN and DROP JOIN left.column = right.column."""

from __future__ import annotations

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.functions import TypeMismatch, common_type
from seine.frontends.script.columns import column_index
from seine.frontends.script.script import Declarations
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.names import suggest


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
