"""Type resolution of functions of times with a unit: TIMESTAMPADD, TIMESTAMPDIFF and intervals of parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions.casting import TypeMismatch, decimal, implied_cast, literal, resolve_cast
from seine.algebra.functions.operator_types import resolve_arithmetic
from seine.algebra.functions.polymorphic import constant_word
from seine.algebra.functions.signatures import SIGNATURES
from seine.algebra.types import BIGINT, DAY_TIME, DOUBLE, INT, STRING, TIMESTAMP, YEAR_MONTH, Kind

Resolver = Callable[[Sequence[Expression]], Expression]
_MICROS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
TIME_UNITS = {**{unit: unit for unit in (*_MICROS, *_MONTHS)}, "dayofyear": "day"}


def _resolve_add(args: Sequence[Expression]) -> Expression:
    """TIMESTAMPADD(unit, n, timestamp)."""
    unit = constant_word(args[0], TIME_UNITS, "the unit of timestampadd")
    count = implied_cast(args[1], BIGINT if unit in _MICROS else INT, "argument 2 of timestampadd")
    time = implied_cast(args[2], TIMESTAMP, "argument 3 of timestampadd")
    return resolve_arithmetic("add", time, resolve_arithmetic("mul", _one(unit), count))


def _one(unit: str) -> Literal:
    """The interval of one unit."""
    return Literal(_MICROS[unit], DAY_TIME) if unit in _MICROS else Literal(_MONTHS[unit], YEAR_MONTH)


def _resolve_difference(args: Sequence[Expression]) -> Expression:
    """TIMESTAMPDIFF(unit, start, end): whole units between them."""
    unit = constant_word(args[0], TIME_UNITS, "the unit of timestampdiff")
    start, end = (implied_cast(arg, TIMESTAMP, "an argument of timestampdiff") for arg in args[1:])
    if unit in _MONTHS:
        months = Call("whole_months", (start, end), BIGINT)
        return months if unit == "month" else _whole(months, _MONTHS[unit])
    micros = [SIGNATURES["unix_micros"].bind("unix_micros", [time]) for time in (end, start)]
    return _whole(resolve_arithmetic("sub", *micros), _MICROS[unit])


def _whole(count: Expression, unit: int) -> Expression:
    return resolve_arithmetic("int_div", count, literal(unit))


def _resolve_day_time(args: Sequence[Expression]) -> Expression:
    """MAKE_DT_INTERVAL([days [, hours [, minutes [, seconds]]]])."""
    units = ("day", "hour", "minute")
    total: Expression = Literal(0, DAY_TIME)
    for unit, arg in zip(units, args, strict=False):
        count = implied_cast(arg, INT, "an argument of make_dt_interval")
        total = resolve_arithmetic("add", total, resolve_arithmetic("mul", _one(unit), count))
    if len(args) < 4:
        return total
    seconds = implied_cast(args[3], decimal(18, 6), "argument 4 of make_dt_interval")
    micros = Call("cast", (resolve_arithmetic("mul", seconds, literal(1_000_000)),), BIGINT)
    return resolve_arithmetic("add", total, resolve_arithmetic("mul", _one("microsecond"), micros))


def _resolve_year_month(args: Sequence[Expression]) -> Expression:
    """MAKE_YM_INTERVAL([years [, months]])."""
    total: Expression = Literal(0, YEAR_MONTH)
    for unit, arg in zip(("year", "month"), args, strict=False):
        count = implied_cast(arg, INT, "an argument of make_ym_interval")
        total = resolve_arithmetic("add", total, resolve_arithmetic("mul", _one(unit), count))
    return total


def _with_unit(by_unit: Resolver, name: str) -> Resolver:
    """DATEADD and DATEDIFF: with a unit first as TIMESTAMPADD and TIMESTAMPDIFF, else of days."""
    return lambda args: by_unit(args) if len(args) == 3 else SIGNATURES[name].bind(name, args)


def _resolve_make_timestamp(args: Sequence[Expression]) -> Expression:
    """MAKE_TIMESTAMP(year, month, day, hour, minute, seconds [, zone])."""
    if len(args) == 7:
        local = SIGNATURES["make_timestamp"].bind("make_timestamp", args[:6])
        zone = implied_cast(args[6], STRING, "argument 7 of make_timestamp")
        return Call("to_utc_timestamp", (local, zone), TIMESTAMP)
    if len(args) != 6:
        raise TypeMismatch(f"make_timestamp takes 6 or 7 arguments, not {len(args)}")
    return SIGNATURES["make_timestamp"].bind("make_timestamp", args)


def _resolve_seconds(args: Sequence[Expression]) -> Expression:
    """TIMESTAMP_SECONDS(n), also of seconds with a fraction, to the microsecond."""
    if args[0].type == DOUBLE or args[0].type.kind is Kind.DECIMAL:
        return resolve_cast(args[0], TIMESTAMP)
    return SIGNATURES["timestamp_seconds"].bind("timestamp_seconds", args)


def _resolve_convert_timezone(args: Sequence[Expression]) -> Expression:
    """CONVERT_TIMEZONE([from zone,] to zone, timestamp): what clocks show when those of another do so."""
    *source, target, time = args
    if source:
        time = SIGNATURES["to_utc_timestamp"].bind("to_utc_timestamp", [time, source[0]])
    return SIGNATURES["from_utc_timestamp"].bind("from_utc_timestamp", [time, target])


RESOLVERS: dict[str, tuple[int, int | None, Resolver]] = {
    "timestampadd": (3, 3, _resolve_add),
    "timestampdiff": (3, 3, _resolve_difference),
    "date_add": (2, 3, _with_unit(_resolve_add, "date_add")),
    "datediff": (2, 3, _with_unit(_resolve_difference, "datediff")),
    "make_dt_interval": (0, 4, _resolve_day_time),
    "make_ym_interval": (0, 2, _resolve_year_month),
    "timestamp_seconds": (1, 1, _resolve_seconds),
    "convert_timezone": (2, 3, _resolve_convert_timezone),
    "make_timestamp": (6, 7, _resolve_make_timestamp),
}
