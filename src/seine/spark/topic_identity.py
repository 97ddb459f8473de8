"""The ids of topics: new ones are kept when a pipeline starts, and topics that are away are looked at again.

    a topic is gone     its stream waits, and a source that gives nothing has its place; all else goes on
    it is there again   the pipeline starts anew, and the stream goes on where it was
    another is there    the stream waits on, for another reason: it has to be dropped and created again

They are looked at ever more rarely. A broker that does not answer is waited for in the same way. What ids are
for: `seine.topics.topic_client`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping

import msgspec
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from seine.algebra.definitions import StreamDef
from seine.backoff import Backoff
from seine.errors import RunError, SeineError
from seine.intake.spark_feed import SourceBranch
from seine.runtime.folder.deployment import Deployment
from seine.runtime.spark_reading import SparkReading
from seine.spark.offset_log import NO_OFFSET, read_offsets
from seine.spark.source_frames import topics_of
from seine.topics.offset_ranges import Offsets, UnknownTopic, refuse_lost
from seine.topics.topic_client import (
    EARLIEST,
    LATEST,
    Ids,
    KnownTopics,
    TopicClient,
    branch_key,
    kept_ids,
    topic_ids,
)
from seine.typed_json import json_decoder

_NO_ID = "A" * 22  # of a topic from before brokers gave ids


def check_topics(
    deployment: Deployment, reading: SparkReading, seconds: float
) -> dict[SourceBranch, RunError]:
    """What `unreadable_branches` says; notes the ids of topics that are new."""
    ids_now, unreadable = _topics_now(deployment, reading, seconds)
    if ids_now and ids_now != kept_ids(deployment.topics.read()):
        deployment.topics.change(lambda _: msgspec.json.encode(ids_now))
    return unreadable


def unreadable_branches(
    deployment: Deployment, reading: SparkReading, seconds: float
) -> dict[SourceBranch, RunError]:
    """Of the branches whose topics cannot be read, why: a broker may take so many `seconds` to answer.

    A topic is gone, or not the one that was read before, or has lost what is next, or its broker is silent or
    refuses us.
    """
    return _topics_now(deployment, reading, seconds)[1]


def _topics_now(
    deployment: Deployment, reading: SparkReading, seconds: float
) -> tuple[Ids, dict[SourceBranch, RunError]]:
    streams = {one.name: one for one in reading.streams if one.reader and one.reader.format == "kafka"}
    offsets = read_offsets(deployment)
    known, ids_now, unreadable = kept_ids(deployment.topics.read()), Ids(), dict[SourceBranch, RunError]()
    for branch in (branch for branch in reading.branches if branch.stream in streams):
        before, stream = KnownTopics.of(known, branch), streams[branch.stream]
        try:
            ids = _ids(before, stream, reading, offsets.get(branch, NO_OFFSET), seconds)
        except RunError as error:
            ids, unreadable[branch] = before.ids, error
        ids_now[branch_key(branch)] = ids
    return ids_now, unreadable


def _ids(
    before: KnownTopics, stream: StreamDef, reading: SparkReading, offset: str, seconds: float
) -> dict[str, str]:
    """The ids of a stream's topics, without those of topics that have none.

    Refuses topics that are gone, or others by now, or that lack what follows an offset of Spark's log.
    """
    topics = topics_of(stream, reading)
    assert topics is not None
    client = TopicClient(topics.settings, topics.topics, seconds, hosts=topics.hosts)
    try:
        names = client.names()
        ids = topic_ids(topics.settings, names, seconds)
        wanted = names if not topics.topics.pattern else {*names, *before.ids}
        if unknown := sorted(topic for topic in wanted if topic not in ids):
            raise UnknownTopic(unknown[0], stream.name)
        ids = {topic: id_ for topic, id_ in ids.items() if id_ != _NO_ID}
        before.refuse_remade(ids)
        if offset != NO_OFFSET:
            start = json_decoder(Offsets).decode(offset)
            refuse_lost(start, client.offsets(EARLIEST), client.offsets(LATEST))
    finally:
        client.close()
    return ids


_logger = logging.getLogger(__name__)

Ask = Callable[[Collection[SourceBranch]], Mapping[SourceBranch, RunError | None]]
Tell = Callable[[Mapping[SourceBranch, RunError]], None]


class WaitingBranches:
    """Looks at branches in a thread of its own, until one `can_go_on` or nobody wants to know.

    `ask` says of those branches that are still wanted why they cannot be read, or None; `tell` hears what is
    known of those that wait.
    """

    def __init__(self, waiting: Mapping[SourceBranch, RunError], ask: Ask, tell: Tell) -> None:
        self._waiting, self._ask, self._tell = waiting, ask, tell
        self._closed = threading.Event()
        self.can_go_on = False
        tell(waiting)
        if waiting:
            threading.Thread(target=self._look, name="seine-topics", daemon=True).start()

    def close(self) -> None:
        self._closed.set()

    def _look(self) -> None:
        backoff = Backoff(2.0, 30.0)
        while not (self.can_go_on or self._closed.wait(backoff.next_seconds())):
            try:
                answers = self._ask(self._waiting.keys())
            except (SeineError, Py4JError, PySparkException, OSError) as error:
                _logger.warning("topics cannot be looked at: %s", error)
                continue
            if not self._closed.is_set():
                self._tell({branch: error for branch, error in answers.items() if error is not None})
                self.can_go_on = None in answers.values()
        if self.can_go_on:
            _logger.info("a stream that waited can be read again")
