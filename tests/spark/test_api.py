"""Seine inside a program that has a SparkSession: DataFrames in, records out."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

import seine
from seine.algebra.aggregates import unregister
from seine.errors import RunError, SeineError
from seine.run_local import run_local
from seine.spark.running import Running, RunningStatus
from tests.support.sink_rig import folder_lines
from tests.support.stateful_script import sorted_file, sorted_records

pytestmark = pytest.mark.spark

BIDS = "item BIGINT, price DOUBLE, Ts BIGINT"
WINDOW = 20


@pytest.fixture
def registered() -> Iterator[list[type[seine.Aggregate]]]:
    """Two aggregates, defined here so that workers get them by value: one works, one raises."""

    class GeometricMean(seine.Aggregate):
        name = "geometric_mean"
        parts = {"logs": ("sum", np.log), "n": ("count", None)}  # noqa: RUF012

        def finish(self, logs: np.ndarray, n: np.ndarray) -> np.ndarray:  # type: ignore[override]
            return np.exp(logs / n)

    class Broken(seine.Aggregate):
        name = "broken"
        parts = {"n": ("count", None)}  # noqa: RUF012

        def finish(self, n: np.ndarray) -> np.ndarray:  # type: ignore[override]
            raise ZeroDivisionError("no such luck")

    yield [GeometricMean, Broken]
    for aggregate in (GeometricMean, Broken):
        unregister(aggregate.name)


def bids_of(seed: int, count: int = 60) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [{"item": rng.randrange(5), "price": rng.randrange(1, 40) / 2, "Ts": i} for i in range(count)]


def streaming(spark: SparkSession, folder: Path, rows: list[dict[str, Any]], schema: str = BIDS) -> DataFrame:
    """A streaming DataFrame that reads the rows from three files, one a micro-batch."""
    folder.mkdir()
    size = -(-len(rows) // 3) or 1
    for number, first in enumerate(range(0, len(rows), size)):
        path = folder / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[first : first + size]))
        os.utime(path, (1000 + number, 1000 + number))
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def collected(frame: DataFrame, name: str, folder: Path) -> list[dict[str, Any]]:
    """All that a streaming DataFrame has now."""
    writer = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    writer.option("checkpointLocation", str(folder)).start().awaitTermination()
    return [row.asDict() for row in frame.sparkSession.table(name).collect()]


def net(records: list[dict[str, Any]], query: str) -> list[str]:
    """What a changelog comes to, its doubles to twelve digits."""
    left: list[str] = []
    for record in records:
        if record["query"] == query:
            row = {k: float(f"{v:.12g}") if isinstance(v, float) else v for k, v in record["row"].items()}
            text = json.dumps(row, sort_keys=True)
            left.append(text) if record["op"] == "+" else left.remove(text)
    return sorted(left)


def test_streaming_frames_in_and_out(
    spark: SparkSession, tmp_path: Path, registered: list[type[seine.Aggregate]]
) -> None:
    bids = bids_of(1)
    items = [(0, "zero"), (2, "two"), (3, "three")]
    engine = seine.Engine(spark)
    for aggregate in registered:
        engine.aggregate(aggregate)
    engine.stream("Bid", streaming(spark, tmp_path / "bids", bids), timestamp="ts", window=WINDOW)
    engine.relation("item", spark.createDataFrame(items, "item BIGINT, name STRING"))
    engine.register(
        "CREATE QUERY named AS SELECT i.name AS name, b.price AS price FROM bid b, item i"
        "  WHERE b.item = i.item;"
        "CREATE QUERY means AS SELECT item, geometric_mean(price) AS mean FROM bid GROUP BY item;"
        "CREATE QUERY wrong AS SELECT item, broken(price) AS nothing FROM bid GROUP BY item;"
    )
    before = spark.conf.getAll
    running = engine.start(dead_letter=str(tmp_path / "dead.jsonl"), available_now=True)
    frame = running.results()
    assert frame.isStreaming and frame.columns == ["query", "op", "t_start", "t_end", "row"]
    assert running.wait(240)
    assert spark.conf.getAll == before, "the user's settings are the user's"
    rows = collected(frame, "named", tmp_path / "named")
    records = [{**row, "row": json.loads(row["row"])} for row in rows]

    answers = sorted(
        (r["t_start"], r["t_end"], r["row"]["name"], r["row"]["price"])
        for r in records
        if r["query"] == "named"
    )
    names = dict(items)
    expected = [
        (str(b["Ts"]), str(b["Ts"] + WINDOW), names[b["item"]], b["price"])
        for b in bids
        if b["item"] in names
    ]
    assert answers == sorted(expected) != []

    alive: dict[int, list[float]] = {}
    for bid in bids:
        if bid["Ts"] > bids[-1]["Ts"] - WINDOW:
            alive.setdefault(bid["item"], []).append(bid["price"])
    means = {item: math.exp(sum(map(math.log, prices)) / len(prices)) for item, prices in alive.items()}
    lines = [json.dumps({"item": i, "mean": float(f"{m:.12g}")}, sort_keys=True) for i, m in means.items()]
    assert net(records, "means") == sorted(lines) != []
    typed = running.results("NAMED")
    assert (
        typed.isStreaming
        and typed.schema["row"].dataType.simpleString() == "struct<name:string,price:double>"
    )
    typed_rows = [
        (r["t_start"], r["t_end"], *r["row"]) for r in collected(typed, "typed", tmp_path / "typed")
    ]
    assert sorted(typed_rows) == sorted((int(s), int(e), name, price) for s, e, name, price in expected)
    with pytest.raises(SeineError, match="no query nobody"):
        running.results("nobody")
    assert {json.dumps(r["row"]["nothing"]) for r in records if r["query"] == "wrong"} == {"null"}
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    assert {"reason": "broken: ZeroDivisionError: no such luck"} in letters
    assert running.statistics["input_rows"] == len(bids) and running.statistics["output_rows"] == len(records)


@pytest.mark.long
def test_frames_punctuate_and_relations_have_intervals(spark: SparkSession, tmp_path: Path) -> None:
    """Streams without windows: safe by punctuations of marked rows, which free what was held."""
    schema = "item BIGINT, price BIGINT, ts BIGINT, `@punctuate` STRING"
    frames = {}
    for name in ("bid", "sale"):
        rows = [
            {"item": time // 3, "price": time, "ts": time}
            if time % 3 < 2
            else {"item": time // 3, "ts": time, "@punctuate": "item"}
            for time in range(90)
        ]
        frames[name] = streaming(spark, tmp_path / name, rows, schema)
    engine = seine.Engine(spark)
    for name, frame in frames.items():
        engine.stream(name, frame, timestamp="ts", punctuated_on=["item"])
    taxes = [(7, 0, 30), (8, 30, None)]
    relation = spark.createDataFrame(taxes, "tax BIGINT, since BIGINT, until BIGINT")
    engine.relation("tax", relation, valid=("since", "until"))
    engine.register(
        "CREATE QUERY pairs AS SELECT b.ts AS p, s.ts AS q FROM bid b, sale s WHERE b.item = s.item;"
        "CREATE QUERY taxed AS SELECT b.ts AS p, t.tax AS tax FROM bid b, tax t;"
    )
    with pytest.raises(SeineError, match="nothing purges"):
        engine.register("CREATE QUERY bad AS SELECT b.ts FROM bid b, sale s WHERE b.price = s.price;")
    records: list[dict[str, Any]] = []
    running = engine.start(records.append, available_now=True)
    assert running.wait(240)
    pairs = {(r["row"]["p"], r["row"]["q"]) for r in records if r["query"] == "pairs"}
    alive = [time for time in range(90) if time % 3 < 2]
    assert pairs == {(p, q) for p in alive for q in alive if p // 3 == q // 3} != set()
    taxed = {(r["row"]["p"], r["row"]["tax"]) for r in records if r["query"] == "taxed"}
    assert taxed == {(p, 7 if p < 30 else 8) for p in alive}
    assert running.statistics["queries"]["pairs"]["state_rows_peak"] < len(alive)


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"punctuated_on": ["nobody"]}, "has no column 'nobody'"),
        ({"punctuated_on": [("item", "item")]}, "each once"),
        ({"punctuated_on": ["item", ("item",)]}, "not those of another"),
    ],
)
def test_wrong_schemes_are_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    engine = seine.Engine(spark)
    with pytest.raises(SeineError, match=message):
        engine.stream("bid", streaming(spark, tmp_path / "b", bids_of(1)), timestamp="ts", **options)


def ticks(spark: SparkSession) -> DataFrame:
    """Ten rows more in each micro-batch, numbered from 0."""
    rate = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10)
    return rate.option("numPartitions", 1).option("startTimestamp", 1_000_000).load()


def test_a_callback_gets_records_until_the_input_is_ended(spark: SparkSession) -> None:
    engine = seine.Engine(spark)
    engine.stream("tick", ticks(spark), timestamp="timestamp", window=dt.timedelta(seconds=3))
    engine.register("CREATE QUERY even AS SELECT value FROM tick WHERE value % 2 = 0")
    records: list[dict[str, Any]] = []
    running = engine.start(records.append)
    while not records and not running.wait(0.2):
        pass
    running.end_input()
    values = sorted(record["row"]["value"] for record in records)
    assert values == list(range(0, 2 * len(values), 2)) != []
    assert records[0]["t_start"] == "1970-01-01T00:16:40Z" and records[0]["t_end"] == "1970-01-01T00:16:43Z"
    with pytest.raises(SeineError, match="go elsewhere"):
        running.results()


@pytest.mark.long
def test_a_stopped_run_goes_on_until_its_input_is_ended(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    def declared() -> seine.Engine:
        engine = seine.Engine(spark, str(tmp_path / "engine"))
        engine.stream("tick", ticks(spark), timestamp="timestamp", window=dt.timedelta(seconds=3))
        engine.register("CREATE QUERY every AS SELECT value FROM tick")
        return engine

    def values() -> list[int]:
        return [json.loads(line)["row"]["value"] for line in out.read_text().splitlines()]

    lengths = [0]
    for _ in range(2):
        running = declared().start(out=str(out))
        while len(values()) == lengths[-1] and not running.wait(0.2):
            pass
        running.stop()
        lengths.append(len(values()))
    running = declared().start(out=str(out))
    running.end_input()
    lengths.append(len(values()))
    assert lengths == sorted(lengths) and 0 < lengths[1] < lengths[2]
    assert sorted(values()) == list(range(lengths[-1]))
    with pytest.raises(SeineError, match="the input of this checkpoint has ended"):
        declared().start(out=str(out))


@pytest.mark.long
def test_a_program_that_failed_goes_on_with_the_same_folder(spark: SparkSession, tmp_path: Path) -> None:
    bids = bids_of(2, 30)
    frame = streaming(spark, tmp_path / "bids", bids)
    taken: list[float] = []

    def declared() -> seine.Engine:
        engine = seine.Engine(spark, str(tmp_path / "engine"))
        engine.stream("bid", frame, timestamp="Ts", window=WINDOW, lateness=1)
        engine.register("CREATE QUERY all_of_them AS SELECT price, ts FROM bid")
        return engine

    def fail(record: dict[str, Any]) -> None:
        raise OSError("the line is down")

    with pytest.raises(RunError, match="the callback failed: OSError: the line is down"):
        declared().start(fail, available_now=True).wait(240)
    assert declared().start(lambda record: taken.append(record["row"]["price"]), available_now=True).wait(240)
    assert sorted(taken) == sorted(bid["price"] for bid in bids) != []


@pytest.mark.long
@pytest.mark.parametrize("partitions", [2, 8])
def test_partitions_side_by_side_lose_nothing(
    spark: SparkSession, tmp_path: Path, partitions: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A micro-batch in many partitions has its rows in no order; only one row comes late, and is missed."""
    bids = bids_of(4, 90)
    late = {"item": 1, "price": 1.5, "Ts": 0}
    frame = streaming(spark, tmp_path / "bids", [*bids, late]).repartition(partitions)
    queries = (
        "CREATE QUERY pairs AS SELECT a.price AS x, b.price AS y FROM bid a, bid b"
        "  WHERE a.item = b.item AND a.ts < b.ts;"
        "CREATE QUERY dear AS SELECT item, price FROM bid WHERE price > 10;"
    )
    engine = seine.Engine(spark)
    engine.stream("bid", frame, timestamp="ts", window=WINDOW)
    engine.register(f"{queries} CREATE SINK alerts FROM dear, pairs INTO '{tmp_path}/alerts';")
    out = tmp_path / "out.jsonl"
    running = engine.start(out=str(out), available_now=True)
    assert running.wait(240)
    stream = f"CREATE STREAM bid ({BIDS}) TIMESTAMP BY ts WINDOW {WINDOW} FROM 'bid.jsonl';\n"
    (tmp_path / "bid.jsonl").write_text("".join(json.dumps(bid) + "\n" for bid in bids))
    (tmp_path / "reference.sql").write_text(stream + queries)
    expected = sorted_records(run_local(str(tmp_path / "reference.sql")).records)
    assert sorted_file(out) == expected != []
    assert sorted_records([json.loads(line) for line in folder_lines(tmp_path / "alerts")]) == expected
    assert running.status == RunningStatus(False, running.status.entry, 91, len(expected), 1)
    assert capsys.readouterr().err.count("lines were refused and dropped, 1 so far (late") == 1


