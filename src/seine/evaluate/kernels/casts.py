"""The CAST kernel: numbers, booleans, dates and timestamps; strings are parsed and printed.

What does not parse is NULL; surrounding blanks are trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.algebra.functions.casting import (
    DATE_FORM,
    FALSE,
    INTEGER,
    NUMBER,
    SPECIAL_DOUBLES,
    TIME,
    TRIMMED,
    TRUE,
)
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, TIMESTAMP, Kind, Type
from seine.evaluate.kernels import decimals
from seine.evaluate.kernels.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, to_instants
from seine.evaluate.kernels.datum import Datum, Kernel, argument, build, nulls, row_count, valid, values
from seine.evaluate.kernels.decimals import from_unscaled, rescale, unscaled
from seine.evaluate.kernels.mathematics import round_text, scaled
from seine.rows.column_arrays import decimal_type

_SHORT_INTEGER = r"^-?0*[0-9]{1,18}$"
_SPECIAL_DOUBLES = {name: float(name) for name in SPECIAL_DOUBLES}
_MAX_DECIMAL_EXPONENT = 1000  # beyond it a decimal is zero or overflows whatever its digits


def _cast(call: Call, args: Sequence[Datum]) -> pa.Array:
    source, target = call.args[0].type, call.type
    array = argument(args)
    if source == target or (source.is_text and target.is_text):
        return array
    if source.kind is Kind.NULL:
        return nulls(target, row_count(args))
    if target.is_text:
        return to_string(array, source)
    if source.is_text:
        return from_string(array, target)
    if source.kind is Kind.DECIMAL:
        return _from_decimal(array, source, target)
    if target.kind is Kind.DECIMAL:
        return _to_decimal(array, source, target)
    data, mask = _plain(values(array), source, target)
    return build(target, data, valid(array) & mask, len(array))


def _plain(data: AnyArray, source: Type, target: Type) -> tuple[AnyArray, AnyArray]:
    """A cast between types that NumPy represents directly: data, and where the result is valid."""
    everywhere = np.array([True])
    if target == BOOLEAN:
        return data != 0, everywhere
    if target == TIMESTAMP:
        return _to_timestamp(data, source)
    if target == DATE:
        return data // MICROS_PER_DAY, everywhere
    if source == TIMESTAMP:
        data = data / MICROS_PER_SECOND if target == DOUBLE else data // MICROS_PER_SECOND
        return data, everywhere
    if target == DOUBLE:
        return data.astype(np.float64), everywhere
    if source == DOUBLE:
        return truncated(data)
    return data.astype(np.int64), everywhere


def truncated(data: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Doubles truncated to 64-bit integers, and where that is valid: not for NaN or beyond 64 bits."""
    fits = (data >= -(2.0**63)) & (data < 2.0**63)
    return np.where(fits, data, 0.0).astype(np.int64), fits


def _to_timestamp(data: AnyArray, source: Type) -> tuple[AnyArray, AnyArray]:
    """A cast to TIMESTAMP; numbers are seconds since 1970."""
    if source == DATE:
        return data.astype(np.int64) * MICROS_PER_DAY, np.array([True])
    if source == DOUBLE:
        return truncated(data * MICROS_PER_SECOND)
    seconds = data.astype(np.int64)
    limit = 2**62 // MICROS_PER_SECOND
    fits = (seconds > -limit) & (seconds < limit)
    return np.where(fits, seconds, 0) * MICROS_PER_SECOND, fits


def _from_decimal(array: pa.Array, source: Type, target: Type) -> pa.Array:
    data, mask, size = decimals.unscaled(array), valid(array), len(array)
    if target.kind is Kind.DECIMAL:
        return decimals.from_unscaled(target, decimals.rescale(data, source.scale, target.scale), mask, size)
    if target == DOUBLE:
        return build(DOUBLE, _as_double(data, source.scale), mask, size)
    if target == BOOLEAN:
        return build(BOOLEAN, (data != 0).astype(bool), mask, size)
    if target == TIMESTAMP:
        micros = decimals.product(data, MICROS_PER_SECOND)
        whole = decimals.whole(
            BIGINT, decimals.divide_down(micros, decimals.power_of_ten(source.scale)), mask, size
        )
        return build(TIMESTAMP, values(whole), valid(whole), size)
    return decimals.whole(target, decimals.divide_down(data, decimals.power_of_ten(source.scale)), mask, size)


def _as_double(data: AnyArray, scale: int) -> AnyArray:
    """The nearest double: by NumPy where both operands are exact, else by Python's exact division."""
    if data.dtype != object and decimals.magnitude(data) < 2**53 and scale <= 22:
        return data / 10.0**scale
    return np.array([int(u) / 10**scale for u in data], np.float64)


def _to_decimal(array: pa.Array, source: Type, target: Type) -> pa.Array:
    data, mask, size = values(array), valid(array), len(array)
    if source == DOUBLE:
        return _double_to_decimal(data, mask, target)
    scale = 6 if source == TIMESTAMP else 0
    whole = data.astype(np.int64)
    if array.null_count:
        whole = np.where(mask, whole, 0)
    return decimals.from_unscaled(target, decimals.rescale(whole, scale, target.scale), mask, size)


