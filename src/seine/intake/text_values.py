"""Strict conversion of text columns to typed ones: a text that is not in the form of its type is an error."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray
from seine.algebra.types import TIMESTAMP, Kind, Type
from seine.rows.column_arrays import same_width

_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_FORMS = {
    Kind.BOOLEAN: r"(?i:true|false)",
    Kind.INT: r"[+-]?[0-9]{1,40}",
    Kind.BIGINT: r"[+-]?[0-9]{1,40}",
    Kind.DOUBLE: _NUMBER,
    Kind.DECIMAL: _NUMBER,
    Kind.DATE: _DAY,
    Kind.TIMESTAMP: rf"{_DAY}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?{_ZONE}?)?",
}
NOT_FINITE = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}  # DOUBLEs, as written
_TO_SECOND = len("2024-02-29T01:02:03")
_FIRST_DAY = (date(1, 1, 1) - date(1970, 1, 1)).days
_FIRST_INSTANT = int(datetime(1, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
_LAST_INSTANT = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp()) * 1_000_000 + 999_999


def read_text(texts: pa.Array, kind: Type) -> tuple[pa.Array, BoolArray]:
    """The values of `texts` as a type, and a mask of the texts that are not of that type (NULL is).

    >>> values, bad = read_text(pa.array(["7", "7.5", None, "99999999999"]), Type(Kind.INT))
    >>> values.to_pylist(), bad.tolist()
    ([7, None, None, None], [False, True, False, True])
    >>> read_text(pa.array(["1e999", "nan", "-Infinity"]), Type(Kind.DOUBLE))[0].to_pylist()
    [None, None, -inf]
    """
    if kind.is_text:
        return texts, np.zeros(len(texts), bool)
    if kind.kind is Kind.TIMESTAMP and (stamps := _plain_stamps(texts)) is not None:
        return stamps, np.zeros(len(texts), bool)
    given = pc.is_valid(texts)
    formed = pc.match_substring_regex(texts, f"^{_FORMS[kind.kind]}$")
    values = _cast(pc.if_else(formed, texts, pa.scalar(None, pa.string())), kind)
    values = _within_limits(values, kind)
    if kind.kind is Kind.DOUBLE and values.null_count > texts.null_count:
        for word, value in NOT_FINITE.items():
            values = pc.if_else(pc.fill_null(pc.equal(texts, word), False), pa.scalar(value), values)
    return values, pc.and_(given, pc.is_null(values)).to_numpy(zero_copy_only=False)


def _plain_stamps(texts: pa.Array) -> pa.Array | None:
    """The values of texts that are all written alike, to the second or finer, in UTC or without a zone.

    Arrow reads other forms too: it is asked only where every separator is in its place, and takes nothing but
    digits for the rest.
    """
    rows = same_width(texts)
    if rows is None or rows.shape[1] < _TO_SECOND:
        return None
    zoned = rows[0, -1] == ord("Z")
    end = rows.shape[1] - zoned
    separators = (
        {13: ":", 16: ":"} | ({_TO_SECOND: "."} if end > _TO_SECOND else {}) | ({end: "Z"} if zoned else {})
    )
    if not (rows[:, 10] == ord("T")).all() or end == _TO_SECOND + 1:
        return None
    if not all((rows[:, at] == ord(char)).all() for at, char in separators.items()):
        return None
    try:
        instants = texts.cast(TIMESTAMP.arrow() if zoned else pa.timestamp("us")).view(pa.int64())
    except pa.ArrowInvalid:
        return None
    first = pc.min(instants).as_py()
    return instants.view(TIMESTAMP.arrow()) if first >= _FIRST_INSTANT else None


def _cast(texts: pa.Array, kind: Type) -> pa.Array:
    prepared = _prepare(texts, kind)
    try:
        return prepared.cast(kind.arrow())
    except pa.ArrowInvalid:
        return pa.array([_cast_one(text, kind) for text in prepared], kind.arrow())


def _cast_one(text: pa.Scalar, kind: Type) -> object:
    """One value of a column of which not all values fit; None if it does not."""
    try:
        return text.cast(kind.arrow()).as_py()
    except (pa.ArrowInvalid, OverflowError, ValueError):
        return None


def _prepare(texts: pa.Array, kind: Type) -> pa.Array:
    if kind.kind is Kind.BOOLEAN:
        return pc.utf8_lower(texts)
    if kind.is_numeric:
        return pc.replace_substring_regex(texts, r"^\+", "")
    if kind.kind is not Kind.TIMESTAMP:
        return texts
    dated = pc.match_substring_regex(texts, f"^{_DAY}$")
    full = pc.if_else(dated, pc.binary_join_element_wise(texts, "T00:00", ""), texts)
    zoned = pc.match_substring_regex(full, rf"[T ].*{_ZONE}$")
    return pc.if_else(zoned, full, pc.binary_join_element_wise(full, "Z", ""))


def _within_limits(values: pa.Array, kind: Type) -> pa.Array:
    """The values, with NULL for those that are infinite or outside the years 1 to 9999."""
    if kind.kind is Kind.DOUBLE:
        keep = pc.is_finite(values)
    elif kind.kind is Kind.DATE:
        keep = pc.greater_equal(values.cast(pa.int32()), _FIRST_DAY)
    elif kind.kind is Kind.TIMESTAMP:
        plain = values.cast(pa.int64())
        keep = pc.and_(pc.greater_equal(plain, _FIRST_INSTANT), pc.less_equal(plain, _LAST_INSTANT))
    else:
        return values
    return pc.if_else(keep, values, pa.scalar(None, kind.arrow()))
