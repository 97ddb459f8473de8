"""A service with a topic that cannot be read: its stream waits alone, and goes on if that is possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from seine.spark import topic_identity
from seine.topics.offset_ranges import BrokerSilent
from tests.support.kafka_broker import KafkaBroker
from tests.support.served_streams import COLUMNS, Feeder, Served

pytestmark = [pytest.mark.spark, pytest.mark.long]

_QUERIES = "CREATE QUERY all_s AS SELECT v FROM s; CREATE QUERY all_t AS SELECT v FROM t;\n"


@pytest.fixture
def served(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr("seine.backoff.SECOND", 0.1)
    served = Served(spark, tmp_path)
    yield served
    served.stop()


class Story:
    """Two streams of topics and one of a file, a query of each, and the first rows of all."""

    def __init__(self, served: Served, kafka: KafkaBroker, name: str) -> None:
        self.served, self.kafka = served, kafka
        self.feeder = Feeder(kafka, served.folder)
        self.topics = {stream: f"{name}-{stream}" for stream in "st"}
        self.file = served.folder / "f.jsonl"
        self.file.write_bytes(b"")
        for topic in self.topics.values():
            kafka.create_topic(topic, 2)
        served.register(
            "".join(map(self.declared, "st"))
            + f"CREATE STREAM f {COLUMNS} LATENESS 100 FROM 'f.jsonl'; CREATE QUERY all_f AS SELECT v FROM f;"
            + _QUERIES
        )
        self.feed("s", 6)
        self.feed_others(6)
        served.settle(18)

    def declared(self, stream: str) -> str:
        source = f"kafka://{self.kafka.servers}/{self.topics[stream]}"
        return f"CREATE STREAM {stream} {COLUMNS} LATENESS 100 FROM '{source}';\n"

    def feed(self, stream: str, count: int) -> None:
        self.feeder.topic(stream, self.topics[stream], count)

    def feed_others(self, count: int) -> None:
        """Rows for the stream whose topic is well, and for that of the file."""
        self.feed("t", count)
        with self.file.open("ab") as file:
            file.writelines(line + b"\n" for line in self.feeder.rows("f", count))

    def wait_for_trouble(self, words: str) -> None:
        service = self.served.service
        self.served.wait(lambda: words in service.status()["stream_troubles"].get("s", ""))
        self.served.wait(lambda: service.status()["pipeline_trouble"] is None)
        assert words in str(service.query("all_s")["waits_for"])
        assert not service.query("all_t")["waits_for"]

    def counts(self) -> list[int]:
        return [len(self.served.records(f"all_{stream}")) for stream in "stf"]


def test_a_topic_that_is_gone_fails_alone(served: Served, kafka: KafkaBroker) -> None:
    story = Story(served, kafka, "gone")
    kafka.delete_topic(story.topics["s"])
    story.wait_for_trouble("there is no topic 'gone-s'")
    story.feed_others(6)
    served.settle(30)
    assert story.counts() == [6, 12, 12]
    served.stop()
    served.open()  # a service that starts while the topic is gone
    story.wait_for_trouble("there is no topic 'gone-s', which stream s reads")
    story.feed_others(3)
    served.settle(36)
    kafka.create_topic(story.topics["s"], 2)
    story.wait_for_trouble("topic 'gone-s' of stream s was deleted and made again")
    story.feed("s", 3)
    served.register("DROP QUERY all_s; DROP STREAM s;")
    served.register(story.declared("s") + "CREATE QUERY new_s AS SELECT v FROM s;")
    served.settle(39)
    assert len(served.records("new_s")) == 3
    assert "s" not in served.service.status()["stream_troubles"]


def test_a_topic_that_is_made_again_fails_alone(served: Served, kafka: KafkaBroker) -> None:
    story = Story(served, kafka, "again")
    kafka.delete_topic(story.topics["s"])
    kafka.create_topic(story.topics["s"], 2)
    story.feed("s", 12)  # as many as were read, and more
    story.wait_for_trouble("topic 'again-s' of stream s was deleted and made again")
    story.feed_others(6)
    served.settle(30)
    assert story.counts() == [6, 12, 12]
    served.register("DROP QUERY all_s; DROP STREAM s;")
    served.register(story.declared("s") + "CREATE QUERY new_s AS SELECT v FROM s;")
    served.settle(42)  # another stream, from the beginning of the new topic
    assert len(served.records("new_s")) == 12
    assert "s" not in served.service.status()["stream_troubles"]


@pytest.mark.parametrize("trouble", ["there is no topic 'away-s'", "Kafka does not answer"])
def test_a_topic_that_is_back_is_read_on(
    served: Served, kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    """As after a broker that started does not know all of its topics yet, or one of several is down."""
    story = Story(served, kafka, "away" if "away" in trouble else "silent")
    topic, ask = story.topics["s"], topic_identity.topic_ids
    served.stop()
    _forget_commits(served)
    story.feed("s", 6)

    def without(settings: Mapping[str, str], topics: Sequence[str], seconds: float) -> dict[str, str]:
        if topic not in topics:
            return ask(settings, topics, seconds)
        if "away" in trouble:
            return {}
        raise BrokerSilent("Kafka does not answer: Connection refused")

    with monkeypatch.context() as patched:
        patched.setattr(topic_identity, "topic_ids", without)
        served.open()
        story.wait_for_trouble(trouble)
        story.feed_others(6)
        served.settle(30)
        assert story.counts() == [6, 12, 12]
    served.settle(36)
    served.wait(lambda: "s" not in served.service.status()["stream_troubles"])
    assert story.counts() == [12, 12, 12]


def test_a_topic_that_lost_what_was_next_fails_alone(served: Served, kafka: KafkaBroker) -> None:
    story = Story(served, kafka, "lost")
    served.stop()
    _forget_commits(served)
    story.feed("s", 12)
    kafka.delete_records(story.topics["s"], 0, 5)
    served.open()
    story.wait_for_trouble("partition 0 of topic 'lost-s' begins at offset 5, and 3 was next")
    story.feed_others(6)
    served.settle(30)
    assert story.counts() == [6, 12, 12]


def _forget_commits(served: Served) -> None:
    """As if Spark had been stopped before it noted the micro-batch that we have committed."""
    for note in Path(served.service.deployment.spark, "commits").iterdir():
        note.unlink()
