"""Intake of a service: streams that Spark reads come and go, and the pipeline changes its shape with them.

    entry 7           a stream that Spark reads was registered: it has clocks, and no rows yet
    entry 8           the last of its pipeline: it says which branches the next one has
    entry 9           the first of the pipeline that reads the stream

Law: what is registered is true first. Whatever shape the pipeline has, an entry that hands over follows until
it has the branches of the streams that are there; so a crash in between changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition
from typing import Any

from seine.algebra.definitions import StreamDef
from seine.errors import RunError
from seine.intake.admission import Admitted
from seine.intake.feed import StreamFeed
from seine.intake.journal import Entry, Journal, ReplayDraft
from seine.intake.paced_intake import PacedIntake
from seine.intake.spark_feed import PipelineShape, SourceBranch, SparkFeed
from seine.rows.clock import Clock

_MOST_SECONDS_FOR_A_HANDOVER = 60.0  # that a change waits for the entry which makes the pipeline deeper


class ServedIntake(PacedIntake):
    """Paced while the pipeline reads streams by Spark, and ahead of the micro-batches while it does not."""

    def __init__(
        self,
        streams: Sequence[StreamDef],
        journal: Journal,
        *,
        planned: PipelineShape,
        pacing: Callable[[], bool],
        fresh: frozenset[str] = frozenset(),
        **more: Any,
    ) -> None:
        """`planned` is the shape that the pipeline has, or will have after the last entry; `pacing` says
        whether the one that runs reads streams by Spark.
        """
        self._planned = planned
        self._wanted_depth = planned.depth
        self._pacing = pacing
        self._handed = Condition()
        super().__init__(streams, journal, fresh=fresh, **more)
        for feed in self._spark_feeds():
            if feed.stream.name in fresh:
                feed.begin(self._next_number())

    @property
    def paced(self) -> bool:
        return self._pacing()

    def branches(self) -> tuple[SourceBranch, ...]:
        return tuple(feed.branch for feed in self._spark_feeds())

    def change(self, coming: Iterable[StreamFeed], leaving: Iterable[str]) -> None:
        feeds = list(coming)
        super().change(feeds, leaving)
        for feed in feeds:
            if isinstance(feed, SparkFeed):
                feed.begin(self._next_number())

    def deepen(self, depth: int) -> None:
        """Let the pipeline have so many stages, as soon as it can."""
        self._wanted_depth = max(self._wanted_depth, depth)

    def hand_over(self, depth: int) -> Entry:
        """The entry after which the pipeline has `depth` stages; it is waited for where entries are paced."""
        if not self.paced:
            return super().hand_over(depth)
        self.deepen(depth)
        with self._handed:
            if not self._handed.wait_for(lambda: self._planned.depth >= depth, _MOST_SECONDS_FOR_A_HANDOVER):
                hint = "see what seine status says of its streams, and try again"
                raise RunError("the pipeline does not come to have more stages: it stands still", hint=hint)
        last = self.journal.last()
        assert last is not None
        return last

    def has_news(self) -> bool:
        return self._due() is not None or super().has_news()

    def _due(self) -> int | None:
        """The stages of the pipeline that is to go on from here; None if this one may."""
        depth = max(self._planned.depth, self._wanted_depth)
        wanted = PipelineShape(depth, self.branches())
        return None if wanted == self._planned else depth

    def _next_entry(self) -> Entry | None:
        with self._turn:
            self._exchange()
            depth, last = self._due(), self.journal.last()
            if depth is not None and not (last is not None and last.handover):  # a pipeline does some work
                return self._cut({}, end=False, handover=depth, replays=self._replays(False))
        return super()._next_entry()

    def _cut(
        self,
        admitted: Mapping[str, list[Admitted]],
        *,
        end: bool,
        handover: int = 0,
        replays: Sequence[ReplayDraft] = (),
    ) -> Entry:
        entry = super()._cut(admitted, end=end, handover=handover, replays=replays)
        if handover:
            with self._handed:
                self._planned = PipelineShape(handover, entry.branches)
                self._handed.notify_all()
        return entry

    def _is_blank(self, clock: Clock, since: int | None) -> bool:
        return self.paced and super()._is_blank(clock, since)

    def _next_number(self) -> int:
        last = self.journal.last()
        return last.number + 1 if last is not None else 0
