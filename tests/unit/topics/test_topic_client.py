"""Questions to brokers: one that is not there is told in one line, after a while. Answers: tests/spark."""

from __future__ import annotations

import pytest

from seine.errors import RunError
from seine.topics.offset_ranges import BrokerSilent
from seine.topics.topic_client import LATEST, TopicClient, topic_ids
from seine.topics.topic_records import ChosenTopics

_NOBODY = {"bootstrap.servers": "127.0.0.1:1"}


def test_a_broker_that_is_not_there() -> None:
    client = TopicClient(_NOBODY, ChosenTopics(("t",)), seconds=0.3)
    with pytest.raises(BrokerSilent, match=r"Kafka does not answer: .*Connection refused"):
        client.offsets(LATEST)
    client.close()
    with pytest.raises(RunError, match="Kafka does not answer: "):
        topic_ids(_NOBODY, ["t"], seconds=0.3)


def test_settings_that_make_no_sense_are_refused_in_one_line() -> None:
    with pytest.raises(RunError, match=r"Kafka: .*isolation.level"):
        TopicClient({"isolation.level": "any"}, ChosenTopics(("t",)))
