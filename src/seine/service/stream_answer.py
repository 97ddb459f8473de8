"""The status of a stream as a service answers it, and which streams keep a query waiting."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta

from seine.intake.stream_status import StreamStatus
from seine.runtime.spark_reading import SparkPosition
from seine.service.answers import HoldingBack, StreamAnswer

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stream_answer(status: StreamStatus, read: SparkPosition | None = None) -> StreamAnswer:
    """The JSON object of a stream's status; if Spark reads it, how far that has `read`."""
    condition = status.condition
    running = condition.state == "running"
    return {
        "stream": status.stream,
        "state": condition.state,
        "since": None if running else _instant(condition.since),
        "file": condition.file or None,
        "reason": condition.reason or None,
        "position": {
            "file": status.file,
            "offset": status.position,
            "arrivals": status.arrivals,
            "offsets": _offsets(read),
        },
        "lag": {"bytes": status.lag_bytes, "rows": status.lag_rows if read is None else read.behind},
        "watermark": _event_time(status.watermark, status.domain),
        "refused": {"late": status.late, "dead": status.dead, "last_reason": status.last_reason},
        "holds_back": _holding_back(status),
        "silent": list(status.silent),
    }


def _offsets(read: SparkPosition | None) -> object:
    """Offsets as JSON, or as text where their format is another."""
    try:
        return json.loads(read.offsets) if read is not None and read.offsets else None
    except ValueError:
        return read.offsets if read is not None else None


def _holding_back(status: StreamStatus) -> HoldingBack | None:
    if not status.holds_back:
        return None
    return {"streams": list(status.holds_back), "since": _instant(status.advanced)}


def _instant(seconds: float) -> str:
    """
    >>> _instant(60.5)
    '1970-01-01T00:01:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _event_time(time: int | None, domain: str) -> int | str | None:
    """A time as users write it; one that no calendar has stays a number.

    >>> _event_time(1_500_000, "timestamp"), _event_time(7, "plain"), _event_time(2**62, "timestamp")
    ('1970-01-01T00:00:01.500000Z', 7, 4611686018427387904)
    """
    if time is None or domain != "timestamp":
        return time
    try:
        return (_EPOCH + timedelta(microseconds=time)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return time


def waits_for(reads: Collection[str], streams: Iterable[StreamStatus]) -> dict[str, str]:
    """Of the streams that a query reads, those that failed or hold back another one of them, in words.

    >>> slow = StreamStatus(stream="slow", holds_back=("a", "b"), advanced=60)
    >>> waits_for({"slow", "b", "c"}, [slow])
    {'slow': 'holds back b since 1970-01-01T00:01:00Z'}
    >>> waits_for({"slow", "c"}, [slow])
    {}
    """
    troubles = {}
    for status in streams:
        if status.stream in reads and status.condition.state != "idle":
            words = status.among(reads).trouble()
            if words is not None:
                troubles[status.stream] = words
    return troubles
