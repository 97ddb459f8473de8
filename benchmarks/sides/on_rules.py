"""A side: a hand-written Spark job, one stream-stream join whose pairs are joined with a table of rules.

It is the best plausible job: both inputs are filtered by the loosest rule before they join, by key and by
the longest period; the rules are broadcast, so that each pair is tested against all of them at once.
Results are JSON Lines, as Seine's are, in the files of Spark's own sink.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.harness.measure import BatchCost, pace
from benchmarks.harness.side import print_cost
from benchmarks.sides.on_spark import default_session, run_to_end
from benchmarks.workloads.rules import QueryRule, rules

_SCHEMA = "tran_id long, amount decimal(14,2), ts timestamp, sacct long, racct long"
_COLUMNS = ("tran_id", "amount", "ts", "sacct", "racct")


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("rules", type=int)
    parser.add_argument("warm", type=int)
    given = parser.parse_args(arguments)
    spark = default_session()
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as out:
        marks = run_to_end(spark, matched(spark, given.folder, rules(given.rules)), out)
        # Spark reads every transfer twice, once for each side, and counts it twice.
        measured = pace([replace(one, rows=one.rows // 2) for one in marks], given.warm)
        return replace(measured, total_out=_lines(out))


def _lines(folder: str) -> int:
    """The number of results written, which Spark's file sink does not report."""
    total = 0
    for name in os.listdir(folder):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), "rb") as file:
                total += sum(1 for _ in file)
    return total


def matched(spark: SparkSession, folder: str, given: list[QueryRule]) -> DataFrame:
    """The pairs of transfers with every rule that they satisfy."""
    longest = f.expr(f"interval {max(rule.hours for rule in given)} hours")
    a = _transfers(spark, folder, "a").where(f.col("a_amount") > min(rule.came for rule in given))
    b = _transfers(spark, folder, "b").where(f.col("b_amount") > min(rule.went for rule in given))
    near = (f.col("b_ts") > f.col("a_ts")) & (f.col("b_ts") <= f.col("a_ts") + longest)
    pairs = a.join(b, (f.col("b_sacct") == f.col("a_racct")) & near)
    table = spark.createDataFrame(given, "number int, came long, went long, ratio double, hours int")
    table = table.withColumn("ratio", f.col("ratio").cast("decimal(4,3)"))
    holds = (
        (f.col("a_amount") > f.col("came"))
        & (f.col("b_amount") > f.col("went"))
        & (f.col("b_amount") > f.col("a_amount") * f.col("ratio"))
        & (f.col("b_ts") <= f.col("a_ts") + f.make_interval(hours=f.col("hours")))
    )
    return pairs.join(f.broadcast(table), holds).select("number", "a_tran_id", "b_tran_id")


def _transfers(spark: SparkSession, folder: str, side: str) -> DataFrame:
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    frame = reader.parquet(os.path.join(folder, "transfer")).withWatermark("ts", "5 minutes")
    return frame.select(*[f.col(column).alias(f"{side}_{column}") for column in _COLUMNS])


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
