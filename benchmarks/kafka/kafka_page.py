"""Benchmark `kafka` as one page: a private broker, and each part beside its alternative."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.kafka_broker import connector_jars, kafka_jars, running_broker
from benchmarks.harness.table import Table
from benchmarks.kafka.latency import latencies
from benchmarks.kafka.topic_costs import costs, driver
from benchmarks.workloads.topic_streams import require_client

_COST = """\
### A row from topics

A windowed join of two streams, {rows:,} JSON records of each a micro-batch, in two partitions. CPU is that of
all processes of a side, the broker's left out. Seine writes its results to a file, Spark to a topic. The aim:
from topics at most 1.5 times the CPU of files, and at least 3 times as fast as Spark."""
_DRIVER = """\
### The driver

The same from topics, {rows:,} and ten times as many rows of each stream a micro-batch, in turn in one run:
CPU of the driver process, of those threads of Spark's JVM that plan and schedule, and of the processes that
plan what is read. The aim: less than 10 % more."""
_LATENCY = """\
### Latency

From the append of the later of two records to a result that a reader of committed records has from another
topic: Seine's by a sink, exactly once, Spark's by its own, at least once. Records come for {seconds} seconds;
those before a side's first result, and in {warm} seconds after it, do not count. With many queries a result
is one of them. The aim: a median below 0.5 s."""

PARTS: tuple[tuple[str, str, Callable[..., Table]], ...] = (
    ("cost", _COST, costs),
    ("driver", _DRIVER, driver),
    ("latency", _LATENCY, latencies),
)
FULL: Mapping[str, Mapping[str, Any]] = {
    "cost": {"batches": 16, "rows": 200_000},
    "driver": {"rounds": 24, "warm": 8, "rows": 10_000},
    "latency": {"rates": (1_000, 20_000), "queries": (1, 1_000), "seconds": 60, "warm": 10},
}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "cost": {"batches": 4, "rows": 2_000},
    "driver": {"rounds": 3, "warm": 1, "rows": 200},
    "latency": {"rates": (200,), "queries": (2,), "seconds": 25, "warm": 1},
}


def main(sizes: Mapping[str, Mapping[str, Any]], only: str | None = None) -> str:
    """The page of all parts, or of one."""
    require_client()
    jars = kafka_jars()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {connector_jars(jars)} pyspark-shell"  # of all sides
    pages = []
    with running_broker(jars) as broker:
        for part, text, tabulate in PARTS:
            if only in (None, part):
                print(f"  {part}", file=sys.stderr, flush=True)
                pages.append(f"{text.format(**sizes[part])}\n\n{tabulate(broker, **sizes[part])}")
    return "\n\n".join(pages)
