"""How tasks read the topics that a stream declares, if they do, and not Spark's connector."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from seine.algebra.definitions import StreamDef
from seine.intake.allowed_hosts import Hosts
from seine.intake.arrived_records import asks_for_arrival, only_topic
from seine.intake.source_branch import SourceBranch
from seine.topics.client_settings import NoCounterpart, client_settings
from seine.topics.topic_client import EARLIEST, LATEST
from seine.topics.topic_consumer import client_is_here
from seine.topics.topic_reading import RecordColumns, TopicReading

_logger = logging.getLogger(__name__)
OFFSETS_AT_ONCE = 1_000_000  # of a stream in a micro-batch, unless anything else is said


def streamed_topics(
    stream: StreamDef,
    options: Mapping[str, str],
    batch_rows: int | None = None,
    born: int = 0,
    hosts: Hosts | None = None,
) -> TopicReading | None:
    """How tasks read a stream of topics with these options; None if it is Spark's connector that reads it."""
    if stream.reader is None or stream.reader.format != "kafka" or not client_is_here():
        return None
    try:
        settings = client_settings(options)
    except NoCounterpart as option:
        _logger.info("Spark's connector reads topics, for option %s", option, extra={"stream": stream.name})
        return None
    named = {key.lower(): value for key, value in options.items()}
    return TopicReading(
        SourceBranch(stream.name, born),
        settings,
        tuple(sorted({topic.strip() for topic in named["subscribe"].split(",")} - {""})),
        _first(dict(stream.source.options).get("start", "earliest") if stream.source else "earliest"),
        int(named.get("maxoffsetspertrigger") or batch_rows or OFFSETS_AT_ONCE),
        RecordColumns(topic=only_topic(stream) is None, time=asks_for_arrival(stream)),
        hosts,
    )


def _first(start: str) -> int:
    """The time of the first record, in milliseconds.

    >>> _first("1970-01-01T00:00:02Z"), _first("earliest")
    (2000, -2)
    """
    named = {"earliest": EARLIEST, "latest": LATEST}
    return named[start] if start in named else int(datetime.fromisoformat(start).timestamp() * 1000)
