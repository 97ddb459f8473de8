"""What a row costs from topics: beside files, beside Spark's own join, and to the driver."""

from __future__ import annotations

import os
import tempfile

from seine.bench.harness.kafka_broker import BrokerProcess
from seine.bench.harness.measure import BatchCost
from seine.bench.harness.side import SEINE, apart
from seine.bench.harness.table import Table
from seine.bench.workloads.topic_streams import (
    create_topic,
    from_files,
    from_topics,
    join_script,
    window_of,
    write_streams,
)

_DRIVER = "seine.bench.sides.on_driver"
_SPARK = "seine.bench.sides.on_topics"


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


def driver(broker: BrokerProcess, batches: int, rows: int) -> Table:
    """CPU of the driver a micro-batch, with few rows in it and with ten times as many."""
    table = Table("rows of a stream a batch", "driver CPU ms a batch", "beside the first")
    first = 0.0
    for factor in (1, 10):
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
            prefix, many = f"driver{factor}", rows * factor
            write_streams(folder, broker.servers, prefix, batches, many)
            script = join_script(from_topics(broker.servers, prefix), window_of(many))
            path = _write(folder, "topics.sql", script)
            cost = apart(f"driver, {many:,} rows a batch", _DRIVER, path, many, batches // 2)
        first = first or cost.cpu_per_batch
        table.add(f"{many:,}", f"{cost.cpu_per_batch * 1000:.0f}", f"{cost.cpu_per_batch / first:.2f}x")
    return table


def _write(folder: str, name: str, text: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
