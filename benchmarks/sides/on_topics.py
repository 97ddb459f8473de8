"""A side: Spark's own inner stream-stream join of two topics, by equal keys and a range of time.

Records are parsed by `from_json`, both inputs have watermarks, state is in Spark's default store, and
results go to a topic.
"""

from __future__ import annotations

import argparse
import sys
import tempfile

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter

from benchmarks.harness.measure import BatchCost, pace
from benchmarks.harness.side import print_cost
from benchmarks.sides.on_spark import Marks, default_session
from seine.errors import RunError

_SCHEMA = "k long, ts long, v double, sent long"


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers")
    parser.add_argument("prefix")
    parser.add_argument("window", type=int, help="microseconds")
    parser.add_argument("rows", type=int, help="of each topic in a micro-batch")
    parser.add_argument("warm", type=int)
    given = parser.parse_args(arguments)
    spark = default_session()
    marks = Marks()
    spark.streams.addListener(marks)
    joined = joined_topics(spark, given.servers, given.prefix, given.window, given.rows)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as checkpoint:
        writer = to_topic(joined, given.servers, f"{given.prefix}-out")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        if error := query.exception():
            raise RunError(str(error))
    marks.ended.wait()
    return pace(marks.taken, given.warm)


def joined_topics(
    spark: SparkSession, servers: str, prefix: str, window: int, rows: int | None = None
) -> DataFrame:
    """Spark's own join; at most so many `rows` of each topic in a micro-batch."""
    reach = f.expr(f"interval {window} microseconds")
    near = (f.col("lat") > f.col("rat") - reach) & (f.col("lat") < f.col("rat") + reach)
    left, right = (_side(spark, servers, f"{prefix}-{name}", name[0], rows) for name in ("left", "right"))
    return left.join(right, (f.col("lk") == f.col("rk")) & near)


def to_topic(frame: DataFrame, servers: str, topic: str) -> DataStreamWriter:
    """A writer of rows as JSON to a topic."""
    value = f.to_json(f.struct("lk", "lts", "rts", "lv", "rv", "lsent", "rsent")).alias("value")
    writer = frame.select(value).writeStream.format("kafka").option("topic", topic)
    return writer.option("kafka.bootstrap.servers", servers)


def _side(spark: SparkSession, servers: str, topic: str, letter: str, rows: int | None) -> DataFrame:
    """A topic whose column names begin with a letter."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    if rows is not None:
        reader = reader.option("maxOffsetsPerTrigger", rows)
    record = f.from_json(f.col("value").cast("string"), _SCHEMA).alias("record")
    columns = reader.load().select(record).select("record.*")
    timed = columns.withColumn("at", f.timestamp_micros("ts")).withWatermark("at", "1 second")
    return timed.select(*[f.col(name).alias(letter + name) for name in ("k", "ts", "v", "sent", "at")])


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
