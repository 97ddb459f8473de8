"""A look at the sources that Spark reads: whether one can be opened, and how far each has been read."""

from __future__ import annotations

import json
import time

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.definitions import StreamDef
from seine.errors import RunError, SeineError
from seine.runtime.spark_reading import SparkPosition, SparkReading
from seine.spark.source_frames import open_frame, topics_of
from seine.topics.topic_client import EARLIEST, TopicClient

_SECONDS_FOR_A_BROKER = 15
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_BETWEEN_IDLE_LOOKS = 10.0  # as often as Spark reports that it found nothing


def check_source(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> None:
    """Refuse a stream that Spark cannot open, or whose topics no broker has."""
    if not _check_topics(stream, reading):
        open_frame(spark, stream, reading)


def _check_topics(stream: StreamDef, reading: SparkReading) -> bool:
    """Ask for the first offsets of a stream's topics; False if it has none."""
    try:
        topics = topics_of(stream, reading)
        if topics is None:
            return False
        client = TopicClient(topics.settings, topics.topics, _SECONDS_FOR_A_BROKER, hosts=topics.hosts)
        try:
            client.offsets(EARLIEST)
        finally:
            client.close()
    except RunError as error:
        raise SeineError(
            f"stream {stream.name} cannot be read: {reading.secrets.hide(error.message)}",
            hint=error.hint or "is the broker there, and the topic?",
        ) from None
    return True


class SourcePositions:
    """Tells the door of a service how far its streams are read: a second after something was committed."""

    def __init__(self, reading: SparkReading) -> None:
        self._reading = reading
        self._committed, self._moved = -1, 0.0
        self._next_look = 0.0

    def look(self, query: StreamingQuery, committed: int) -> None:
        """Note what Spark reported last, if that is due; `committed` is the last entry that was."""
        now = time.monotonic()
        if committed != self._committed:
            self._committed, self._moved = committed, now
            self._next_look = min(self._next_look, now + _SECONDS_BETWEEN_LOOKS)
        if not self._reading.branches or now < self._next_look:
            return
        progress = query.lastProgress
        fresh = progress is None or now - self._moved < _SECONDS_BETWEEN_LOOKS  # Spark reports a little later
        self._next_look = now + (_SECONDS_BETWEEN_LOOKS if fresh else _SECONDS_BETWEEN_IDLE_LOOKS)
        branches = self._reading.branches
        if progress is None or len(progress.sources) != 1 + len(branches):
            return
        self._reading.door.trouble = ""
        self._reading.door.tell(
            {
                branch.stream: SparkPosition(
                    source.endOffset or "", _behind(source.endOffset, source.latestOffset)
                )
                for branch, source in zip(branches, progress.sources[1:], strict=True)
            }
        )


def _behind(end: str | None, latest: str | None) -> int | None:
    """The rows of topics that are there and not read; None of a source whose offsets are of another form.

    >>> _behind('{"bids": {"0": 4, "1": 9}}', '{"bids": {"0": 10, "1": 9}}')
    6
    >>> _behind('{"logOffset": 3}', None)
    """
    try:
        read: dict[str, dict[str, int]] = json.loads(end or "")
        there: dict[str, dict[str, int]] = json.loads(latest or "")
        known = {(topic, place): count for topic, places in read.items() for place, count in places.items()}
        return sum(
            count - known.get((topic, place), 0)
            for topic, places in there.items()
            for place, count in places.items()
        )
    except (ValueError, AttributeError, TypeError):
        return None
