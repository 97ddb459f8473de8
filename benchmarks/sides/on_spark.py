"""A side: Spark's own inner stream-stream join, by equal keys and a range of time.

Both inputs have watermarks. Results go to the `noop` sink, which costs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQueryListener

from benchmarks.harness.measure import BatchCost, Mark, mark, pace
from benchmarks.harness.side import print_cost
from seine.errors import RunError
from seine.spark.session import ROCKSDB

_DEFAULT_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


class Marks(StreamingQueryListener):  # type: ignore[misc, unused-ignore]  # pyspark has no types
    """A listener that takes a mark after each micro-batch with input; `ended` is set after the last."""

    def __init__(self) -> None:
        self.taken: list[Mark] = []
        self.ended = threading.Event()
        self._rows = self._out = 0

    def onQueryStarted(self, event: Any) -> None:
        return

    def onQueryIdle(self, event: Any) -> None:
        return

    def onQueryTerminated(self, event: Any) -> None:
        self.ended.set()

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        self._rows += progress.numInputRows
        self._out += max(progress.sink.numOutputRows, 0)
        if progress.numInputRows:
            self.taken.append(mark(progress.batchId + 1, self._rows, self._out))


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("window", type=int, help="seconds")
    parser.add_argument("warm", type=int)
    parser.add_argument("--rocksdb", action="store_true")
    given = parser.parse_args(arguments)
    return pace(run_spark(given.folder, given.window, given.rocksdb), given.warm)


def run_spark(folder: str, window: int, rocksdb: bool) -> list[Mark]:
    """Join the files of the folders `left` and `right`, one file in each micro-batch; returns the marks."""
    spark = default_session(rocksdb)
    return run_to_end(spark, _joined(spark, folder, window))


def run_to_end(spark: SparkSession, frame: DataFrame, out: str | None = None) -> list[Mark]:
    """Run a streaming DataFrame over all its files; returns a mark for the end of each micro-batch.

    Results are written as JSON Lines to the folder `out`, if one is given.
    """
    marks = Marks()
    spark.streams.addListener(marks)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as checkpoint:
        writer = frame.writeStream.format("json" if out else "noop")
        if out:
            writer = writer.option("path", out)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        if error := query.exception():
            raise RunError(str(error))
    marks.ended.wait()
    spark.streams.removeListener(marks)
    return marks.taken


def default_session(rocksdb: bool = False) -> SparkSession:
    """A Spark session with ordinary settings, on all cores."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB if rocksdb else _DEFAULT_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    }
    spark: SparkSession = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _joined(spark: SparkSession, folder: str, window: int) -> DataFrame:
    reach = f.expr(f"interval {window} seconds")
    near = (f.col("lts") > f.col("rts") - reach) & (f.col("lts") < f.col("rts") + reach)
    left, right = _side(spark, folder, "left"), _side(spark, folder, "right")
    return left.join(right, (f.col("lk") == f.col("rk")) & near).select("lk", "lts", "rts", "lv", "rv")


def _side(spark: SparkSession, folder: str, name: str) -> DataFrame:
    """A stream whose column names begin with the first letter of its name."""
    reader = spark.readStream.schema("k long, ts timestamp, v double").option("maxFilesPerTrigger", 1)
    frame = reader.parquet(os.path.join(folder, name)).withWatermark("ts", "1 second")
    return frame.select(*[f.col(column).alias(name[0] + column) for column in ("k", "ts", "v")])


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
