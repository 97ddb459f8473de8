"""Kernels of JSON: GET_JSON_OBJECT, FROM_JSON paths, TO_JSON and their like; each distinct document once.

    get_json_object('{"a": {"b": [1, "x"]}}', '$.a.b[1]')   x
    get_json_object('[{"a": 1}, {"a": 2}]', '$[*].a')       [1,2]

A string is given without its quotes, everything else as compact JSON. A text that is no JSON, a path that is
none or leads nowhere, and the value null are NULL.

    from_json('{"a": {"b": 7}}', 'a STRUCT<b: INT>').a.b     7
    to_json(named_struct('a', 1, 'b', 'x'))                  {"a":1,"b":"x"}

A value of another type than the schema's is NULL, and so is all of a text that is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call
from seine.algebra.types import JSON, Kind, Type
from seine.evaluate.kernels.casts import java_double, to_string
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    argument,
    datum_bytes,
    spend_on_growth,
    with_constants,
)
from seine.evaluate.kernels.strings import map_distinct
from seine.rows.json_values import json_strings

Step = str | int | None  # a name, an index, or * (None)

_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|\[\*\]|\['(?P<quoted>[^'?]+)'\]")
# a string that nothing ends goes to the end of the text, which then is no JSON: none is looked for within it
_STRINGS = re.compile(r"""\"(?:\\.|[^"\\])*+(?:"|\\?\Z)|'((?:\\.|[^'\\])*+)(?:'|\\?\Z)""", re.DOTALL)
MISSING = object()
_INFINITE = {
    **dict.fromkeys(("Infinity", "+Infinity", "INF", "+INF"), float("inf")),
    **dict.fromkeys(("-Infinity", "-INF"), float("-inf")),
    "NaN": float("nan"),
}
_EXACT = Context(prec=1000, rounding=ROUND_HALF_UP)


class JsonNumber(str):
    """The text of a number as it is written, and, of one with a fraction or an exponent, as it was read."""

    exact: str
    is_whole: bool

    @staticmethod
    def whole(text: str) -> JsonNumber:
        """A number without a fraction, which is written as it was read."""
        number = JsonNumber(text)
        number.exact, number.is_whole = text, True
        return number

    @staticmethod
    def fraction(text: str) -> JsonNumber:
        """A number with a fraction or an exponent, which is written as a double."""
        number = JsonNumber(java_double(float(text)))
        number.exact, number.is_whole = text, False
        return number


