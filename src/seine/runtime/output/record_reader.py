"""Output records as Python's objects, with every DECIMAL exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Call, Expression
from seine.algebra.expressions import walk as expression_parts
from seine.algebra.plan import Aggregate, Query, walk
from seine.algebra.search_plan import Search
from seine.algebra.types import Field, Kind

Record = dict[str, Any]


class RecordReader:
    """Reads lines of JSON by the types of what is declared.

    Law: a value of a DECIMAL column is a `Decimal` with all its digits; any other number with a point is
    the float that JSON says. Everything else is as `json.loads` has it.

    >>> from seine.frontends.script.parser import parse_script
    >>> declared = parse_script('''
    ...     CREATE STREAM s (a DECIMAL(20,2), x DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
    ...     CREATE QUERY q AS SELECT a, x FROM s;
    ... ''', file='script', folder='.').declarations
    >>> read = RecordReader(declared.queries.get, declared.streams.get).read
    >>> read('{"query": "q", "row": {"a": 123456789012345678.90, "x": 0.5}}')
    {'query': 'q', 'row': {'a': Decimal('123456789012345678.90'), 'x': 0.5}}
    """

    def __init__(
        self, query: Callable[[str], Query | None], table: Callable[[str], StreamDef | RelationDef | None]
    ) -> None:
        """`query` and `table` give what has a lower-case name."""
        self._find_query = query
        self._find_table = table
        self._queries: dict[str, Query] = {}  # as last known: one may be dropped before its last records come

    def read(self, line: str | bytes) -> Record:
        """The record of a line."""
        record: Record = json.loads(line, parse_float=Decimal)
        query = self._query(record["query"])
        if query is None:  # a replay of what was admitted before it was dropped: digits are kept
            return record
        if isinstance(query.plan, Search):
            return {**record, "row": self._tree(record["row"])}
        return {**record, "row": _typed_row(record["row"], query.record_fields, _lists_decimals(query))}

    def _query(self, name: str) -> Query | None:
        known = self._find_query(name.lower())
        if known is not None:
            self._queries[name] = known
        return self._queries.get(name)

    def _tree(self, row: Record) -> Record:
        """The row of a SEARCH: its tuples are rows of streams and relations."""
        tuples = [
            {**one, "row": _typed_row(one["row"], self._fields_of(one["stream"]))} for one in row["tuples"]
        ]
        return {**row, "tuples": tuples}

    def _fields_of(self, name: str) -> tuple[Field, ...]:
        table = self._find_table(name.lower())
        return () if table is None else table.fields


def _typed_row(row: Record, fields: tuple[Field, ...], lists_decimals: bool = False) -> Record:
    kinds = {field.name: field.type.kind for field in fields}
    return {name: _typed(value, kinds.get(name), lists_decimals) for name, value in row.items()}


def _typed(value: object, kind: Kind | None, lists_decimals: bool) -> Any:
    if kind is Kind.DECIMAL:
        return Decimal(value) if isinstance(value, int) else value
    if isinstance(value, Decimal):
        return float(value)
    return value if lists_decimals else _with_floats(value)


def _with_floats(value: object) -> Any:
    """A value of JSON, every number with a point a float."""
    if isinstance(value, dict):
        return {name: _with_floats(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_floats(inner) for inner in value]
    return float(value) if isinstance(value, Decimal) else value


def _lists_decimals(query: Query) -> bool:
    """Whether a list of the rows may have values of a DECIMAL: lists do not say of what type they are."""
    known = query.__dict__  # frozen, but this follows from the fields
    if "_lists_decimals" not in known:
        known["_lists_decimals"] = any(
            call.type.kind is Kind.JSON and any(map(_writes_decimals, call.args))
            for node in walk(query.plan)
            if isinstance(node, Aggregate)
            for call in node.calls
        )
    return bool(known["_lists_decimals"])


def _writes_decimals(value: Expression) -> bool:
    """Whether a text is made of a DECIMAL: a list is collected from the texts of its values."""
    return any(
        isinstance(part, Call) and part.name == "cast" and part.args[0].type.kind is Kind.DECIMAL
        for part in expression_parts(value)
    )
