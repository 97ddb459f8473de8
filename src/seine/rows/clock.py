"""The event-time clock of one micro-batch: watermarks, and the progress of event time.

The clock of a micro-batch whose rows are read by many tasks: each task brings its part of it.

A task knows the clock with which the batch before ended, and what it has seen itself. Where the clock is
used, all parts are there, and are put together:

    known  a: 7  b: 9        task 1 has seen  a: 12      task 2 has seen  b: 10
    together  a: 12  b: 10   the stream's clock is the least, 10; its watermark that less the lateness

Of a topic that is judged by partition the values are its partitions. Another stream without a clock column
has one clock value, the empty text: its clock is the largest timestamp seen.

Law: putting parts together does not depend on their order, nor on how many tasks had them; and neither a
clock nor a watermark ever falls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from seine.rows.delta import FOREVER, NEVER


class Clock(Struct, frozen=True):
    """The watermark of every stream, and the latest event time of each time domain.

    A watermark w says that no later tuple of the stream has a timestamp < w.
    It is NEVER before the first tuple and FOREVER after the last.
    `now` is the largest accepted timestamp of any stream of the domain so far, `latest` that of each stream.
    """

    watermarks: Mapping[str, int]
    now: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    end: bool = False
    latest: Mapping[str, int] = field(default_factory=dict)

    def latest_of(self, streams: Iterable[str]) -> int:
        """The largest timestamp accepted so far of some streams; of all where it is not known of each.

        >>> Clock({"a": 1, "b": 90}, {"plain": 90}, latest={"a": 3, "b": 90}).latest_of(["a"])
        3
        >>> Clock({"a": 1, "b": 90}, {"plain": 90}).latest_of(["a"])
        90
        """
        names = [*streams]
        if all(name in self.latest for name in names):
            return max((self.latest[name] for name in names), default=NEVER)
        return max(self.now.values(), default=NEVER)

    def low(self, streams: Iterable[str]) -> int:
        """The lowest watermark of some streams: no later row of theirs starts before it; FOREVER for none."""
        return min((self.watermarks[s] for s in streams), default=FOREVER)

    def progress(self, streams: Iterable[str]) -> int:
        """The event time up to which (exclusive) all instants are complete for some streams.

        A stream that has ended does not hold up the others; at the end of all input the final
        instant, the largest timestamp of any accepted tuple, is complete too. If no tuple came at all, that
        is the instant before everything: what there is without tuples is reported then.

        >>> Clock({"a": 7}, {"plain": 9}, end=True).progress(["a"])
        10
        >>> Clock({"a": 7}, end=True).progress(["a"]) == NEVER + 1
        True
        """
        names = list(streams)
        if not names:
            return FOREVER
        now = max((self.now.get(self.domains.get(s, "plain"), NEVER) for s in names), default=NEVER)
        if self.end:
            return now + 1
        return min(min(self.watermarks[s], now) for s in names)


class ClockPart(Struct, frozen=True, array_like=True):
    """What one task has seen of a stream: to where each clock value, or partition, came in it.

    `known` are the clocks that the batch before ended with, without those that are left out as silent;
    `latest` is the largest timestamp that was let in.
    """

    stream: str
    domain: str
    lateness: int
    known: dict[str, int]
    seen: dict[str, int]
    latest: int


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
    >>> parts = [ClockPart("s", "plain", 2, known, {v: t}, t) for v, t in (("a", 12), ("b", 10))]
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
        reached = max(piece.latest for piece in pieces)
        latest[stream] = max(latest.get(stream, NEVER), reached)
        now[first.domain] = max(now.get(first.domain, NEVER), reached)
    return replace(clock, watermarks=watermarks, now=now, latest=latest)


def watermark_of(clock: int, lateness: int) -> int:
    """The watermark of a stream whose clock is this; NEVER before any tuple."""
    return NEVER if clock < NEVER + lateness else clock - lateness
