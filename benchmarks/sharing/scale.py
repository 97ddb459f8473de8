"""Part `scale` of the benchmark `sharing`: few and very many queries, with equally many matches in all.

A query watches the accounts of a portfolio; the more queries there are, the smaller are the portfolios.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from benchmarks.harness.chart import Curve, line_chart
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.table import Table
from benchmarks.sides.on_network import NetworkFigures
from benchmarks.sides.transfer_runs import Side, Workload, side_apart, words
from benchmarks.workloads.seeds import queries

ScaleFigures = dict[int, NetworkFigures]


def measure(
    figures: Figures,
    *,
    counts: Sequence[int],
    transfers: int,
    history: int,
    batches: int,
    watchers: float,
    side: Side = side_apart,
) -> ScaleFigures:
    """The figures by number of queries, all shared; an account is in `watchers` portfolios on average."""
    measured: ScaleFigures = {}
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        workload = Workload(folder, transfers, history, batches)
        for count in counts:
            run = partial(_run, workload, side, count, watchers / count)
            key = f"scale {transfers} {history} {batches} {watchers} {count}"
            measured[count] = NetworkFigures(**figures.take(key, run))
    return measured


def _run(workload: Workload, side: Side, count: int, share: float) -> Figure:
    stretch = workload.whole(workload.batches)
    script = workload.script(str(count), stretch, queries(count, share=share))
    return asdict(side(words(f"scale, {count:,} queries", "all", script, stretch)))


def tabulate(measured: ScaleFigures) -> Table:
    """The table, a row for each number of queries; the ratio is to the throughput of the fewest."""
    table = Table(
        "queries",
        "nodes",
        "CPU-s to build",
        "CPU-s per batch",
        "rows per CPU-s",
        "matches",
        "throughput ratio",
    )
    fewest = measured[min(measured)]
    for count, one in measured.items():
        table.add(
            f"{count:,}",
            f"{one.nodes:,}",
            f"{one.build_cpu:.1f}",
            f"{one.cpu_per_batch:.2f}",
            f"{one.rows_per_second:,.0f}",
            f"{one.out:,}",
            f"{one.rows_per_second / fewest.rows_per_second:.2f}x",
        )
    return table


def pictures(measured: ScaleFigures) -> dict[str, str]:
    """The chart of throughput by number of queries."""
    curve = Curve("all", [(count, one.rows_per_second) for count, one in sorted(measured.items())])
    chart = line_chart("Throughput at equally many matches", "queries", "rows a CPU second", [curve])
    return {"sharing-scale.svg": chart}
