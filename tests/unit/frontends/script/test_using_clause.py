"""USING format OPTIONS (...): what it declares, and what is refused."""

from __future__ import annotations

import pytest

from seine.algebra.definitions import SparkReader
from seine.algebra.serialise import stream_from_json, stream_to_json
from tests.support.front_end import parse, refusal

KAFKA = "USING kafka OPTIONS (subscribe 'bids', kafka.bootstrap.servers 'h:9092')"
STREAM = "CREATE STREAM s (a BIGINT, doc XML, ts BIGINT) TIMESTAMP BY ts {};"


def _stream(clauses: str):
    return parse(STREAM.format(clauses)).declarations.streams["s"]


def test_a_topic() -> None:
    stream = _stream(
        f"WINDOW 5 {KAFKA} FORMAT CSV WITH (clock = 'partition', start = 'latest', delimiter = ';')"
    )
    assert stream.source is not None and stream.window == 5
    options = (("subscribe", "bids"), ("kafka.bootstrap.servers", "h:9092"))
    assert stream.reader == SparkReader("kafka", options)
    assert (stream.source.path, stream.source.format, stream.by_partition) == ("", "CSV", True)
    assert stream_from_json(stream_to_json(stream)) == stream


def test_the_clock_of_a_topic() -> None:
    assert _stream(KAFKA).patience == 30_000_000
    largest = _stream(f"{KAFKA} WITH (clock = 'largest', idle = INTERVAL '5' SECOND)")
    assert not largest.by_partition and largest.patience == 5_000_000
    by_value = _stream(f"{KAFKA} WITH (clock = 'a')")
    assert by_value.by_partition and by_value.clock_column == 0
    other = _stream("USING json OPTIONS (path 'x') WITH (clock = 'a')")
    assert not other.by_partition and other.clock_column == 0 and other.patience is None


def test_equal_keys_share_a_partition() -> None:
    (scheme,) = _stream(f"UNIQUE (a) {KAFKA} WITH (key = 'a')").schemes
    assert scheme.unique


def test_a_url_is_short_for_a_topic() -> None:
    short, long = _stream("FROM 'kafka://h:9092/bids'"), _stream(KAFKA)
    assert short.reader is not None and long.reader is not None
    assert sorted(short.reader.options) == sorted(long.reader.options)


def test_any_format_with_its_options_as_they_are_written() -> None:
    reader = _stream("USING 'rate-micro-batch' OPTIONS (rowsPerBatch = '5', 'startTimestamp' '0')").reader
    assert reader == SparkReader("rate-micro-batch", (("rowsPerBatch", "5"), ("startTimestamp", "0")))
    assert reader.option("ROWSPERBATCH") == "5"


def test_a_relative_path_counts_from_the_folder_of_the_script() -> None:
    stream = _stream("USING json OPTIONS (path 'in')")
    assert stream.reader is not None and stream.reader.option("path") == "/data/in"
    assert stream.source is not None and stream.source.format == "JSON"


def test_a_secret_is_only_named() -> None:
    jaas = """'M required username="u" password="${WORD}";'"""
    reader = _stream(KAFKA.replace("(", f"(kafka.sasl.jaas.config {jaas}, ")).reader
    assert reader is not None and "${WORD}" in str(reader.option("kafka.sasl.jaas.config"))


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        (KAFKA.replace("'bids'", "'bids', kafka.ssl.key.password 'abc'"), "secret in the script"),
        (KAFKA.replace("'bids'", "'bids', kafka.sasl.jaas.config 'M password=abc;'"), "secret in the script"),
        ("FROM 'kafka://me:pw@h:9092/bids'", "no user, password"),
        ("FROM 'kafka://h:9092'", "no URL of a topic"),
        ("FROM 's.jsonl' USING json OPTIONS (path 'x')", "both say where"),
        ("USING socket OPTIONS (host 'h', port '1')", "cannot be read USING socket"),
        ("USING kafka OPTIONS (subscribe 'bids')", "kafka.bootstrap.servers"),
        ("USING kafka OPTIONS (kafka.bootstrap.servers 'h:1')", "one of subscribe"),
        (KAFKA.replace("'bids'", "'bids', failOnDataLoss 'false'"), "failOnDataLoss is not for here"),
        (KAFKA.replace("'bids'", "'bids', startingOffsets 'latest'"), "startingOffsets is not for here"),
        (KAFKA.replace("'bids'", "'bids', Subscribe 'x'"), "given twice"),
        ("USING parquet OPTIONS (path 'x') FORMAT JSON", "FORMAT JSON is not for USING parquet"),
        ("USING json OPTIONS (path 'x') FORMAT CSV", "is of FORMAT JSON"),
        ("USING csv OPTIONS (path 'x', header 'true')", "without a header line"),
        (KAFKA + " FORMAT PARQUET", "FORMAT PARQUET is not for USING kafka"),
        (KAFKA + " WITH (clock = 'device')", "clock names a column of the stream, or 'partition'"),
        ("USING json OPTIONS (path 'x') WITH (clock = 'partition')", "clock names a column"),
        ("USING json OPTIONS (path 'x') WITH (start = 'latest')", "start is for kafka"),
        (KAFKA + " WITH (start = 'yesterday')", "no place to start at"),
        (KAFKA + " WITH (header = 'true')", "has no option header"),
        ("FROM 's.jsonl' WITH (clock = 'a')", "clock is for a stream that Spark reads"),
        (f"UNIQUE (a) {KAFKA}", "UNIQUE needs one reader"),
        (f"UNIQUE (a) {KAFKA} WITH (key = 'a, ts')", "UNIQUE needs one reader"),
        (f"UNIQUE (a) {KAFKA} WITH (key = 'a', clock = 'largest')", "UNIQUE needs one reader"),
        (KAFKA + " WITH (key = 'b')", "key names columns of the stream, not 'b'"),
        ("USING json OPTIONS (path 'x') WITH (key = 'a')", "key is for kafka, not for json"),
    ],
)
def test_refusals(clauses: str, message: str) -> None:
    assert message in str(refusal(STREAM.format(clauses)))


def test_a_relation_is_not_read_by_spark() -> None:
    text = "CREATE RELATION r (a BIGINT) USING json OPTIONS (path 'x');"
    assert "a relation cannot be read USING" in str(refusal(text))
