"""Queries over topics are tried on records that the broker gives, judged as tasks judge them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seine.errors import RunError, SeineError
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
from tests.support.paced_rig import records_of_topic

KAFKA = (
    "USING kafka OPTIONS (subscribe 'x', kafka.bootstrap.servers 'h:9092', kafka.sasl.jaas.config '${JAAS}')"
)
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="word";'
RECORDS = [b'{"a": 1, "ts": 5}', b"no json", None, b'{"a": 2, "ts": 3}', b'{"a": 3, "ts": 9}']


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


def _register(service: Service, source: str, clauses: str = "") -> None:
    script = f"CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts LATENESS 2 {clauses} {source};"
    service.registrar.register(script, file="x.sql", folder=f"{service.folder.path}/..")


def test_records_of_topics_are_tried(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def recent(
        reading: TopicReading, seconds: float, most_rows: int, most_bytes: int
    ) -> list[pa.RecordBatch]:
        calls.append((reading, seconds))
        return [records_of_topic(RECORDS)]

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


def _tuples(*rows: tuple[int, int]) -> list[bytes]:
    return [json.dumps({"a": a, "ts": ts}).encode() for a, ts in rows]


LATE = [(1, 9), (2, 6), (3, 7)]  # the second is later than 2, in whatever piece it comes
EARLY = [(4, 1), (5, 2), (6, 9)]  # long before those of the other partition, and none is late


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize(
    ("source", "clauses", "shown"),
    [
        (KAFKA, "", [4, 5, 3, 1, 6]),
        (KAFKA + " WITH (clock = 'largest')", "", [4, 5, 2, 3, 1, 6]),
        (KAFKA + " WITH (key = 'a')", "UNIQUE (a)", [4, 5, 3, 1, 6]),
    ],
)
def test_records_are_judged_as_tasks_judge_them(
    service: Service, monkeypatch: pytest.MonkeyPatch, cut: int, source: str, clauses: str, shown: list[int]
) -> None:
    """By partition, or where the largest clock counts by micro-batch; UNIQUE values bind their partition."""
    late = LATE + [(1, 9)] * bool(clauses)
    pieces = [
        *(records_of_topic(_tuples(*late[at : at + cut]), 0, at) for at in range(0, len(late), cut)),
        *(records_of_topic(_tuples(*EARLY[at : at + cut]), 1, at) for at in range(0, len(EARLY), cut)),
    ]
    monkeypatch.setattr(console_questions, "recent_records", lambda *_: pieces)
    _register(service, source, clauses)
    (stream,) = service.published.view.declared.streams.values()
    (rows,) = console_questions.topic_rows(stream, service.reading)
    assert rows.column("c0").to_pylist() == shown


def test_a_promise_binds_its_partition(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    promise = b'{"@punctuate": {"a": 1}, "ts": 5}'
    first, repeated = _tuples((1, 5)), _tuples((1, 6), (2, 6))
    pieces = [
        records_of_topic([*first, promise]),
        records_of_topic(repeated, 0, 2),
        records_of_topic(first, 1),
    ]
    monkeypatch.setattr(console_questions, "recent_records", lambda *_: pieces)
    _register(service, KAFKA, "PUNCTUATED ON (a)")
    (stream,) = service.published.view.declared.streams.values()
    (rows,) = console_questions.topic_rows(stream, service.reading)
    times = zip(rows.column("c0").to_pylist(), rows.column("c1").to_pylist(), strict=True)
    assert [*times] == [(1, 5), (1, 5), (2, 6)]


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