class JsonMembers(tuple[tuple[str, Any], ...]):
    """An object in the order of its text, with names that occur twice."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    parse_int=JsonNumber.whole,
    parse_float=JsonNumber.fraction,
    parse_constant=lambda text: (_ for _ in ()).throw(ValueError(text)),
    object_pairs_hook=JsonMembers,
    strict=False,
)


@lru_cache(maxsize=1024)
def path_steps(path: str) -> tuple[Step, ...] | None:
    """The steps of a path; None if it is none.

    >>> path_steps("$.a[0]['b c'][*]"), path_steps("a.b")
    (('a', 0, 'b c', None), None)
    """
    if not path.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        at = match.end()
        name = match["name"] or match["quoted"]
        steps.append(int(match["index"]) if match["index"] else None if name == "*" else name)
    return tuple(steps)


def json_document(text: str) -> Any:
    """The first value of a text, or a marker if it is broken; strings may have single quotes."""
    for spelling in (text, _double_quoted(text)) if "'" in text else (text,):
        try:
            return _DECODER.raw_decode(spelling.lstrip(" \t\r\n"))[0]
        except (ValueError, RecursionError):
            continue
    return MISSING


def _double_quoted(text: str) -> str:
    """The text with its single-quoted strings in double quotes."""
    return _STRINGS.sub(lambda match: match[0] if match[1] is None else _requoted(match[1]), text)


def _requoted(inner: str) -> str:
    plain = inner.replace("\\'", "'")
    escaped = re.sub(r'(\\.)|"', lambda match: match[1] or '\\"', plain, flags=re.DOTALL)
    return f'"{escaped}"'


def json_text(value: object) -> str:
    """The value as compact JSON."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, JsonMembers):
        return "{" + ",".join(f"{json_text(name)}:{json_text(part)}" for name, part in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class _Written:
    """What a path makes of a value: texts, and whether it led to anything ([] may be nothing)."""

    texts: tuple[str, ...] = ()
    is_match: bool = False


class _Style(Enum):
    """How arrays are written: a single match alone, always as an array, or flattened."""

    RAW = 0
    QUOTED = 1
    FLATTEN = 2


def _matches(value: object, steps: Sequence[Step], style: _Style) -> _Written:
    """What the steps lead to, in the way of Hive, which Spark follows."""
    if not steps:
        if style is _Style.FLATTEN and isinstance(value, list):
            return _together(value, (), style)
        return _Written((json_text(value),), True)
    step, *rest = steps
    if isinstance(value, JsonMembers) and isinstance(step, str):
        return _of_member(value, step, rest, style)
    if not isinstance(value, list) or isinstance(step, str):
        return _Written()
    if isinstance(step, int):
        nested = _Style.QUOTED if rest and rest[0] is None else style
        return _matches(value[step], rest, nested) if step < len(value) else _Written()
    return _of_all(value, rest, style)


def _together(parts: list[Any], steps: Sequence[Step], style: _Style) -> _Written:
    """The texts of all parts, one after the other."""
    each = [_matches(part, steps, style) for part in parts]
    return _Written(tuple(text for one in each for text in one.texts), any(one.is_match for one in each))


def _of_member(value: JsonMembers, name: str, rest: Sequence[Step], style: _Style) -> _Written:
    for key, part in value:
        if key == name and part is not None:
            written = _matches(part, rest, style)
            if written.is_match:
                return written
    return _Written()


def _of_all(value: list[Any], rest: Sequence[Step], style: _Style) -> _Written:
    """[*]: an array of the matches, or the match itself if it is alone; [*][*] flattens."""
    if rest and rest[0] is None:
        return _in_brackets(_together(value, rest[1:], _Style.FLATTEN))
    if style is _Style.QUOTED:
        return _in_brackets(_together(value, rest, style))
    inner = _Style.QUOTED if style is _Style.RAW else style
    each = [_matches(part, rest, inner) for part in value]
    matches = sum(one.is_match for one in each)
    joined = ",".join(text for one in each for text in one.texts)
    if matches == 0:
        return _Written()
    return _Written((f"[{joined}]" if matches > 1 else joined,), True)


def _in_brackets(written: _Written) -> _Written:
    return _Written((f"[{','.join(written.texts)}]",), written.is_match)


def _value_at(text: str | None, steps: Sequence[Step]) -> str | None:
    document = MISSING if text is None else json_document(text)
    if document is MISSING:
        return None
    plain = _walk(document, steps)
    if plain is not MISSING:
        return str(plain)
    try:
        written = _matches(document, steps, _Style.RAW)
    except RecursionError:
        return None
    return written.texts[0] if written.is_match else None


def _walk(value: object, steps: Sequence[Step]) -> Any:
    """The string that a path without * leads to, which is given without quotes."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, JsonMembers):
            value = next((part for key, part in value if key == step and part is not None), MISSING)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return MISSING
    return value if isinstance(value, str) and not isinstance(value, JsonNumber) else MISSING


def _get_json_object(_: Call, array: pa.Array, path: str) -> pa.Array:
    steps = path_steps(path)
    if steps is None:
        return pa.nulls(len(array), pa.string())
    return map_distinct(lambda text: _value_at(text, steps), array, pa.string())


def _array_length(text: str | None) -> int | None:
    """JSON_ARRAY_LENGTH: NULL for what is not an array."""
    document = MISSING if text is None else json_document(text)
    return len(document) if isinstance(document, list) else None


def _value_of_path(value: object, path: Sequence[str], read: Callable[[Any], Any]) -> Any:
    """What is read at a path of names; of members of one name the last that can be read, or is null."""
    if not path:
        return None if value is None else read(value)
    if not isinstance(value, JsonMembers):
        return None
    for key, part in reversed(value):
        if key != path[0]:
            continue
        if part is None or (len(path) > 1 and isinstance(part, JsonMembers)):
            return _value_of_path(part, path[1:], read)
        made = None if len(path) > 1 else read(part)
        if made is not None:
            return made
    return None


def _is_string(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, JsonNumber)


def _integer(value: object, type_: Type) -> int | None:
    if not isinstance(value, JsonNumber) or not value.is_whole:
        return None
    number = int(value)
    limit = 2**31 if type_.kind is Kind.INT else 2**63
    return number if -limit <= number < limit else None


def _double(value: Any, type_: Type) -> float | None:
    if isinstance(value, JsonNumber):
        return float(value.exact)
    return _INFINITE.get(value) if _is_string(value) else None


def _decimal(value: object, type_: Type) -> Decimal | None:
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


def _boolean(value: object, type_: Type) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any, type_: Type) -> str | None:
    if value is None:
        return None
    return value if _is_string(value) else json_text(value)


def _texts(value: object, type_: Type) -> list[str | None] | None:
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
            return None if document is MISSING else _value_of_path(document, path, read)
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
    "get_json_object": with_constants(_get_json_object, 1),
    "json_array_length": lambda _, args: map_distinct(_array_length, argument(args), pa.int32()),
    "json_field": with_constants(_field, 1),
    "json_string_field": with_constants(_string_field, 1),
    "json_object_keys": lambda _, args: map_distinct(_object_keys, argument(args), pa.list_(pa.string())),
    "json_object": _object,
}