@pytest.mark.long
def test_a_stream_without_rows_ends(spark: SparkSession, tmp_path: Path) -> None:
    engine = seine.Engine(spark)
    engine.stream("bid", streaming(spark, tmp_path / "bids", []), timestamp="ts", window=WINDOW)
    engine.register(
        "CREATE QUERY none AS SELECT item FROM bid; CREATE QUERY n AS SELECT COUNT(*) AS n FROM bid"
    )
    out = tmp_path / "out.jsonl"
    assert engine.start(out=str(out), available_now=True).wait(240)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {record["query"] for record in records} <= {"n"}


@pytest.mark.long
def test_a_frame_that_fails_is_told(spark: SparkSession, tmp_path: Path) -> None:
    frame = streaming(spark, tmp_path / "bids", bids_of(3, 6))
    engine = seine.Engine(spark)
    engine.stream(
        "bid",
        frame.selectExpr("raise_error('bad bid') AS item", "ts").selectExpr("CAST(item AS BIGINT)", "ts"),
        timestamp="ts",
    )
    engine.register("CREATE QUERY q AS SELECT item FROM bid")
    with pytest.raises(RunError, match=r"the pipeline stopped: .*bad bid"):
        engine.start(print, available_now=True).wait(240)


def test_explain_shows_what_is_shared(spark: SparkSession, tmp_path: Path) -> None:
    engine = seine.Engine(spark)
    engine.stream("bid", streaming(spark, tmp_path / "bids", []), timestamp="ts", window=WINDOW)
    engine.register("CREATE QUERY a AS SELECT item FROM bid WHERE price > 3")
    engine.register(
        "CREATE QUERY b AS SELECT item FROM bid WHERE price > 3; CREATE QUERY c AS SELECT ts FROM bid"
    )
    text = engine.explain()
    assert "stream bid" in text
    assert "shared by a, b, c: same stream" in text
    assert "shared by a, b: same conditions" in text
    engine.register("DROP QUERY c")
    assert "shared by a, b: same stream" in engine.explain()


