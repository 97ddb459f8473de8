"""What a row costs from topics: beside files, beside Spark's own join, and to the driver."""

from __future__ import annotations

import json
import os
import tempfile

from benchmarks.harness.kafka_broker import BrokerProcess
from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, apart, printed_apart
from benchmarks.harness.table import Table
from benchmarks.sides.driver_cpu import PARTS
from benchmarks.workloads.topic_streams import (
    STREAMS,
    create_topic,
    from_files,
    from_topics,
    join_script,
    window_of,
    write_streams,
)

_DRIVER = "benchmarks.sides.on_driver"
_SPARK = "benchmarks.sides.on_topics"
_FACTOR = 10


def costs(broker: BrokerProcess, batches: int, rows: int) -> Table:
    """CPU of all processes for a million rows: Seine from files, Seine from topics, Spark from topics."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_streams(folder, broker.servers, "cost", batches, rows)
        create_topic(broker.servers, "cost-out")
        warm, window = batches // 2, window_of(rows)
        files = _write(folder, "files.sql", join_script(from_files(folder), window))
        topics = _write(folder, "topics.sql", join_script(from_topics(broker.servers, "cost"), window))
        measured = {
            "Seine, files": apart("Seine from files", SEINE, files, rows, warm),
            "Seine, topics": apart("Seine from topics", SEINE, topics, rows, warm),
            "Spark, topics": apart("Spark from topics", _SPARK, broker.servers, "cost", window, rows, warm),
        }
    return _tabulated(measured)


def _tabulated(measured: dict[str, BatchCost]) -> Table:
    """CPU beside that of Seine from files, and throughput beside that of Spark."""
    files, spark = measured["Seine, files"], measured["Spark, topics"]
    table = Table("side", "rows/s", "CPU-s per million rows", "CPU beside files", "faster than Spark by")
    for side, cost in measured.items():
        table.add(
            side,
            f"{cost.rows_per_second:,.0f}",
            f"{cost.cpu_per_million:.1f}",
            f"{cost.cpu_per_million / files.cpu_per_million:.2f}x",
            f"{cost.rows_per_second / spark.rows_per_second:.1f}x",
        )
    return table


def driver(broker: BrokerProcess, rounds: int, warm: int, rows: int) -> Table:
    """CPU of the driver a micro-batch, with few rows in it and with ten times as many, in turn in one run."""
    for name in STREAMS:
        create_topic(broker.servers, f"driver-{name}")
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        script = join_script(from_topics(broker.servers, "driver"), window_of(rows))
        path = _write(folder, "topics.sql", script)
        words = (path, broker.servers, "driver", rows, _FACTOR, rounds, warm)
        small, large = json.loads(printed_apart(f"driver, {rows:,} rows and more a batch", _DRIVER, *words))
    table = Table(
        "rows of a stream a batch", *(f"{part} ms" for part in PARTS), "together", "beside the first"
    )
    for many, costs in ((rows, small), (rows * _FACTOR, large)):
        whole = sum(costs.values())
        cells = (f"{costs[part] * 1000:.1f}" for part in PARTS)
        table.add(f"{many:,}", *cells, f"{whole * 1000:.1f}", f"{whole / sum(small.values()):.2f}x")
    return table


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
