"""Event time as an operator sees it in one micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from seine.rows.delta import FOREVER, NEVER


class Clock(Struct, frozen=True):
    """The watermark of every stream, and the latest event time of each domain.

    A watermark w promises that no later tuple of the stream has a timestamp < w.
    It is NEVER before the first tuple and FOREVER after the last.
    `now` is the largest accepted timestamp of any stream of the domain so far.
    """

    watermarks: Mapping[str, int]
    now: Mapping[str, int] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    end: bool = False

    def low(self, streams: Iterable[str]) -> int:
        """No row that involves these streams will start before this; FOREVER if there are none."""
        return min((self.watermarks[s] for s in streams), default=FOREVER)

    def progress(self, streams: Iterable[str]) -> int:
        """Instants before this are complete for these streams.

        A stream that has ended keeps pace with the others; at the end of all input the final
        instant, the largest timestamp of any accepted tuple, is complete too.
        """
        names = list(streams)
        if not names:
            return FOREVER
        now = max((self.now.get(self.domains.get(s, "plain"), NEVER) for s in names), default=NEVER)
        if self.end:
            return now + 1 if now != NEVER else NEVER
        return min(min(self.watermarks[s], now) for s in names)
