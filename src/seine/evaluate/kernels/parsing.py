"""CAST from STRING: vectorised parsing, surrounding blanks trimmed; NULL for what does not parse."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.functions.casting import (
    DATE,
    FALSE,
    INTEGER,
    NUMBER,
    SPECIAL_DOUBLES,
    TIME,
    TRIMMED,
    TRUE,
)
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, days_from_civil
from seine.evaluate.kernels.datum import build, valid
from seine.evaluate.kernels.decimals import from_unscaled, rescale
from seine.evaluate.kernels.zones import to_instants

_SHORT_INTEGER = r"^-?0*[0-9]{1,18}$"
_SPECIAL_DOUBLES = {name: float(name) for name in SPECIAL_DOUBLES}
_MAX_DECIMAL_EXPONENT = 1000  # beyond it a decimal is zero or overflows whatever its digits


def from_string(array: pa.Array, target: Type) -> pa.Array:
    """CAST(string AS target)."""
    return _READERS[target.kind](pc.utf8_trim(array, TRIMMED), target)


def _integers(text: pa.Array, target: Type) -> pa.Array:
    """Integers; those of at most 18 digits are parsed by Arrow, longer ones in Python."""
    unsigned = pc.replace_substring_regex(text, r"^\+", "")
    short = pc.match_substring_regex(unsigned, _SHORT_INTEGER)
    data = pc.if_else(short, unsigned, pa.scalar(None, pa.string())).cast(pa.int64())
    numbers, mask = data.fill_null(0).to_numpy().copy(), valid(data) | np.zeros(len(text), bool)
    longer = pc.and_(pc.match_substring_regex(text, INTEGER), pc.invert(short)).fill_null(False)
    for at in np.flatnonzero(longer.to_numpy(zero_copy_only=False)):
        value = _bounded_int(text[at].as_py())
        if value is not None:
            numbers[at], mask[at] = value, True
    return build(target, numbers, mask, len(text))


def _bounded_int(text: str) -> int | None:
    digits = text.lstrip("+-").lstrip("0")
    if len(digits) > 19:
        return None
    value = int(digits or "0") * (-1 if text[0] == "-" else 1)
    return value if -(2**63) <= value < 2**63 else None


def _doubles(text: pa.Array, target: Type) -> pa.Array:
    plain = pc.match_substring_regex(text, NUMBER)
    bare = pc.replace_substring_regex(pc.replace_substring_regex(text, r"^\+", ""), r"[dDfF]$", "")
    data = pc.if_else(plain, bare, pa.scalar(None, pa.string())).cast(pa.float64())
    words = pc.utf8_lower(text)
    for word, value in _SPECIAL_DOUBLES.items():
        data = pc.if_else(pc.fill_null(pc.equal(words, word), False), pa.scalar(value), data)
    return data


def _decimals(text: pa.Array, target: Type) -> pa.Array:
    """Decimals; each distinct text is parsed once."""
    encoded = pc.dictionary_encode(text)
    read = [_unscaled(word, target.scale) for word in encoded.dictionary.to_pylist()]
    known = np.array([u is not None for u in read], bool)
    data = np.array([u or 0 for u in read], dtype=object)
    distinct = from_unscaled(target, data, known, len(read))
    return distinct.take(encoded.indices)


def _unscaled(text: str, scale: int) -> int | None:
    try:
        value = Decimal(text) if text.isascii() and "_" not in text else None
    except InvalidOperation:
        return None
    if value is None or not value.is_finite():
        return None
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if abs(exponent) > _MAX_DECIMAL_EXPONENT or len(digits) > _MAX_DECIMAL_EXPONENT:
        return 0 if value.adjusted() < -scale - 1 else None
    whole = np.array([int("".join(map(str, digits))) * (-1 if sign else 1)], dtype=object)
    return int(rescale(whole, -exponent, scale)[0])


def _booleans(text: pa.Array, target: Type) -> pa.Array:
    words = pc.utf8_lower(text)
    true = pc.is_in(words, value_set=pa.array(TRUE))
    known = pc.or_(true, pc.is_in(words, value_set=pa.array(FALSE)))
    return pc.if_else(known, true, pa.scalar(None, pa.bool_()))


def _dates(text: pa.Array, target: Type) -> pa.Array:
    parts = pc.extract_regex(text, DATE)
    days, exists = _days(parts)
    return build(target, days, exists, len(text))


def _timestamps(text: pa.Array, target: Type) -> pa.Array:
    parts = pc.extract_regex(text, DATE)
    days, exists = _days(parts)
    rest = _group(parts, "rest")
    bare = pc.equal(rest, "").fill_null(True).to_numpy(zero_copy_only=False)
    times = pc.extract_regex(rest, TIME)
    micros, is_time = time_of_day(times)
    micros = micros - _zone_offset(times)
    has_time = is_time & valid(times)
    data, in_zone = _of_regions(days * MICROS_PER_DAY + np.where(bare, 0, micros), _group(times, "region"))
    return build(target, data, exists & in_zone & (bare | has_time), len(text))


def _of_regions(shown: IntArray, regions: pa.Array) -> tuple[IntArray, BoolArray]:
    """The instants of times with the name of a zone behind them; and where there is such a zone."""
    known = np.ones(len(shown), bool)
    encoded = pc.dictionary_encode(regions)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    for code, region in enumerate(encoded.dictionary.to_pylist()):
        if region:
            rows = order[ends[code] : ends[code + 1]]
            instants = to_instants(shown[rows], region)
            known[rows] = instants is not None
            shown[rows] = 0 if instants is None else instants
    return shown, known


def _group(parts: pa.StructArray, name: str) -> pa.Array:
    return pc.struct_field(parts, name)


def number(parts: pa.StructArray, name: str, absent: int = 0) -> IntArray:
    """A named group of digits as integers; `absent` where it is empty."""
    text = _group(parts, name)
    present = pc.not_equal(text, "").fill_null(False)
    numbers: IntArray = pc.if_else(present, text, str(absent)).cast(pa.int64()).to_numpy()
    return numbers


def _days(parts: pa.StructArray) -> tuple[IntArray, BoolArray]:
    sign = np.where(_is(parts, "sign", "-"), -1, 1)
    days, exists = days_from_civil(
        sign * number(parts, "year", 1970), number(parts, "month", 1), number(parts, "day", 1)
    )
    return days, exists & valid(parts)


def _is(parts: pa.StructArray, name: str, text: str) -> BoolArray:
    flags = pc.equal(_group(parts, name), text).fill_null(False)
    mask: BoolArray = flags.to_numpy(zero_copy_only=False)
    return mask


def time_of_day(parts: pa.StructArray) -> tuple[IntArray, BoolArray]:
    """Microseconds since midnight from the groups hour, minute, second, fraction; and which are valid."""
    hour, minute, second = (number(parts, name) for name in ("hour", "minute", "second"))
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(_group(parts, "fraction"), 6, "0"), 0, 6)
    fraction = padded.fill_null("0").cast(pa.int64()).to_numpy()
    is_time = (hour < 24) & (minute < 60) & (second < 60)
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction, is_time


def _zone_offset(parts: pa.StructArray) -> IntArray:
    """Microseconds east of UTC; of named zones only UTC is known."""
    sign = np.where(_is(parts, "zsign", "-"), -1, 1)
    offset: IntArray = sign * (number(parts, "zhour") * 60 + number(parts, "zminute")) * 60_000_000
    return offset


_READERS: dict[Kind, Callable[[pa.Array, Type], pa.Array]] = {
    Kind.INT: _integers,
    Kind.BIGINT: _integers,
    Kind.DOUBLE: _doubles,
    Kind.DECIMAL: _decimals,
    Kind.BOOLEAN: _booleans,
    Kind.DATE: _dates,
    Kind.TIMESTAMP: _timestamps,
}
