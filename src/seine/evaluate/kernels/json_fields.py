"""Kernels of FROM_JSON paths, JSON_OBJECT_KEYS and TO_JSON: each distinct document once.

    from_json('{"a": {"b": 7}}', 'a STRUCT<b: INT>').a.b     7
    to_json(named_struct('a', 1, 'b', 'x'))                  {"a":1,"b":"x"}

A value of another type than the schema's is NULL, and so is all of a text that is no JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.algebra.types import JSON, Kind, Type
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, datum_bytes, spend_on_growth
from seine.evaluate.kernels.json_paths import MISSING, JsonMembers, JsonNumber, json_document, json_text
from seine.evaluate.kernels.printing import java_double, to_string
from seine.evaluate.kernels.strings import map_distinct
from seine.rows.json_values import json_strings

_INFINITE = {
    **dict.fromkeys(("Infinity", "+Infinity", "INF", "+INF"), float("inf")),
    **dict.fromkeys(("-Infinity", "-INF"), float("-inf")),
    "NaN": float("nan"),
}
_EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)


def _value_at(value: Any, path: Sequence[str], read: Callable[[Any], Any]) -> Any:
    """What is read at a path of names; of members of one name the last that can be read, or is null."""
    if not path:
        return None if value is None else read(value)
    if not isinstance(value, JsonMembers):
        return None
    for key, part in reversed(value):
        if key != path[0]:
            continue
        if part is None or (len(path) > 1 and isinstance(part, JsonMembers)):
            return _value_at(part, path[1:], read)
        made = None if len(path) > 1 else read(part)
        if made is not None:
            return made
    return None


def _is_string(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, JsonNumber)


def _integer(value: Any, type_: Type) -> int | None:
    if not isinstance(value, JsonNumber) or not value.is_whole:
        return None
    number = int(value)
    limit = 2**31 if type_.kind is Kind.INT else 2**63
    return number if -limit <= number < limit else None


def _double(value: Any, type_: Type) -> float | None:
    if isinstance(value, JsonNumber):
        return float(value.exact)
    return _INFINITE.get(value) if _is_string(value) else None


def _decimal(value: Any, type_: Type) -> Decimal | None:
    if not isinstance(value, str):
        return None
    try:
        exact = Decimal(value.exact if isinstance(value, JsonNumber) else value.strip())
        scaled = _EXACT.quantize(exact, Decimal(1).scaleb(-type_.scale))
    except InvalidOperation:
        return None  # of a text that is no number, or of infinity
    return (
        scaled
        if scaled.is_finite() and abs(scaled) < Decimal(10) ** (type_.precision - type_.scale)
        else None
    )


def _boolean(value: Any, type_: Type) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any, type_: Type) -> str | None:
    if value is None:
        return None
    return value if _is_string(value) else json_text(value)


def _texts(value: Any, type_: Type) -> list[str | None] | None:
    return [_text(one, type_) for one in value] if isinstance(value, list) else None


_READERS: dict[Kind, Callable[[Any, Type], Any]] = {
    Kind.INT: _integer,
    Kind.BIGINT: _integer,
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _decimal,
    Kind.BOOLEAN: _boolean,
    Kind.STRING: _text,
    Kind.TEXTS: _texts,
}


def _field(call: Call, array: pa.Array, *path: str) -> pa.Array:
    """The value at a path of names, read as the type of the call."""
    reader = _READERS[call.type.kind]
    return _read(array, path, lambda value: reader(value, call.type), call.type)


def _string_field(call: Call, array: pa.Array, *path: str) -> pa.Array:
    """The value at a path if it is a string, for the types that are written as strings."""
    return _read(array, path, lambda value: value if _is_string(value) else None, call.type)


def _read(array: pa.Array, path: Sequence[str], read: Callable[[Any], Any], type_: Type) -> pa.Array:
    def value(text: str | None) -> Any:
        document = MISSING if text is None else json_document(text)
        try:
            return None if document is MISSING else _value_at(document, path, read)
        except RecursionError:  # what is nested so deep that it cannot be written again
            return None

    return map_distinct(value, array, type_.arrow())


def _object_keys(text: str | None) -> list[str] | None:
    """JSON_OBJECT_KEYS: NULL for what is not an object."""
    document = MISSING if text is None else json_document(text)
    return [key for key, _ in document] if isinstance(document, JsonMembers) else None


def _printed(array: pa.Array, type_: Type) -> pa.Array:
    """Values as TO_JSON writes them."""
    if type_.is_text:
        return _json_strings(array)
    if type_.kind is Kind.DOUBLE:
        return map_distinct(_printed_double, array, pa.string())
    if type_.kind is Kind.TIMESTAMP:
        millis = pc.strftime(
            pc.floor_temporal(array, unit="millisecond").cast(pa.timestamp("ms", "UTC")), "%Y-%m-%dT%H:%M:%S"
        )
        return pc.binary_join_element_wise('"', millis, 'Z"', "")
    text = array if type_ == JSON else to_string(array, type_)
    return pc.binary_join_element_wise('"', text, '"', "") if type_.kind is Kind.DATE else text


def _json_strings(array: pa.Array) -> pa.Array:
    """Texts as JSON writes them: what is escaped each time that it is written again is counted."""
    escaped = sum(pc.sum(pc.count_substring(array, sign)).as_py() or 0 for sign in ('"', "\\"))
    spend_on_growth(datum_bytes(array, len(array)) + escaped, [array], len(array))
    return json_strings(array)


def _printed_double(value: float) -> str:
    text = java_double(value)
    return json.dumps(text) if text in ("NaN", "Infinity", "-Infinity") else text


def _of_members(call: Call, *given: Any) -> pa.Array:
    """A JSON object of values and, behind them, their names; what is NULL is left out."""
    count = len(given) // 2
    pieces = []
    for arg, array, name in zip(call.args, given[:count], given[count:], strict=False):
        head = json.dumps(name, ensure_ascii=False) + ":"
        pieces.append(pc.binary_join_element_wise(head, _printed(array, arg.type), ""))
    return pc.binary_join_element_wise("{", _joined(pieces, len(given[0])), "}", "")


def _object(call: Call, args: Sequence[Datum]) -> pa.Array:
    return with_constants(_of_members, len(args) // 2)(call, args)


def _joined(pieces: list[pa.Array], size: int) -> pa.Array:
    """The pieces that are not NULL, with commas between them."""
    text, has_some = pa.repeat(pa.scalar(""), size), pa.repeat(pa.scalar(False), size)
    for piece in pieces:
        there = pc.is_valid(piece)
        comma = pc.if_else(pc.and_(has_some, there), ",", "")
        text = pc.binary_join_element_wise(text, comma, pc.fill_null(piece, ""), "")
        has_some = pc.or_(has_some, there)
    return text


KERNELS: dict[str, Kernel] = {
    "json_field": with_constants(_field, 1),
    "json_string_field": with_constants(_string_field, 1),
    "json_object_keys": lambda _, args: map_distinct(_object_keys, args[0], pa.list_(pa.string())),
    "json_object": _object,
}
