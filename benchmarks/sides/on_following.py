"""A side: Seine joins two topics into a third, while records are appended: how late are results?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading

from benchmarks.sides.latencies import LatencyFigures, print_latencies
from benchmarks.sides.result_reader import ResultReader
from benchmarks.sides.topic_producer import WINDOW_SECONDS, start_producer
from benchmarks.workloads.topic_streams import from_topics, into_topic, join_script
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.spark.session import open_session
from seine.spark.spark_host import run_on_spark

SETTLE_SECONDS = 3.0  # after the last record


def run_side(arguments: list[str]) -> LatencyFigures:
    """Run this side with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("servers", "prefix"):
        parser.add_argument(name)
    for name in ("rate", "seconds", "warm", "queries"):
        parser.add_argument(name, type=int)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        path = os.path.join(folder, "join.sql")
        sources = from_topics(given.servers, given.prefix)
        with open(path, "w", encoding="utf-8") as file:
            file.write(join_script(sources, WINDOW_SECONDS * 1_000_000, given.queries, ", sent BIGINT"))
            file.write(into_topic(given.servers, f"{given.prefix}-out", given.queries))
        session = open_session(None, os.path.join(folder, "spark.log"))
        return _follow(path, folder, given, session)


def _follow(path: str, folder: str, given: argparse.Namespace, session: object) -> LatencyFigures:
    options = Options(out=os.devnull, checkpoint=os.path.join(folder, "state"), buckets=2, follow=True)
    run = Run(read_script(path), options)
    reader = ResultReader(given.servers, f"{given.prefix}-out", given.warm, ("ls", "rs"))
    producer = start_producer(given.servers, given.prefix, given.rate, given.seconds)

    def end() -> None:
        producer.wait()
        threading.Event().wait(SETTLE_SECONDS)
        run.driver.stop()

    threading.Thread(target=end, daemon=True).start()
    try:
        run_on_spark(session, run)
        run.drain()
        return reader.figures()
    finally:
        run.close()
        for process in (producer, reader):
            process.kill()
        producer.wait()


if __name__ == "__main__":
    print_latencies(run_side(sys.argv[1:]))
