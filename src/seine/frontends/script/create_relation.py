"""The parser of CREATE RELATION name (columns) [VALID FROM begin TO end] source."""

from __future__ import annotations

from seine.algebra.definitions import RelationDef
from seine.algebra.types import BIGINT, INT, TIMESTAMP, Field
from seine.frontends.script.columns import column_index, read_columns
from seine.frontends.script.from_source import SourceClauses
from seine.frontends.text.cursor import Cursor, Name


def read_relation(cursor: Cursor, name: Name, folder: str) -> RelationDef:
    """Parse what follows CREATE RELATION name."""
    fields = read_columns(cursor)
    source = SourceClauses(folder)
    valid: tuple[int, int] | None = None
    while not cursor.at_statement_end():
        token = cursor.token
        if cursor.accept("VALID"):
            if valid is not None:
                raise cursor.error("VALID is given twice", at=token)
            valid = _read_valid(cursor, fields, name.written)
        elif not source.read(cursor):
            raise cursor.unexpected("a clause of CREATE RELATION or ';'", ["VALID", "FROM", "FORMAT", "WITH"])
    relation = RelationDef(name.key, fields, source.finish(cursor, fields, relation=True), valid)
    if relation.followed and valid is None:
        hint = "add VALID FROM column TO column"
        raise cursor.error("a relation that is followed needs VALID: when its tuples count", hint, at=name)
    if source.format == "XML":
        raise cursor.error("a relation cannot be read from XML", "use JSON, CSV or PARQUET", at=name)
    return relation


def _read_valid(cursor: Cursor, fields: tuple[Field, ...], table: str) -> tuple[int, int]:
    cursor.expect("FROM")
    begin = cursor.expect_name("the column where validity begins")
    cursor.expect("TO")
    end = cursor.expect_name("the column where validity ends")
    indexes = column_index(cursor, fields, begin, table), column_index(cursor, fields, end, table)
    types = {fields[index].type for index in indexes}
    if not (types <= {INT, BIGINT} or types == {TIMESTAMP}):
        raise cursor.error("VALID needs two BIGINT or two TIMESTAMP columns", at=begin)
    return indexes
