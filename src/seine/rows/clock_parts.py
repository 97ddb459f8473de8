"""The clock of a micro-batch whose rows are read by many tasks: each task brings its part of it.

A task knows the clock with which the batch before ended, and what it has seen itself. Where the clock is
used, all parts are there, and are put together:

    known  a: 7  b: 9        task 1 has seen  a: 12      task 2 has seen  b: 10
    together  a: 12  b: 10   the stream's clock is the least, 10; its watermark that less the lateness

A stream without a clock column has one clock value, the empty text: its clock is the largest timestamp seen.

Law: putting parts together does not depend on their order, nor on how many tasks had them; and neither a
clock nor a watermark ever falls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from seine.rows.clock import Clock
from seine.rows.delta import NEVER


class ClockPart(Struct, frozen=True, array_like=True):
    """What one task has seen of a stream: the largest accepted timestamp of each clock value.

    `known` are the clocks that the batch before ended with, without values that are left out as idle.
    """

    stream: str
    domain: str
    lateness: int
    known: dict[str, int]
    seen: dict[str, int]


def largest(clocks: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest clock of each value.

    >>> largest([{"a": 1, "b": 5}, {"a": 3}])
    {'a': 3, 'b': 5}
    """
    merged: dict[str, int] = {}
    for one in clocks:
        for value, time in one.items():
            merged[value] = max(merged.get(value, NEVER), time)
    return merged


def raise_clock(clock: Clock, parts: Iterable[ClockPart]) -> Clock:
    """Event time after a micro-batch, given the clock that its entry brings and the parts of its tasks.

    >>> known = {"a": 7, "b": 9}
    >>> parts = [ClockPart("s", "plain", 2, known, {"a": 12}), ClockPart("s", "plain", 2, known, {"b": 10})]
    >>> raise_clock(Clock({"s": 5}), parts).watermarks, raise_clock(Clock({"s": 5}), parts).now
    ({'s': 8}, {'plain': 12})
    """
    watermarks, now, latest = dict(clock.watermarks), dict(clock.now), dict(clock.latest)
    by_stream: dict[str, list[ClockPart]] = {}
    for part in parts:
        by_stream.setdefault(part.stream, []).append(part)
    for stream, pieces in by_stream.items():
        seen, first = largest(part.seen for part in pieces), pieces[0]
        if not seen:
            continue
        least = min(largest([first.known, seen]).values())
        watermarks[stream] = max(watermarks.get(stream, NEVER), watermark_of(least, first.lateness))
        reached = max(seen.values())
        latest[stream] = max(latest.get(stream, NEVER), reached)
        now[first.domain] = max(now.get(first.domain, NEVER), reached)
    return replace(clock, watermarks=watermarks, now=now, latest=latest)


def watermark_of(clock: int, lateness: int) -> int:
    """The watermark of a stream whose clock is this; NEVER before any tuple."""
    return NEVER if clock < NEVER + lateness else clock - lateness
