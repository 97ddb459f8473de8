"""A side: one of Nexmark's queries in Spark's own SQL, in its Structured Streaming.

The text is that of Seine's script where Spark has all of it; results are JSON Lines in files. What Spark
cannot run as a stream it refuses, and the side says so.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from benchmarks.harness.measure import BatchCost, pace
from benchmarks.harness.side import print_cost
from benchmarks.sides.on_spark import default_session, run_to_end
from seine.demo.nexmark.events import query_text
from seine.errors import RunError

_SCHEMAS = {
    "person": "id long, name string, email_address string, credit_card string, city string, state string,"
    " date_time timestamp, extra string",
    "auction": "id long, item_name string, description string, initial_bid long, reserve long,"
    " date_time timestamp, expires timestamp, seller long, category long, extra string",
    "bid": "auction long, bidder long, price long, channel string, url string, date_time timestamp,"
    " extra string",
}
# what Spark writes in another way: it has no table functions of windows
_TEXTS = {
    "q5": """
        WITH counts AS (SELECT auction, COUNT(*) AS num, window FROM bid
          GROUP BY auction, window(date_time, '10 seconds', '2 seconds'))
        SELECT c.auction, c.num FROM counts c
        JOIN (SELECT MAX(num) AS maxn, window FROM counts GROUP BY window) m
        ON c.window = m.window AND c.num >= m.maxn""",
    "q7": """
        SELECT b.auction, b.price, b.bidder, b.date_time, b.extra
        FROM bid b JOIN (SELECT MAX(price) AS maxprice, window_time(window) AS at FROM bid
          GROUP BY window(date_time, '10 seconds')) m ON b.price = m.maxprice
        WHERE b.date_time BETWEEN m.at - INTERVAL '10' SECOND AND m.at""",
    "q8": """
        SELECT p.id, p.name, p.window.start AS starttime
        FROM (SELECT id, name, window FROM person GROUP BY id, name, window(date_time, '10 seconds')) p
        JOIN (SELECT seller, window FROM auction GROUP BY seller, window(date_time, '10 seconds')) a
        ON p.id = a.seller AND p.window = a.window""",
}


def run_side(arguments: list[str]) -> BatchCost:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("query")
    parser.add_argument("warm", type=int)
    given = parser.parse_args(arguments)
    spark = default_session(rocksdb=True)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as out:
        _open_tables(spark, Path(given.folder))
        try:
            return pace(run_to_end(spark, spark.sql(spark_text(given.query)), out), given.warm)
        except AnalysisException as error:
            reason = re.sub(r"\s+", " ", error.getMessage() or "")[:200]
            raise RunError(f"Spark refuses {given.query}: {reason}") from None


def spark_text(query: str) -> str:
    """The SELECT of a query, as Spark is given it."""
    if query in _TEXTS:
        return _TEXTS[query]
    return query_text(query).split(" AS\n", 1)[1].strip().removesuffix(";")


def _open_tables(spark: SparkSession, folder: Path) -> None:
    for name, schema in _SCHEMAS.items():
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder / name))
        stream.withWatermark("date_time", "4 seconds").createOrReplaceTempView(name)
    side = spark.read.schema("key long, value string").json(str(folder / "side_input.jsonl"))
    side.createOrReplaceTempView("side_input")


if __name__ == "__main__":
    print_cost(run_side(sys.argv[1:]))
