"""Idle streams: who has been silent for as long as it was declared with holds nobody back.

Such a stream is given the watermark of the slowest of the others that queries combine with it, as a *floor*:
it never falls again, and what then arrives behind it is late. Where all are idle, none holds the others back,
and the latest watermark counts. A stream that has failed is not idle: its queries wait for it.

Law: floors are part of the entry in which they were raised, so a replay sees the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class StreamProgress(NamedTuple):
    """How far a stream is, and whether it is left out; `group` is its component and time domain."""

    stream: str
    group: tuple[str, str]
    watermark: int
    idle: bool


def floors(streams: Iterable[StreamProgress]) -> Mapping[str, int]:
    """The watermarks to which idle streams are raised, where that is higher than what they have.

    >>> a, b = StreamProgress("a", ("a", "plain"), 5, True), StreamProgress("b", ("a", "plain"), 9, False)
    >>> floors([a, b]), floors([a, b._replace(idle=True)]), floors([a._replace(idle=False), b])
    ({'a': 9}, {'a': 9}, {})
    """
    places = list(streams)
    raised = {}
    for place in places:
        if not place.idle:
            continue
        group = [other for other in places if other.group == place.group]
        active = [other.watermark for other in group if not other.idle]
        floor = min(active) if active else max(other.watermark for other in group)
        if floor > place.watermark:
            raised[place.stream] = floor
    return raised
