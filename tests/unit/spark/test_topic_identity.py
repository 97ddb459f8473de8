"""A stream whose topic cannot be read keeps no other from being read, whatever the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from seine.errors import RunError
from seine.frontends.script.parser import parse_script
from seine.intake.spark_feed import SourceBranch
from seine.runtime.folder.deployment import Deployment
from seine.runtime.spark_reading import SparkReading
from seine.spark import topic_identity
from seine.spark.topic_identity import check_topics, unreadable_branches
from seine.storage.local import LocalStore
from seine.storage.log import Register
from seine.topics.offset_ranges import BrokerSilent, UnknownTopic
from seine.topics.topic_client import kept_ids

_SCRIPT = "".join(
    f"CREATE STREAM {name} (a BIGINT, ts BIGINT) TIMESTAMP BY ts"
    f" USING kafka OPTIONS (subscribe '{name}', kafka.bootstrap.servers 'h:9092');"
    for name in ("bids", "sales")
)
_BIDS, _SALES = SourceBranch("bids", 0), SourceBranch("sales", 0)


@pytest.fixture
def reading() -> SparkReading:
    pytest.importorskip("confluent_kafka")
    streams = parse_script(_SCRIPT, file="x.sql", folder=".").declarations.streams
    return SparkReading([*streams.values()], branches=(_BIDS, _SALES))


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made: Any = Mock(Deployment)
    made.topics, made.spark = Register(LocalStore(str(tmp_path)), "topics"), str(tmp_path / "spark")
    return made


def _answering(answers: Mapping[str, str | RunError]) -> Any:
    """A broker that gives the ids of some topics, and refuses others."""

    def ids(settings: object, topics: Collection[str], seconds: float) -> dict[str, str]:
        (topic,) = topics
        answer = answers[topic]
        if isinstance(answer, RunError):
            raise answer
        return {topic: answer}

    return ids


@pytest.mark.parametrize(
    "error",
    [
        UnknownTopic("bids"),
        BrokerSilent("Kafka does not answer"),
        RunError("Kafka: Broker: Topic authorization failed"),
    ],
)
def test_one_that_is_refused_waits_alone(
    reading: SparkReading, deployment: Deployment, monkeypatch: pytest.MonkeyPatch, error: RunError
) -> None:
    monkeypatch.setattr(topic_identity, "topic_ids", _answering({"bids": "id-1", "sales": "id-2"}))
    assert check_topics(deployment, reading, 1.0) == {}
    monkeypatch.setattr(topic_identity, "topic_ids", _answering({"bids": error, "sales": "id-2"}))
    assert check_topics(deployment, reading, 1.0) == {_BIDS: error}
    assert kept_ids(deployment.topics.read()) == {"bids@0": {"bids": "id-1"}, "sales@0": {"sales": "id-2"}}


def test_a_topic_that_was_made_again_is_not_taken_for_the_old_one(
    reading: SparkReading, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_identity, "topic_ids", _answering({"bids": "id-1", "sales": "id-2"}))
    check_topics(deployment, reading, 1.0)
    monkeypatch.setattr(topic_identity, "topic_ids", _answering({"bids": "id-1", "sales": "id-3"}))
    for look in (check_topics, unreadable_branches, check_topics):  # it stays so however often one looks
        unreadable = look(deployment, reading, 1.0)
        assert [*unreadable] == [_SALES] and "made again" in unreadable[_SALES].message
