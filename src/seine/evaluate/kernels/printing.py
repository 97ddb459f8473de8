"""CAST to STRING: values formatted as Spark formats them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.calendar import MICROS_PER_DAY
from seine.evaluate.kernels.datum import valid, values
from seine.evaluate.kernels.decimals import unscaled


def to_string(array: pa.Array, source: Type) -> pa.Array:
    """CAST(source AS STRING)."""
    return _PRINTERS[source.kind](array)


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(pa.string())


def _timestamps(array: pa.Array) -> pa.Array:
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


def _doubles(array: pa.Array) -> pa.Array:
    """Doubles; each distinct number is formatted once."""
    encoded = pc.dictionary_encode(array)
    printed = pa.array([java_double(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return printed.take(encoded.indices)


def _decimals(array: pa.Array) -> pa.Array:
    """Decimals as plain digits, never with an exponent."""
    scale = array.type.scale
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
    **dict.fromkeys((Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DATE), _plain),
    Kind.DOUBLE: _doubles,
    Kind.DECIMAL: _decimals,
    Kind.TIMESTAMP: _timestamps,
    Kind.DAY_TIME: _day_time,
    Kind.YEAR_MONTH: _year_month,
}
