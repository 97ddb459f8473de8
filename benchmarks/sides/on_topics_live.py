"""A side: Spark's own join of two topics into a third, while records are appended: how late are results?"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time

from benchmarks.sides.latencies import LatencyFigures, print_latencies
from benchmarks.sides.on_following import SETTLE_SECONDS
from benchmarks.sides.on_spark import default_session
from benchmarks.sides.on_topics import joined_topics, to_topic
from benchmarks.sides.result_reader import ResultReader
from benchmarks.sides.topic_producer import WINDOW_SECONDS, start_producer
from seine.errors import RunError


def run_side(arguments: list[str]) -> LatencyFigures:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("servers", "prefix"):
        parser.add_argument(name)
    for name in ("rate", "seconds", "warm"):
        parser.add_argument(name, type=int)
    given = parser.parse_args(arguments)
    spark = default_session()
    joined = joined_topics(spark, given.servers, given.prefix, WINDOW_SECONDS * 1_000_000)
    out = f"{given.prefix}-out"
    reader = ResultReader(given.servers, out, given.warm, ("lsent", "rsent"))
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as checkpoint:
        query = to_topic(joined, given.servers, out).option("checkpointLocation", checkpoint).start()
        producer = start_producer(given.servers, given.prefix, given.rate, given.seconds)
        try:
            producer.wait()
            time.sleep(SETTLE_SECONDS)
            if error := query.exception():
                raise RunError(str(error))
            query.stop()
            return reader.figures()
        finally:
            reader.kill()


if __name__ == "__main__":
    print_latencies(run_side(sys.argv[1:]))
