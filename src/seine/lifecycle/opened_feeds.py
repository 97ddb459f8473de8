"""Streams that were opened for a change, before the change has its turn.

Opening looks at files, which may lie on a disk that does not answer or be very many. So it is done while
nobody waits, and when the change has its turn it is looked whether what was opened is what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from seine.algebra.definitions import StreamDef
from seine.intake.feed import Feed


class OpenedFeeds:
    """Feeds by the name of their stream; `close` closes those that nobody took."""

    def __init__(self, open_feed: Callable[[StreamDef], Feed]) -> None:
        """`open_feed` refuses a stream that cannot be read, or is what we write."""
        self._open_feed = open_feed
        self._feeds: dict[str, Feed] = {}

    def suffice(self, needed: Iterable[StreamDef]) -> bool:
        """Has every stream been opened, as it is declared now?"""
        return all(map(self._has, needed))

    def open(self, needed: Iterable[StreamDef]) -> None:
        """Open what is missing; an error if that cannot be read."""
        for stream in needed:
            if not self._has(stream):
                self._close(stream.name)
                self._feeds[stream.name] = self._open_feed(stream)

    def of(self, needed: Iterable[StreamDef]) -> list[Feed]:
        """The feeds of these streams, which must have been opened."""
        return [self._feeds[stream.name] for stream in needed]

    def take(self, feeds: Sequence[Feed]) -> None:
        """Leave feeds to somebody who closes them."""
        for feed in feeds:
            del self._feeds[feed.stream.name]

    def close(self) -> None:
        """Close those that are left."""
        for name in [*self._feeds]:
            self._close(name)

    def _close(self, name: str) -> None:
        if name in self._feeds:
            self._feeds.pop(name).close()

    def _has(self, stream: StreamDef) -> bool:
        feed = self._feeds.get(stream.name)
        return feed is not None and feed.stream == stream
