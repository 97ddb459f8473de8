"""Streams from topics: the answers of files, whatever the partitions; hostile records; what a broker lost."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from seine.errors import RunError, SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import run_local
from seine.spark.spark_host import run_on_spark
from tests.support.kafka_broker import KafkaBroker
from tests.support.paced_rig import read_lines
from tests.support.stateful_script import sorted_file, sorted_records

pytestmark = pytest.mark.spark

QUERIES = """
CREATE QUERY dear AS SELECT b.item AS item, b.price AS price FROM bid b WHERE b.price > 60;
CREATE QUERY pairs AS SELECT b.price AS price, s.shop AS shop FROM bid b, sale s WHERE b.item = s.item;
CREATE QUERY counts AS SELECT item, COUNT(*) AS n, SUM(price) AS total FROM bid GROUP BY item;
"""
DEAR = QUERIES.split("CREATE QUERY pairs")[0]
BID = (
    "CREATE STREAM bid (item BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 3 {source};"
)
SALE = "CREATE STREAM sale (item BIGINT, shop STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 20 {source};"


def _run(
    spark: SparkSession, folder: Path, script: str, **options: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Run a script to its end: records, dead letters, statistics."""
    (folder / "topics.sql").write_text(script, encoding="utf-8")
    out, dead, state = (str(folder / name) for name in ("out.jsonl", "dead.jsonl", "state"))
    run = Run(read_script(str(folder / "topics.sql")), Options(out, dead, state, buckets=2, **options))
    try:
        run_on_spark(spark, run)
        statistics = run.statistics(0.0).document()
    finally:
        run.close()
    return read_lines(Path(out)), read_lines(Path(dead)), statistics


def _bids(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"item": rng.randrange(6), "price": rng.randrange(100), "ts": max(0, i // 4 - rng.randrange(3))}
        for i in range(count)
    ]


SALE_SCHEMA = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "item", "type": ["null", "int"]},
        {"name": "shop", "type": {"type": "enum", "name": "Shop", "symbols": ["a", "b", "c"]}},
        {"name": "ts", "type": "long"},
    ],
}


def _avro(row: dict[str, Any]) -> bytes:
    """A record of schema 17 of a registry."""
    record = io.BytesIO()
    fastavro.schemaless_writer(record, fastavro.parse_schema(SALE_SCHEMA), row)
    return b"\0\0\0\0\x11" + record.getvalue()


