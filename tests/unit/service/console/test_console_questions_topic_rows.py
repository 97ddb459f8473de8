"""Queries over topics are tried on records that the broker gives, judged as tasks judge them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seine.errors import RunError, SeineError
from seine.intake.arrived_records import PLACE, VALUE
from seine.runtime.option_secrets import OptionSecrets
from seine.service.access.principal import LOCAL
from seine.service.console import console_questions
from seine.service.console.console_answers import TrialAnswer
from seine.service.console.console_questions import ConsoleQuestions
from seine.service.folder import ServiceFolder
from seine.service.recent_rows import RECENT_SECONDS
from seine.service.service import Service, ServiceOptions
from seine.topics.topic_records import TopicReading
from tests.support.everywhere import EVERYWHERE

KAFKA = (
    "USING kafka OPTIONS (subscribe 'x', kafka.bootstrap.servers 'h:9092', kafka.sasl.jaas.config '${JAAS}')"
)
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="word";'
RECORDS = [b'{"a": 1, "ts": 5}', b"no json", None, b'{"a": 2, "ts": 1}', b'{"a": 3, "ts": 9}']


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    secrets = OptionSecrets({"JAAS": JAAS}, environment=False)
    options = ServiceOptions(secrets=secrets, reach=EVERYWHERE)
    service = Service(ServiceFolder(str(tmp_path / "state")), options)
    service.reading.door.lend(lambda stream: None)
    yield service
    service.close()


def _tried(service: Service, script: str) -> TrialAnswer:
    console = ConsoleQuestions(service)
    try:
        tried = console.try_out(LOCAL, script, service.folder.path, replace=False)
    finally:
        console.close()
    answer: TrialAnswer = json.loads(tried.to_json())
    return answer


def _register(service: Service, source: str) -> None:
    script = f"CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts LATENESS 2 {source};"
    service.registrar.register(script, file="x.sql", folder=f"{service.folder.path}/..")


def test_records_of_topics_are_tried(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def recent(
        reading: TopicReading, seconds: float, most_rows: int, most_bytes: int
    ) -> list[pa.RecordBatch]:
        calls.append((reading, seconds))
        columns = {VALUE: pa.array(RECORDS, pa.binary()), PLACE: pa.array([*range(5)], pa.int64())}
        return [pa.RecordBatch.from_pydict(columns)]

    monkeypatch.setattr(console_questions, "recent_records", recent)
    _register(service, KAFKA)
    tried = _tried(
        service, "CREATE QUERY q AS SELECT a FROM s; CREATE QUERY n AS SELECT COUNT(*) AS n FROM s;"
    )
    ((reading, seconds),) = {one[0].topics.names: one for one in calls}.values()
    assert (reading.topics.names, seconds) == (("x",), RECENT_SECONDS)
    assert reading.settings["bootstrap.servers"] == "h:9092" and reading.settings["sasl.password"] == "word"
    assert tried["rows"] == {"s": 3}
    assert [one["row"]["a"] for one in tried["records"] if one["query"] == "q"] == [2, 1, 3]
    assert "word" not in str(tried)


def test_other_sources_of_spark_are_refused_in_a_line(service: Service, tmp_path: Path) -> None:
    (tmp_path / "lines").mkdir()
    _register(service, "USING json OPTIONS (path 'lines')")
    with pytest.raises(SeineError, match="the rows of stream s go through Spark's tasks alone"):
        _tried(service, "CREATE QUERY q AS SELECT a FROM s;")


def test_the_words_of_a_broker_show_no_secret(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(reading: TopicReading, *_: object) -> list[pa.RecordBatch]:
        raise RunError(f"Kafka: cannot log in by {JAAS}", hint="look")

    monkeypatch.setattr(console_questions, "recent_records", refuse)
    _register(service, KAFKA)
    with pytest.raises(RunError, match="Kafka: cannot log in by") as refusal:
        _tried(service, "CREATE QUERY q AS SELECT a FROM s;")
    assert "word" not in refusal.value.render() and refusal.value.hint == "look"
