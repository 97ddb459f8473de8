"""How long a result takes, from the append of a record to a result that can be read in another topic."""

from __future__ import annotations

import json

from benchmarks.harness.kafka_broker import BrokerProcess
from benchmarks.harness.side import printed_apart
from benchmarks.harness.table import Table
from benchmarks.sides.latencies import LatencyFigures
from benchmarks.workloads.topic_streams import STREAMS, create_topic

_SEINE = "benchmarks.sides.on_following"
_SPARK = "benchmarks.sides.on_topics_live"


def latencies(
    broker: BrokerProcess, rates: tuple[int, ...], queries: tuple[int, ...], seconds: int, warm: int
) -> Table:
    """Percentiles for each pace, for few and many queries, beside Spark's own join."""
    table = Table("rows/s", "side", "queries", "p50 s", "p99 s", "results")
    for rate in rates:
        for count in queries:
            figures = _side(broker, _SEINE, rate, seconds, warm, count)
            table.add(f"{rate:,}", "Seine", f"{count:,}", *_cells(figures))
        figures = _side(broker, _SPARK, rate, seconds, warm)
        table.add(f"{rate:,}", "Spark", "1", *_cells(figures))
    return table


def _cells(figures: LatencyFigures) -> tuple[str, str, str]:
    return f"{figures.median:.2f}", f"{figures.p99:.2f}", f"{figures.results:,}"


def _side(
    broker: BrokerProcess, module: str, rate: int, seconds: int, warm: int, *more: int
) -> LatencyFigures:
    """Run a side in a process of its own, on topics of its own."""
    prefix = "-".join(["live", module.rsplit(".", 1)[1], *map(str, (rate, *more))])
    for name in (*STREAMS, "out"):
        create_topic(broker.servers, f"{prefix}-{name}")
    words = [broker.servers, prefix, *map(str, (rate, seconds, warm, *more))]
    return LatencyFigures(**json.loads(printed_apart(f"latency, {rate:,} rows/s: {prefix}", module, *words)))