@pytest.mark.parametrize(
    "partitions", [2, pytest.param(1, marks=pytest.mark.long), pytest.param(8, marks=pytest.mark.long)]
)
def test_answers_are_those_of_files(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, partitions: int
) -> None:
    """Of several partitions one topic has Avro records, some of them broken."""
    rng = random.Random(partitions)
    bids = _bids(rng, 120)
    sales = [{"item": rng.randrange(6), "shop": rng.choice("abc"), "ts": i // 2} for i in range(60)]
    for name, rows in (("bid", bids), ("sale", sales)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        kafka.create_topic(f"{name}-{partitions}", partitions)
        avro = partitions > 1 and name == "sale"
        records = [
            (rng.randrange(partitions), _avro(row) if avro else json.dumps(row).encode()) for row in rows
        ]
        if avro:
            records[:0] = [(1, b"{}"), (1, _avro(rows[0])[:-1])]
        kafka.send(f"{name}-{partitions}", records)
    in_files = BID.format(source="FROM 'bid.jsonl'") + SALE.format(source="FROM 'sale.jsonl'") + QUERIES
    (tmp_path / "files.sql").write_text(in_files)
    expected = run_local(str(tmp_path / "files.sql"))
    assert expected.dead == []
    short = f"FROM 'kafka://{kafka.servers}/bid-{partitions}'"
    chosen = {
        1: "subscribe 'sale-1'",
        2: """assign '{"sale-2": [0, 1]}'""",
        8: "subscribePattern '[s]ale-8'",
    }
    long = f"USING kafka OPTIONS ({chosen[partitions]}, kafka.bootstrap.servers '{kafka.servers}')"
    (tmp_path / "sale.avsc").write_text(json.dumps(SALE_SCHEMA))
    read_avro = " FORMAT AVRO WITH (schema = 'sale.avsc', schema_id = '17')"
    sale = SALE.format(source=long + (read_avro if partitions > 1 else ""))
    # a clock waits for the slowest partition: it refuses nobody, however topics are cut into micro-batches
    script = BID.format(source=short) + sale + QUERIES
    records, dead, statistics = _run(spark, tmp_path, script, batch_rows=50 if partitions == 2 else None)
    places = [(letter["topic"], letter["partition"], letter["offset"]) for letter in dead]
    broken = [(f"sale-{partitions}", 1, offset) for offset in (0, 1)] if partitions > 1 else []
    assert places == broken
    assert {letter["record"] for letter in dead} <= {b"{}".hex(), _avro(sales[0])[:-1].hex()}
    assert statistics["input_rows"] == 180 + len(broken)
    assert sorted_records(records) == sorted_records(expected.records) != []


@pytest.mark.long
def test_hostile_records_and_a_place_to_start(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    kafka.create_topic("hostile", 2)
    early = json.dumps({"item": 1, "price": 99, "ts": 1}).encode()
    kafka.send("hostile", [(0, early), (1, early)], at=1_000_000)
    good = json.dumps({"item": 1, "price": 70, "ts": 5}).encode()
    huge = json.dumps({"item": 1, "price": 70, "ts": 5, "note": "x" * (17 << 20)}).encode()
    bad = [None, b"\x80\x81\x00", b'{"item": 1.5, "ts": 1}', b'{"ts": 5, "who": 1}', huge]
    kafka.send("hostile", [(1, record) for record in bad] + [(0, good)], at=2_000_000)
    source = f"FROM 'kafka://{kafka.servers}/hostile' WITH (start = '1970-01-01T00:30:00Z')"
    script = BID.format(source=source) + DEAR
    records, dead, _ = _run(spark, tmp_path, script)
    assert [record["row"]["price"] for record in records] == [70]
    places = [(letter["topic"], letter["partition"], letter["offset"]) for letter in dead]
    assert sorted(places) == [("hostile", 1, offset) for offset in range(1, 6)]
    reasons = {letter["offset"]: letter["reason"] for letter in dead}
    assert "tombstone" in reasons[1] and "longer than" in reasons[5]


def _stoppable(spark: SparkSession, folder: Path, source: str) -> Callable[[int], None]:
    """Runs a script over a topic, each time from where it was, until so many records are read."""
    script = folder / "short.sql"
    script.write_text(BID.format(source=source) + DEAR, encoding="utf-8")

    def run_until(count: int) -> None:
        def stop(sink: Any) -> None:
            if sink.totals.input_rows >= count:
                run.driver.stop()

        options = Options(
            str(folder / "out.jsonl"), None, str(folder / "state"), follow=True, progress=stop, batch_rows=4
        )
        run = Run(read_script(str(script)), options)
        try:
            run_on_spark(spark, run)
        finally:
            run.close()

    return run_until


def _dear(count: int) -> list[tuple[int, bytes]]:
    return [(0, json.dumps({"item": 1, "price": 70 + i, "ts": i}).encode()) for i in range(count)]


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 8])
def test_a_topic_that_was_made_again_is_another(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, count: int
) -> None:
    """Whether it has fewer records than were read of the old one, or more."""
    name = f"again-{count}"
    kafka.create_topic(name, 1)
    kafka.send(name, _dear(3))
    run_until = _stoppable(spark, tmp_path, f"FROM 'kafka://{kafka.servers}/{name}'")
    run_until(3)
    kafka.delete_topic(name)
    kafka.create_topic(name, 1)
    kafka.send(name, _dear(count))
    with pytest.raises(RunError, match=f"topic '{name}' of stream bid was deleted and made again"):
        run_until(4)
    assert len(sorted_file(tmp_path / "out.jsonl")) == 3


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 8])
def test_a_topic_that_is_made_again_under_a_run_is_told(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, count: int
) -> None:
    """No record of the new topic is taken for one of the old, whether it has fewer or more of them."""
    name = f"under-run-{count}"
    kafka.create_topic(name, 1)
    kafka.send(name, _dear(3))
    script = tmp_path / "under.sql"
    script.write_text(BID.format(source=f"FROM 'kafka://{kafka.servers}/{name}'") + DEAR, encoding="utf-8")

    def make_again(sink: Any) -> None:
        if sink.totals.input_rows == 3:  # the run waits for us, and for records
            kafka.delete_topic(name)
            kafka.create_topic(name, 1)
            kafka.send(name, _dear(count))

    out, state = str(tmp_path / "out.jsonl"), str(tmp_path / "state")
    run = Run(read_script(str(script)), Options(out, None, state, follow=True, progress=make_again))
    try:
        with pytest.raises(RunError, match=f"topic '{name}' of stream bid was deleted and made again"):
            run_on_spark(spark, run)
    finally:
        run.close()
    assert len(sorted_file(tmp_path / "out.jsonl")) == 3


@pytest.mark.long
def test_records_that_were_deleted_unread_are_told_in_one_line(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    kafka.create_topic("short", 1)
    kafka.send("short", _dear(80))
    run_until = _stoppable(spark, tmp_path, f"FROM 'kafka://{kafka.servers}/short'")
    run_until(3)
    kafka.delete_records("short", 0, 79)
    before = sorted_file(tmp_path / "out.jsonl")
    lost = r"Kafka does not have all that was to be read: .*topic 'short'"
    with pytest.raises(RunError, match=lost) as failed:
        run_until(80)

    assert "\n" not in failed.value.message
    assert sorted_file(tmp_path / "out.jsonl") == before != []


def test_a_topic_that_does_not_exist_is_refused(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    with pytest.raises(RunError, match="there is no topic 'nowhere', which stream bid reads"):
        _run(spark, tmp_path, BID.format(source=f"FROM 'kafka://{kafka.servers}/nowhere'") + DEAR)


def test_a_format_that_spark_does_not_have_is_refused_in_one_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    script = BID.format(source="USING pulsar OPTIONS (topic 'x')") + DEAR
    with pytest.raises(SeineError, match="it has no format 'pulsar'"):
        _run(spark, tmp_path, script)
