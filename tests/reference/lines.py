"""Strict reading of one JSON line against declared columns.

Law: a line is a tuple, a negative tuple, a punctuation, or a dead letter with a reason.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lxml import etree

from tests.reference.script import Table


class DeadLine(Exception):
    """The line goes to the dead-letter output."""


@dataclass(frozen=True)
class Line:
    """What a line says: op is '+', '-' or 'p'; a punctuation's row holds its attributes alone."""

    op: str
    row: dict[str, Any]
    time: int = 0  # of a stream's line


class _Fraction(str):
    """A JSON number with a point or an exponent, as it was written."""


def read_line(table: Table, text: str) -> Line:
    record = _object(text)
    if "@punctuate" in record:
        return _punctuation(table, record)
    op = record.pop("@op", "+")
    if (op == "-" and not table.retractable) or op not in ("+", "-"):
        raise DeadLine(f"@op {op!r}")
    row = _typed(table, record)
    row = {name: row.get(name) for name in table.columns}
    return Line(op, row, _time(table, row) if table.is_stream else 0)


def _object(text: str) -> dict[str, Any]:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise DeadLine("a key twice")
        return dict(items)

    def constant(name: str) -> None:
        raise DeadLine(name)

    try:
        record = json.loads(text, object_pairs_hook=pairs, parse_float=_Fraction, parse_constant=constant)
    except ValueError as error:
        raise DeadLine("broken JSON") from error
    if not isinstance(record, dict):
        raise DeadLine("not an object")
    return record


def _punctuation(table: Table, record: dict[str, Any]) -> Line:
    punctuated = record["@punctuate"]
    if not isinstance(punctuated, dict) or set(record) - {"@punctuate", table.time}:
        raise DeadLine("not a punctuation")
    if not any(set(punctuated) == set(scheme.columns) for scheme in table.schemes):
        raise DeadLine("no such punctuation scheme")
    times = _typed(table, {name: value for name, value in record.items() if name == table.time})
    return Line("p", _typed(table, punctuated), _time(table, times))


def _typed(table: Table, record: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in record if name not in table.columns]
    if unknown:
        raise DeadLine(f"unknown column {unknown[0]}")
    return {name: _value(value, table.columns[name]) for name, value in record.items()}


def _time(table: Table, row: dict[str, Any]) -> int:
    value = row.get(table.time or "")
    if value is None:
        raise DeadLine("no timestamp")
    return instant(value)


def instant(value: int | dt.datetime) -> int:
    """Plain units, or microseconds since 1970."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return value


def _value(value: Any, type_: str) -> Any:
    if value is None:
        return None
    kind = type_.partition("(")[0]
    read = _READERS[kind](value, type_)
    if read is None:
        raise DeadLine(f"{value!r} is no {type_}")
    return read


def _boolean(value: Any, _: str) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: Any, type_: str) -> int | None:
    limit = 2**31 if type_ == "INT" else 2**63
    return value if type(value) is int and -limit <= value < limit else None


def _double(value: Any, _: str) -> float | None:
    if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return float(value) if type(value) is int or isinstance(value, _Fraction) else None


def _decimal(value: Any, type_: str) -> Decimal | None:
    if type(value) is not int and not isinstance(value, _Fraction):
        return None
    precision, scale = map(int, type_[8:-1].split(","))
    exact = Decimal(str(value))
    fits = exact == exact.quantize(Decimal(1).scaleb(-scale)) and abs(exact) < Decimal(10) ** (
        precision - scale
    )
    return exact if fits else None


def _string(value: Any, _: str) -> str | None:
    return value if isinstance(value, str) and not isinstance(value, _Fraction) else None


def _date(value: Any, _: str) -> dt.date | None:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return None
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        return None


def _document(value: Any, _: str) -> str | None:
    """A text that is XML and refers to no entity: there is no other way to be unfit in the cases."""
    if not isinstance(value, str) or "<!ENTITY" in value:
        return None
    try:
        etree.fromstring(value.encode())
    except etree.XMLSyntaxError:
        return None
    return value


def _timestamp(value: Any, _: str) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment


_READERS = {
    "BOOLEAN": _boolean,
    "INT": _integer,
    "BIGINT": _integer,
    "DOUBLE": _double,
    "DECIMAL": _decimal,
    "STRING": _string,
    "XML": _document,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
}
