"""Intake beside streams that Spark reads: one entry for every micro-batch, written before that begins.

Spark cuts the micro-batches of its own sources when it likes. So that each has an entry, the next one is
always there: it is written when the one before is done, with what the tasks reported. If there is nothing to
say in it, it is *blank*: the journal's source keeps quiet about it, and it is used when Spark finds rows.

    batch 7 done -> entry 8: blank          rows come                -> batch 8 with entry 8
    batch 8 done -> entry 9: rows of a file the journal offers it    -> batch 9 with entry 9
    batch 9 done -> entry 10: blank         a file grows: it is offered, empty, and entry 11 has the lines

Law: the entry of a micro-batch says all that a replay has to know: network version, clocks, punctuations.
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.definitions import StreamDef
from seine.intake.feed import StreamFeed
from seine.intake.intake import Intake
from seine.intake.intake_state import StreamState
from seine.intake.journal import Entry
from seine.intake.spark_feed import SparkFeed, TaskOutcome
from seine.rows.clock import Clock


class PacedIntake(Intake):
    """Writes the entry of the next micro-batch when the last one is done."""

    _final = False  # whether the input ends though Spark could read more

    def _feed(self, stream: StreamDef, state: StreamState | None, refuse: bool) -> StreamFeed:
        if stream.reader is None:
            return super()._feed(stream, state, refuse)
        return SparkFeed(stream, state, self._runs(stream, state), self._surroundings)

    @property
    def paced(self) -> bool:
        return True

    def succeed(self, outcomes: Sequence[TaskOutcome]) -> Entry:
        """Append the entry of the next micro-batch, given what the tasks of the last one report."""
        with self._reading:
            self._note_wall()
            more = any(one.rows or one.dead for one in outcomes)
            for feed in self._spark_feeds():
                feed.take_outcomes([one for one in outcomes if one.stream == feed.stream.name], self._wall)
                if more and not self._final:
                    feed.set_end(False)
            return self._next_entry() or self._append({}, end=False)

    def has_news(self) -> bool:
        """Whether the entry after a blank one would say something, so that the blank one must not wait."""
        with self._reading:
            with self._turn:
                if self._coming or self._leaving or self._is_changed(self._since()):
                    return True
            self._note_wall()
            if any(feed.waiting for feed in self._threads.fill(self._feeds)) or self._floors():
                return True
            if self._follow and any(feed.would_rise(self._wall) for feed in self._spark_feeds()):
                return True
            return bool(self._feeds) and all(feed.ended for feed in self._feeds)

    def end_spark_streams(self, final: bool) -> None:
        """Take the streams that Spark reads as read to their end, unless the next batch brings more.

        Once all others have ended: then the next entry ends the input, or says nothing of it. If it is
        `final` it ends the input whatever comes.
        """
        self._final = final
        with self._reading:
            self._threads.fill(self._feeds)
            if all(feed.ended for feed in self._feeds if not isinstance(feed, SparkFeed)):
                for feed in self._spark_feeds():
                    feed.set_end(True)

    def _note_wall(self) -> None:
        self._wall = int(self._surroundings.wall() * 1_000_000)

    def _spark_feeds(self) -> list[SparkFeed]:
        return [feed for feed in self._feeds if isinstance(feed, SparkFeed)]

    def _look_around(self) -> None:
        if self._follow:
            for feed in self._spark_feeds():
                feed.leave_out_silent(self._wall)

    def _is_changed(self, since: int | None) -> bool:
        """Whether the network, or who is withheld from it, is another than in the last entry."""
        last = self.journal.last()
        now = (self._network(), self._epoch(), self._withheld())
        return last is not None and (since is not None or now != (last.network, last.epoch, last.withheld))

    def _is_blank(self, clock: Clock, since: int | None) -> bool:
        last = self.journal.last()
        if clock.end or self._is_changed(since):
            return False
        if last is None:  # the first micro-batch begins in any case
            return True
        known = {feed.stream.name: feed.known_watermark for feed in self._spark_feeds()}
        return {**last.clock.watermarks, **known} == clock.watermarks
