"""Which streams are read by tasks of our own, and how; all others are left to Spark's connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.algebra.definitions import StreamDef
from seine.frontends.script.parser import read_script
from seine.topics.client_settings import OFFSETS_AT_ONCE, streamed_topics
from seine.topics.topic_client import EARLIEST, LATEST
from seine.topics.topic_records import RecordColumns, TopicReading

TOPIC = "USING kafka OPTIONS ({option}, kafka.bootstrap.servers 'b:9092') {more}"


def _stream(folder: Path, option: str = "subscribe 'bids'", more: str = "") -> StreamDef:
    source = TOPIC.format(option=option, more=more)
    text = f"CREATE STREAM bid (item BIGINT, ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL '1' DAY {source};"
    (folder / "bid.sql").write_text(text, encoding="utf-8")
    return read_script(str(folder / "bid.sql")).declarations.streams["bid"]


def _reading(stream: StreamDef, batch_rows: int | None = None) -> TopicReading | None:
    assert stream.reader is not None
    return streamed_topics(stream, dict(stream.reader.options), batch_rows, born=4)


def test_a_stream_becomes_what_its_tasks_must_know(tmp_path: Path) -> None:
    reading = _reading(_stream(tmp_path, more="WITH (start = 'latest', ahead = INTERVAL '1' HOUR)"))
    assert reading is not None
    assert (reading.branch.stream, reading.branch.born) == ("bid", 4)
    assert reading.settings == {"bootstrap.servers": "b:9092"}
    assert (reading.topics, reading.first, reading.most) == (("bids",), LATEST, OFFSETS_AT_ONCE)
    assert reading.columns == RecordColumns(topic=False, time=True)
    assert TopicReading.unpacked(reading.packed()) == reading


def test_many_topics_and_limits(tmp_path: Path) -> None:
    stream = _stream(tmp_path, "subscribe 'b, a,b', maxOffsetsPerTrigger '7'", "WITH (ahead = 'none')")
    reading = _reading(stream, 50)
    assert reading is not None
    assert (reading.topics, reading.first, reading.most) == (("a", "b"), EARLIEST, 7)
    assert reading.columns == RecordColumns(topic=True)
    plain = _reading(_stream(tmp_path), 50)
    assert plain is not None and plain.most == 50


@pytest.mark.parametrize("option", ["subscribePattern 'b.*'", "subscribe 'bids', minPartitions '4'"])
def test_what_a_client_does_not_have_is_left_to_the_connector(tmp_path: Path, option: str) -> None:
    assert _reading(_stream(tmp_path, option)) is None


def test_without_a_client_the_connector_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.topics.client_settings.client_is_here", lambda: False)
    assert _reading(_stream(tmp_path)) is None
