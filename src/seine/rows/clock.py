"""The event-time clock of one micro-batch: watermarks, and the progress of event time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

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
