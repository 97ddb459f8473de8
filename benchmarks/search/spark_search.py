"""Part of the benchmark `search`: the paper's query on Spark, by the path of `seine run`."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.workloads.search_files import keyword_search, keyword_texts, write_search
from benchmarks.workloads.search_trace import SearchTrace

TUPLES_OF_THE_PAPER = 270_000  # 15 streams, a tuple a second, 5 h


def on_spark(
    sizes: Sequence[tuple[int, int]], hours: float, warm_share: float = 0.5, runner: Runner = apart
) -> Table:
    """The table by MAX and rows of a micro-batch: seconds that the paper's five hours take once it is warm.

    The trace runs for longer than five hours, and the first part of its micro-batches is left out.
    """
    table = Table(
        "most tuples", "rows a batch", "batches timed", "s a batch", "s for 270,000", "CPU s for 270,000"
    )
    for max_tuples, rows in sizes:
        trace = SearchTrace(max_tuples=max_tuples, hours=hours)
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
            path = write_search(folder, trace, keyword_texts(trace), [keyword_search(trace)])
            warm = max(1, int(warm_share * len(trace.arrivals) / rows))
            cost = runner(f"MAX {max_tuples}, {rows:,} rows", SEINE, path, rows // trace.streams, warm)
        table.add(
            str(max_tuples),
            f"{rows:,}",
            str(cost.batches),
            f"{cost.seconds_per_batch:.2f}",
            f"{TUPLES_OF_THE_PAPER / cost.rows_per_second:.1f}",
            f"{cost.cpu_per_million * TUPLES_OF_THE_PAPER / 1e6:.1f}",
        )
    return table
