"""One windowed equi-join: Seine beside Spark's own stream-stream join, from the same Parquet files.

Two streams of (k, ts, v); a pair joins when k is equal and the timestamps are less than a
window apart. Each side runs in a process of its own, one after the other; the pace is taken
once the JVM is warm. Seine writes every result as JSON to a file; Spark's results
go to its `noop` sink, which costs it nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seine.bench.measure import Mark, Pace, Watch, mark, pace
from seine.bench.table import Table

KEYS = 200_000
STEP = 1_000  # microseconds between tuples
SIDES = ("seine", "spark", "spark_rocksdb")


def generate(folder: str, batches: int, rows: int, seed: int = 7) -> None:
    """One Parquet file a stream and batch, so that both engines cut the input alike."""
    random = np.random.default_rng(seed)
    for stream in ("left", "right"):
        os.makedirs(os.path.join(folder, stream))
        for batch in range(batches):
            ts = (np.arange(rows) + batch * rows) * STEP
            table = pa.table(
                {
                    "k": random.integers(0, KEYS, rows),
                    "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
                    "v": random.random(rows).round(6),
                }
            )
            pq.write_table(table, os.path.join(folder, stream, f"{batch:06d}.parquet"))


def script(folder: str, window: int) -> str:
    columns = "(k BIGINT, ts TIMESTAMP, v DOUBLE)"
    streams = "".join(
        f"CREATE STREAM {name}_side {columns} TIMESTAMP BY ts WINDOW INTERVAL '{window}' SECOND "
        f"LATENESS INTERVAL '1' SECOND FROM '{folder}/{name}' FORMAT PARQUET;\n"
        for name in ("left", "right")
    )
    return streams + (
        "CREATE QUERY pairs WITH (limit = 1000000000000) AS SELECT l.k AS k, l.ts AS lt, r.ts AS rt, l.v AS lv, r.v AS rv "
        "FROM left_side l JOIN right_side r ON l.k = r.k;\n"
    )


def run_seine(folder: str, rows: int, window: int, out: str) -> list[Mark]:
    """Seine from the command line's own path: admission, lateness and event time on, RocksDB beneath."""
    from seine.engine import Options, Run, read_script
    from seine.spark.host import run_on_spark
    from seine.spark.session import open_session

    marks: list[Mark] = []
    path = os.path.join(folder, "join.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script(folder, window))
    with tempfile.TemporaryDirectory() as state:
        options = Options(
            out=out,
            checkpoint=state,
            batch_rows=rows,
            buckets=os.cpu_count() or 2,
            progress=lambda sink: marks.append(mark(sink.totals.batches, sink.totals.input_rows)),
        )
        run = Run(read_script(path), options)
        run_on_spark(open_session(None, os.path.join(state, "spark.log")), run)
        run.close()
    return marks[:-1]  # the last entry only says that the input has ended


def run_spark(folder: str, rows: int, window: int, out: str, rocksdb: bool) -> list[Mark]:
    """Spark's native join: inner, equi-key and time range, watermarks on both sides."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    from seine.spark.session import ROCKSDB

    builder = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", str(os.cpu_count() or 2))
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    if rocksdb:
        builder = builder.config("spark.sql.streaming.stateStore.providerClass", ROCKSDB).config(
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true"
        )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def side(name: str, prefix: str):  # type: ignore[no-untyped-def]
        stream = spark.readStream.schema("k long, ts timestamp, v double").option("maxFilesPerTrigger", 1)
        frame = stream.parquet(os.path.join(folder, name)).withWatermark("ts", "1 second")
        return frame.select(*[f.col(c).alias(prefix + c) for c in ("k", "ts", "v")])

    reach = f.expr(f"interval {window} seconds")
    joined = side("left", "l").join(
        side("right", "r"),
        (f.col("lk") == f.col("rk"))
        & (f.col("lts") > f.col("rts") - reach)
        & (f.col("lts") < f.col("rts") + reach),
    )
    totals = {"batch": -1, "rows": 0, "out": 0}
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = joined.select("lk", "lts", "rts", "lv", "rv").writeStream.option("checkpointLocation", checkpoint)
        query = writer.format("noop").trigger(availableNow=True).start()

        def look() -> tuple[int, int] | None:
            for progress in query.recentProgress:
                if progress["batchId"] > totals["batch"] and progress["numInputRows"]:
                    totals["batch"], totals["rows"] = progress["batchId"], totals["rows"] + progress["numInputRows"]
                    totals["out"] += max(progress["sink"]["numOutputRows"], 0)
            return (totals["batch"], totals["rows"]) if totals["batch"] >= 0 else None

        watch = Watch(look)
        watch.start()
        query.awaitTermination()
        look()
        marks = watch.stop()
        if query.exception():
            raise RuntimeError(str(query.exception()))
    with open(out, "w", encoding="utf-8") as file:
        file.write(str(totals["out"]))
    return marks


def measure_side(side: str, folder: str, rows: int, window: int, warm: int) -> tuple[Pace, int]:
    """Run one side in a fresh process; its pace and how many rows came out."""
    words = [sys.executable, "-m", "seine.bench.join", side, folder, str(rows), str(window), str(warm)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{side} failed:\n{done.stderr[-2000:]}")
    form = json.loads(done.stdout.splitlines()[-1])
    return Pace(**form["pace"]), form["out"]


def main(batches: int, rows: int, window_batches: float = 1.0, sides: tuple[str, ...] = SIDES) -> Table:
    """The table of the join benchmark."""
    window = max(1, round(window_batches * rows * STEP / 1e6))
    table = Table("engine", "rows/s", "CPU-s per million rows", "s per batch", "rows out", "Seine is faster by")
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        generate(folder, batches, rows)
        found = {side: measure_side(side, folder, rows, window, batches // 2) for side in sides}
    ours = found["seine"][0].rows_per_second
    for side, (measured, out) in found.items():
        table.add(
            side,
            f"{measured.rows_per_second:,.0f}",
            f"{measured.cpu_per_million:.1f}",
            f"{measured.seconds_per_batch:.2f}",
            f"{out:,}",
            f"{ours / measured.rows_per_second:.1f}x",
        )
    return table


def _side(side: str, folder: str, rows: int, window: int, warm: int) -> None:
    out = os.path.join(folder, f"{side}.out")
    started = time.monotonic()
    if side == "seine":
        marks = run_seine(folder, rows, window, out)
        with open(out, "rb") as file:
            count = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
    else:
        marks = run_spark(folder, rows, window, out, side == "spark_rocksdb")
        with open(out, encoding="utf-8") as file:
            count = int(file.read())
    print(json.dumps({"pace": asdict(pace(marks, warm)), "out": count, "seconds": time.monotonic() - started}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("folder")
    for number in ("rows", "window", "warm"):
        parser.add_argument(number, type=int)
    _side(**vars(parser.parse_args()))
