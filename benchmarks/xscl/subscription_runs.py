"""Parts `spark` and `registration` of the benchmark `xscl`: subscriptions end to end, and registered in bulk.

End to end is all that `seine run` does on Spark: JSON Lines are read and judged, documents parsed, joined and
completed, records written as JSON. There are equally many records an item, however many queries there are.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.progress_text import ProgressText
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.feed_subscriptions import registrations, write_feed, write_stream_of_items
from seine.service.access.allow_list import AllowList
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions


def end_to_end(
    counts: Sequence[int], batches: int, rows: int, form: str = "paths", runner: Runner = apart
) -> Table:
    """Items a second on Spark by the number of queries; the ratio is to the throughput of the fewest."""
    table = Table(
        *("queries", "items/s", "CPU µs an item", "s per batch", "records an item", "throughput ratio")
    )
    costs = {count: _run(count, batches, rows, form, runner) for count in counts}
    fewest = costs[min(costs)]
    for count, cost in costs.items():
        table.add(
            f"{count:,}",
            f"{cost.rows_per_second:,.0f}",
            f"{cost.cpu_per_million:.0f}",
            f"{cost.seconds_per_batch:.2f}",
            f"{cost.out_per_batch / rows:.2f}",
            f"{cost.rows_per_second / fewest.rows_per_second:.2f}x",
        )
    return table


def _run(queries: int, batches: int, rows: int, form: str, runner: Runner) -> BatchCost:
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        path = write_feed(folder, batches * rows, queries, form)
        return runner(f"subscriptions by {form}, {queries:,} queries", SEINE, path, rows, batches // 2)


def registering(counts: Sequence[int], form: str = "paths") -> Table:
    """Seconds from the text of so many subscriptions to a durable answer, in a service without Spark."""
    table = Table("queries", "seconds", "ms a query")
    for count in counts:
        with ProgressText(f"registering, {count:,} in bulk"), tempfile.TemporaryDirectory() as folder:
            service = Service(
                ServiceFolder(os.path.join(folder, "service")), ServiceOptions(reach=AllowList((folder,)))
            )
            declaration, text = write_stream_of_items(folder, 1, 1), registrations(count, form)
            service.registrar.register(declaration, file="stream", folder=folder)
            began = time.perf_counter()
            service.registrar.register(text, file="subscriptions", folder=folder)
            spent = time.perf_counter() - began
            service.stop()
        table.add(f"{count:,}", f"{spent:.1f}", f"{1e3 * spent / count:.2f}")
    return table
