"""Values of records and of DuckDB in one form, and the net of records."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

_EPOCH = dt.datetime(1970, 1, 1)


def comparable(row: Iterable[Any]) -> tuple[Any, ...]:
    """A row whose times are milliseconds and whose numbers that are not whole have ten digits.

    >>> comparable([1, 2.0, Decimal("0.5"), "2026-07-14T23:59:40.5Z", "x", dt.datetime(1970, 1, 1, 0, 0, 1)])
    (1, '2', '0.5', 1784073580500, 'x', 1000)
    """
    return tuple(_value(value) for value in row)


def milliseconds(time: str) -> int:
    """A time as records have it.

    >>> milliseconds("1970-01-01T00:00:01Z")
    1000
    """
    return _since(dt.datetime.fromisoformat(time.removesuffix("Z")))


def net(records: Iterable[Mapping[str, Any]], instant: int | None = None) -> Counter[tuple[Any, ...]]:
    """What records say of the result now, or at an instant."""
    counted: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        if instant is None or milliseconds(record["t_start"]) <= instant:
            counted[comparable(record["row"].values())] += 1 if record["op"] == "+" else -1
    return Counter({row: count for row, count in counted.items() if count})


def _value(value: Any) -> Any:
    if isinstance(value, float | Decimal):
        return f"{float(value):.10g}"
    if isinstance(value, dt.datetime):
        return _since(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > 18 and value[10] == "T" and value.endswith("Z"):
        return milliseconds(value)
    return value


def _since(time: dt.datetime) -> int:
    return (time - _EPOCH) // dt.timedelta(milliseconds=1)