def _double_to_decimal(data: AnyArray, mask: AnyArray, target: Type) -> pa.Array:
    whole, certain = scaled(data, target.scale)
    mask = mask & np.isfinite(data)
    open_rows = np.flatnonzero(mask & ~certain)
    result = np.where(certain, whole, 0.0).astype(np.int64)
    if open_rows.size:
        result = result.astype(object)
        for at in open_rows:
            result[at] = int(round_text(float(data[at]), target.scale).scaleb(target.scale))
    return decimals.from_unscaled(target, result, mask, len(data))


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
        value = _bounded_int(text[int(at)].as_py())
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
    parts = pc.extract_regex(text, DATE_FORM)
    days, exists = _days(parts)
    return build(target, days, exists, len(text))


def _timestamps(text: pa.Array, target: Type) -> pa.Array:
    parts = pc.extract_regex(text, DATE_FORM)
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


def to_string(array: pa.Array, source: Type) -> pa.Array:
    """CAST(source AS STRING)."""
    return _PRINTERS[source.kind](array)


def _printed_as_is(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _printed_timestamps(array: pa.Array) -> pa.Array:
    """YYYY-MM-DD HH:MM:SS[.ffffff] in UTC, without trailing zeros."""
    local = array.cast(pa.int64()).cast(pa.timestamp("us"))
    return pc.replace_substring_regex(local.cast(pa.string()), r"\.?0+$", "")


def java_double(value: float) -> str:
    """A double as Java's Double.toString formats it.

    >>> [java_double(x) for x in (1.0, 0.001, 12345678.0, 1e-4, -2.5e300, float("inf"))]
    ['1.0', '0.001', '1.2345678E7', '1.0E-4', '-2.5E300', 'Infinity']
    """
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e7:
        return repr(value)
    if value != value:
        return "NaN"
    sign = "-" if value < 0 else ""
    return f"{sign}{'Infinity' if size == np.inf else _scientific(_shortest(size))}"


def _shortest(size: float) -> str:
    """The fewest digits that identify a number, but at least two: 4.9E-324 is the smallest number."""
    text = repr(size)
    return text if "." in text else f"{size:.1e}"


def _scientific(text: str) -> str:
    """Scientific notation: the digits of a number with one of them before the point.

    >>> _scientific("12345678.0"), _scientific("0.00012"), _scientific("1e-05")
    ('1.2345678E7', '1.2E-4', '1.0E-5')
    """
    mantissa, _, power = text.partition("e")
    integral, _, fraction = mantissa.partition(".")
    digits = (integral + fraction).lstrip("0")
    exponent = len(digits) - len(fraction) - 1 + int(power or "0")
    return f"{digits[0]}.{digits[1:].rstrip('0') or '0'}E{exponent}"


def _printed_doubles(array: pa.Array) -> pa.Array:
    """Doubles; each distinct number is formatted once."""
    encoded = pc.dictionary_encode(array)
    printed = pa.array([java_double(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return printed.take(encoded.indices)


def _printed_decimals(array: pa.Array) -> pa.Array:
    """Decimals as plain digits, never with an exponent."""
    scale = decimal_type(array.type).scale
    present = np.broadcast_to(valid(array), len(array))
    texts = [
        _plain_decimal(int(u), scale) if ok else None for u, ok in zip(unscaled(array), present, strict=True)
    ]
    return pa.array(texts, pa.string())


def _plain_decimal(value: int, scale: int) -> str:
    digits = str(abs(value)).rjust(scale + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def _day_time(array: pa.Array) -> pa.Array:
    present = np.broadcast_to(valid(array), len(array))
    texts = [_day_time_text(int(m)) if ok else None for m, ok in zip(values(array), present, strict=True)]
    return pa.array(texts, pa.string())


def _day_time_text(micros: int) -> str:
    sign = "-" if micros < 0 else ""
    days, rest = divmod(abs(micros), MICROS_PER_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"INTERVAL '{sign}{days} {clock}{tail}' DAY TO SECOND"


def _year_month(array: pa.Array) -> pa.Array:
    texts = [None if m is None else _year_month_text(m) for m in array.to_pylist()]
    return pa.array(texts, pa.string())


def _year_month_text(months: int) -> str:
    sign = "-" if months < 0 else ""
    return f"INTERVAL '{sign}{abs(months) // 12}-{abs(months) % 12}' YEAR TO MONTH"


_PRINTERS: dict[Kind, Callable[[pa.Array], pa.Array]] = {
    **dict.fromkeys((Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DATE), _printed_as_is),
    Kind.DOUBLE: _printed_doubles,
    Kind.DECIMAL: _printed_decimals,
    Kind.TIMESTAMP: _printed_timestamps,
    Kind.DAY_TIME: _day_time,
    Kind.YEAR_MONTH: _year_month,
}


KERNELS: dict[str, Kernel] = {
    "cast": _cast,
}
