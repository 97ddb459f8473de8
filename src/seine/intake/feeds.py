"""The feeds of all streams: which are read, which come or go with the next entry, and which are idle.

A stream that has been silent for as long as it was declared with holds nobody back. It is given the watermark
of the slowest of the others that queries combine with it, as a *floor*: it never falls again, and what then
arrives behind it is late. Where all are idle, none holds the others back, and the latest watermark counts. A
stream that has failed is not idle: its queries wait for it.

Law: floors are part of the entry in which they were raised, so a replay sees the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from seine.algebra.definitions import StreamDef
from seine.intake.alignment import Components, groups_of
from seine.intake.feed import Feed, StreamFeed
from seine.intake.intake_state import StreamState
from seine.intake.journal import Entry
from seine.intake.reading_threads import ReadingThreads
from seine.intake.spark_feed import SparkFeed
from seine.intake.stream_status import StreamStatus, waiting_for
from seine.rows.delta import NEVER


class Feeds:
    """Feeds in the order of their streams, and the threads that read ahead for them."""

    def __init__(self, feeds: Iterable[Feed], fill: Callable[[StreamFeed], None], *, patient: bool) -> None:
        """With `patient` a source is waited for however long reading it takes."""
        self._here = [*feeds]
        self._coming: list[Feed] = []
        self._leaving: set[str] = set()
        self._altering: dict[str, StreamDef] = {}
        self.threads = ReadingThreads(fill, patient=patient)

    def __iter__(self) -> Iterator[Feed]:
        return iter(self._here)

    def __len__(self) -> int:
        return len(self._here)

    @property
    def spark(self) -> list[SparkFeed]:
        """Those of streams that Spark reads."""
        return [feed for feed in self._here if isinstance(feed, SparkFeed)]

    @property
    def leaving(self) -> set[str]:
        """The streams that are in no entry from the next one on."""
        return self._leaving

    @property
    def is_changing(self) -> bool:
        """Whether the next entry has other streams than the last one."""
        return bool(self._coming or self._leaving)

    def change(self, coming: Iterable[Feed], leaving: Iterable[str], last: Entry | None) -> None:
        """Add and remove streams as of the entry after the `last` one.

        A stream that comes may have been opened a while ago, and one of its name may have gone on since.
        """
        removed, coming = set(leaving), [*coming]
        for feed in coming:
            if last is not None and (before := last.intake.streams.get(feed.stream.name)) is not None:
                feed.admission.number_runs_after(before.admission.made)
                feed.state()  # for entries that are cut while it is being read
            if isinstance(feed, SparkFeed):
                feed.begin(last.number + 1 if last is not None else 0)
        for feed in self._coming:
            if feed.stream.name in removed:
                feed.close()
        self._coming = [feed for feed in self._coming if feed.stream.name not in removed] + coming
        self._altering = {name: one for name, one in self._altering.items() if name not in removed}
        self._leaving |= removed

    def alter(self, streams: Iterable[StreamDef]) -> None:
        """Read streams with columns more as of the next entry, or when their sources can be asked again."""
        self._altering |= {stream.name: stream for stream in streams}

    def exchange(self) -> None:
        """Apply what `change` and `alter` requested."""
        for feed in self._here:
            if feed.stream.name in self._leaving:
                self.threads.close_feed(feed)
        self._here = [feed for feed in self._here if feed.stream.name not in self._leaving] + self._coming
        self._coming, self._leaving = [], set()
        for feed in self._here:
            if feed.stream.name in self._altering and self.threads.at_rest(feed):
                feed.alter(self._altering.pop(feed.stream.name))

    def fill(self) -> list[Feed]:
        """Read ahead; the feeds at rest after that."""
        self.threads.fill([feed for feed in self._here if isinstance(feed, StreamFeed)])
        return [feed for feed in self._here if self.threads.at_rest(feed)]

    def reach(self, feed: Feed) -> int | None:
        """Up to where a stream lets those advance that it is joined with; one that is stuck, everywhere."""
        if self.threads.at_rest(feed):
            return feed.reach()
        return feed.admission.clock if self.threads.stuck_for(feed) is None else None

    def state_of(self, feed: Feed) -> StreamState:
        """The state of a stream; nothing was taken of one that is being read since it was at rest."""
        return feed.state() if self.threads.at_rest(feed) else feed.last_state

    def groups(self, components: Components | None) -> dict[str, tuple[str, str]]:
        """The component and time domain of each stream."""
        return _groups(self._here, components)

    def floors(self, components: Components | None, wall: int) -> Mapping[str, int]:
        """The watermarks that streams which are idle now are to be given."""
        if all(feed.stream.idle is None for feed in self._here):
            return {}
        groups = self.groups(components)
        return floors(
            StreamProgress(
                feed.stream.name,
                groups[feed.stream.name],
                feed.watermark,
                self.threads.at_rest(feed) and feed.note_silence(wall),
            )
            for feed in self._here
        )

    def statuses(
        self, components: Components | None, last: Entry | None, *, lag: bool
    ) -> tuple[StreamStatus, ...]:
        """The status of every stream as of the `last` entry; any thread may ask."""
        leaving, coming = set(self._leaving), tuple(self._coming)  # in this order: an entry may be cut now
        names = {feed.stream.name for feed in coming}
        standing = [feed for feed in self._here if feed.stream.name not in leaving | names]
        feeds = (*standing, *coming)
        groups = _groups(feeds, components)
        known = last.clock.watermarks if last is not None else {}
        watermarks = {name: watermark for name, watermark in known.items() if name not in names}
        states = last.intake.streams if last is not None else {}
        return tuple(
            feed.status(
                StreamState() if feed in coming else states.get(feed.stream.name, StreamState()),
                watermarks.get(feed.stream.name, NEVER),
                waiting_for(feed.stream.name, groups, watermarks) if feed.condition.state != "idle" else (),
                lag and not self.threads.is_slow(feed),
                self.threads.stuck_for(feed),
            )
            for feed in feeds
        )

    def close(self) -> None:
        """Stop the reading threads and close all sources."""
        self.threads.close(self._here)


def _groups(feeds: Iterable[Feed], components: Components | None) -> dict[str, tuple[str, str]]:
    feeds = [*feeds]
    group_of = groups_of((feed.stream.name for feed in feeds), components)
    return {feed.stream.name: (group_of[feed.stream.name], feed.stream.domain) for feed in feeds}


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