def test_what_is_wrong_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = streaming(spark, tmp_path / "bids", [])
    still = spark.createDataFrame([(1, 2)], "a BIGINT, b BIGINT")
    engine = seine.Engine(spark)
    engine.stream("bid", frame, timestamp="ts")
    timed = frame.selectExpr("item", "timestamp_seconds(ts) AS at")
    refusals: list[tuple[str, Any]] = [
        ("already a stream", lambda: engine.stream("BID", frame, timestamp="ts")),
        ("already a stream", lambda: engine.relation("bid", still)),
        ("no column 'when'", lambda: engine.stream("s", frame, timestamp="when")),
        ("must be BIGINT or TIMESTAMP, not DOUBLE", lambda: engine.stream("s", frame, timestamp="price")),
        ("is not streaming", lambda: engine.stream("s", still, timestamp="a")),
        ("is streaming", lambda: engine.relation("s", frame)),
        ("needs a whole number", lambda: engine.stream("s", frame, timestamp="ts", window=dt.timedelta(1))),
        ("needs a timedelta", lambda: engine.stream("s", timed, timestamp="at", window=5)),
        ("too short", lambda: engine.stream("s", frame, timestamp="ts", window=0)),
        ("has type array<int>", lambda: engine.relation("s", still.selectExpr("array(1) AS a"))),
        ("is there twice", lambda: engine.relation("s", still.selectExpr("a", "b AS A"))),
        ("no stream or relation", lambda: engine.register("CREATE QUERY q AS SELECT x FROM nowhere")),
        (
            "could grow without bound",
            lambda: engine.register(
                "CREATE QUERY q AS SELECT x.item FROM bid x, bid y WHERE x.item = y.item"
            ),
        ),
        ("not to both", lambda: engine.start(print, out="here.jsonl")),
        ("not a subclass", lambda: engine.aggregate(int)),  # type: ignore[arg-type]
    ]
    for message, attempt in refusals:
        with pytest.raises(SeineError, match=message):
            attempt()
    assert engine.explain(), "what was refused has left nothing behind"


