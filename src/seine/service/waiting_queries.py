"""Which streams keep a query waiting."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from seine.intake.stream_status import StreamStatus


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
