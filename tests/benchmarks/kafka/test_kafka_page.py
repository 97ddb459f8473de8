"""The benchmark of topics: the same records everywhere, scripts that run, figures that are what they say."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from benchmarks.__main__ import PARTS
from benchmarks.harness.kafka_broker import kafka_jars
from benchmarks.sides.latencies import Latencies
from benchmarks.workloads.topic_streams import from_files, join_script, keyed_records, window_of

from benchmarks.kafka import kafka_page
from seine.errors import RunError, SeineError
from seine.run_local import run_local


def test_parts_are_those_of_the_command() -> None:
    names = tuple(part for part, _, _ in kafka_page.PARTS)
    assert names == PARTS["kafka"] == tuple(kafka_page.FULL) == tuple(kafka_page.QUICK)
    for part, text, _ in kafka_page.PARTS:
        assert text.format(**kafka_page.FULL[part])


def test_many_queries_report_what_one_does(tmp_path: Path) -> None:
    for seed, name in enumerate(("left", "right")):
        (tmp_path / f"{name}.jsonl").write_bytes(b"\n".join(keyed_records(seed, 0, 300, 600)) + b"\n")
    rows = []
    for queries in (1, 7):
        script = tmp_path / f"join{queries}.sql"
        script.write_text(join_script(from_files(str(tmp_path)), window_of(300), queries), encoding="utf-8")
        rows.append(sorted(json.dumps(record["row"]) for record in run_local(str(script)).records))
    assert rows[0] == rows[1] != []


def test_latency_is_since_the_later_record_and_without_the_first_seconds() -> None:
    sent = int(time.time() * 1e6)
    latencies = Latencies(warm=-1.0)
    texts = [{"row": {"ls": sent - 9_000_000, "rs": sent}}, {"ls": sent - 9_000_000, "rs": sent - 8_000_000}]
    latencies.take([json.dumps(text).encode() for text in texts], "ls", "rs")
    figures = latencies.figures()
    assert figures.results == 1 and 0 <= figures.median < 8
    with pytest.raises(RunError, match="no result"):
        Latencies(warm=60.0).figures()


def test_without_jars_it_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEINE_TEST_KAFKA", str(tmp_path))
    with pytest.raises(SeineError, match="no Kafka to start") as caught:
        kafka_jars()
    assert "scripts/find_kafka" in str(caught.value.hint)