def test_queries_come_and_go_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Also after the program was started again with the same folder: what was registered stands."""
    folder, state = tmp_path / "bids", str(tmp_path / "state")
    folder.mkdir()

    def engine() -> seine.Engine:
        made = seine.Engine(spark, state)
        made.stream("bid", spark.readStream.schema(BIDS).json(str(folder)), timestamp="ts", window=WINDOW)
        made.register("CREATE QUERY every AS SELECT item FROM bid;")
        return made

    def feed(running: Running, first: int) -> None:
        rows = [{"item": first + i, "price": 1.5, "Ts": first + i} for i in range(5)]
        hidden = folder / f".{first}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        before = running.status.input_rows
        hidden.rename(folder / f"{first}.json")
        wait_until(lambda: running.status.input_rows == before + 5)

    running = engine().start(depth=1)
    feed(running, 0)
    done = running.register("CREATE QUERY later AS SELECT item, price FROM bid WHERE item <> 6;")
    assert done.registered == ("later",) and done.version > 1
    with pytest.raises(SeineError, match="streams that Spark reads stay as they are"):
        running.register("CREATE STREAM x (ts BIGINT) TIMESTAMP BY ts FROM 'kafka://h:9092/x';")
    wait_until(lambda: running.status.entry >= done.entry - 1)
    feed(running, 5)
    running.stop()
    with pytest.raises(SeineError, match="no duration and no size"):
        engine().start(keep="long")
    running = engine().start(depth=1, keep="1TB")
    feed(running, 10)
    assert running.drop("later").dropped == ("later",)
    with pytest.raises(SeineError, match="there is no query later"):
        running.results("later")
    done = running.register("CREATE QUERY sums AS SELECT item, SUM(price) AS total FROM bid GROUP BY item;")
    wait_until(lambda: running.status.entry >= done.entry - 1)
    feed(running, 15)
    typed = running.results("sums")
    assert typed.schema["row"].dataType["total"].dataType.typeName() == "double"
    running.end_input()
    rows = collected(running.results(), "lived", tmp_path / "lived")
    items = {
        query: [json.loads(row["row"])["item"] for row in rows if row["query"] == query and row["op"] == "+"]
        for query in ("every", "later", "sums")
    }
    assert sorted(items["every"]) == list(range(20))
    assert sorted(items["later"]) == [5, *range(7, 15)]
    assert sorted(items["sums"]) == list(range(15, 20))


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until something is so, which the pipeline brings about."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
