"""Output records as JSON Lines, formatted a column at a time."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.types import Kind, Type
from seine.operators.delta import FOREVER, NEVER

_NEEDS_ESCAPE = r'["\\\x00-\x1f\x7f]'
_NOT_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def json_strings(array: pa.Array) -> pa.Array:
    """Strings as JSON string literals; only those with special characters cost Python time."""
    quoted = pc.binary_join_element_wise('"', array, '"', "")
    special = pc.fill_null(pc.match_substring_regex(array, _NEEDS_ESCAPE), False)
    if not pc.any(special).as_py():
        return quoted
    escaped = [json.dumps(text, ensure_ascii=False) for text in array.filter(special).to_pylist()]
    return pc.replace_with_mask(quoted, special, pa.array(escaped, pa.string()))


def iso_times(array: pa.Array) -> pa.Array:
    """UTC timestamps as ISO 8601, without a fraction where it is zero.

    >>> iso_times(pa.array([0, 1_500_000], pa.timestamp("us", tz="UTC"))).to_pylist()
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500000Z']
    """
    # Without a time zone Arrow prints some thirty times faster; the zone is known to be UTC.
    text = array.view(pa.timestamp("us")).cast(pa.string())
    text = pc.replace_substring(text, " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(pc.replace_substring(text, ".000000", ""), "Z", "")


def _doubles(array: pa.Array) -> pa.Array:
    """The shortest text that reads back; a whole number has a point: no reader takes it for an integer."""
    text = array.cast(pa.string())
    finite = pc.is_finite(array)
    short = pc.and_(pc.equal(array, pc.trunc(array)), pc.invert(pc.match_substring(text, "e")))
    text = pc.binary_join_element_wise(text, pc.if_else(pc.and_(short, finite), ".0", ""), "")
    if pc.all(finite).as_py():
        return text
    for plain, quoted in _NOT_FINITE.items():
        text = pc.if_else(pc.fill_null(pc.equal(text, plain), False), quoted, text)
    return text


def json_values(array: pa.Array, type_: Type) -> pa.Array:
    """Each value as JSON text; NULL as null."""
    if type_.is_text:
        text = json_strings(array)
    elif type_.kind is Kind.TIMESTAMP:
        text = pc.binary_join_element_wise('"', iso_times(array), '"', "")
    elif type_.kind is Kind.DATE:
        text = pc.binary_join_element_wise('"', array.cast(pa.string()), '"', "")
    elif type_.kind is Kind.DOUBLE:
        text = _doubles(array)
    elif type_.kind is Kind.DAY_TIME:
        text = array.cast(pa.int64()).cast(pa.string())
    else:
        text = array.cast(pa.string())
    return pc.fill_null(text, "null")


def json_instants(times: pa.Array, domain: str) -> pa.Array:
    """Event times as JSON; before and after all time is null."""
    open_ = pc.or_(pc.equal(times, FOREVER), pc.equal(times, NEVER))
    known = pc.if_else(open_, pa.scalar(None, pa.int64()), times)
    if domain == "timestamp":
        text = pc.binary_join_element_wise('"', iso_times(known.cast(pa.timestamp("us", tz="UTC"))), '"', "")
    else:
        text = known.cast(pa.string())
    return pc.fill_null(text, "null")


def json_lines(
    queries: pa.Array | str,
    ops: pa.Array | str,
    starts: pa.Array,
    ends: pa.Array | None,
    names: tuple[str, ...],
    types: tuple[Type, ...],
    columns: list[pa.Array],
    domain: str,
) -> pa.Array:
    """One text line, newline included, for each row.

    `queries` is one name or JSON texts of names; `ops` is one op or one for each row.
    """
    query: pa.Array | str = json.dumps(queries, ensure_ascii=False) if isinstance(queries, str) else queries
    pieces: list[pa.Array | str] = ['{"query": ', query, ', "op": "', ops, '", "t_start": ']
    pieces += [
        json_instants(starts, domain),
        ', "t_end": ',
        "null" if ends is None else json_instants(ends, domain),
        ', "row": {',
    ]
    for i, (name, type_, column) in enumerate(zip(names, types, columns, strict=True)):
        pieces += [f"{', ' if i else ''}{json.dumps(name, ensure_ascii=False)}: ", json_values(column, type_)]
    pieces.append("}}\n")
    return pc.binary_join_element_wise(*_merge_constants(pieces), "")


def _merge_constants(pieces: list[pa.Array | str]) -> list[pa.Array | str]:
    merged: list[pa.Array | str] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def text_bytes(lines: pa.Array) -> memoryview:
    """The concatenated text of a string array, without a copy."""
    if len(lines) == 0:
        return memoryview(b"")
    _, positions, text = lines.buffers()
    offsets = pa.Array.from_buffers(pa.int32(), len(lines) + 1, [None, positions], offset=lines.offset)
    return memoryview(text)[offsets[0].as_py() : offsets[-1].as_py()]
