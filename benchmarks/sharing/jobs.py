"""Part `jobs` of the benchmark `sharing`: queries on Spark, all in one pipeline and each in its own.

A pipeline for each query is what users have without Seine. To run all of them takes hours, so a sample is
run, one after the other, and its cost is scaled to the number of queries: CPU seconds of all processes for
a micro-batch, which do not depend on how many run at a time.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from functools import partial
from statistics import mean
from typing import NamedTuple

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.sides.transfer_runs import Workload
from benchmarks.workloads.seeds import named_queries
from seine.errors import RunError

SHARED, UNSHARED = "one pipeline, shared", "one pipeline, unshared"


class JobsFigures(NamedTuple):
    """The number of queries, the costs of pipelines with all of them, and of each query that ran alone."""

    queries: int
    whole: dict[str, BatchCost]
    alone: dict[str, BatchCost]


def measure(
    figures: Figures,
    *,
    queries: int,
    sample: int,
    transfers: int,
    history: int,
    batches: int,
    runner: Runner = apart,
) -> JobsFigures:
    """All queries shared and unshared, with the same number of results, and a sample of queries alone."""
    texts = {name: f"CREATE QUERY {name} AS {text};\n" for name, text in named_queries(queries)}
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        workload = Workload(folder, transfers, history, batches)
        whole = "".join(texts.values())
        named = list(texts)[:: -(-queries // sample)]
        sides = {SHARED: (whole, "all"), UNSHARED: (whole, "off")}
        sides |= {name: (texts[name], "all") for name in named}
        paces = {}
        for number, (name, (script, configuration)) in enumerate(sides.items()):
            path = workload.script(str(number), workload.whole(workload.batches), script)
            key = f"jobs {queries} {sample} {transfers} {history} {batches} {name}"
            arguments = (path, workload.batch_rows, workload.history, configuration)
            paces[name] = BatchCost(**figures.take(key, partial(_run, runner, name, arguments)))
    shared, unshared = paces[SHARED].total_out, paces[UNSHARED].total_out
    if shared != unshared:
        raise RunError(f"{shared} results if shared, {unshared} if not")
    return JobsFigures(
        queries, {name: paces[name] for name in (SHARED, UNSHARED)}, {name: paces[name] for name in named}
    )


def _run(runner: Runner, name: str, arguments: tuple[object, ...]) -> Figure:
    return asdict(runner(f"jobs, {name}", SEINE, *arguments))


def tabulate(figures: JobsFigures) -> Table:
    """The table, a row for each kind of pipeline; the ratio is to the CPU time of the shared one."""
    table = Table("way", "pipelines", "CPU-s per batch of each", "s per batch of each", "CPU-s to shared")
    shared = figures.whole[SHARED].cpu_per_batch
    for name, one in figures.whole.items():
        _row(table, name, 1, one.cpu_per_batch, one.seconds_per_batch, shared)
    cpu = mean(one.cpu_per_batch for one in figures.alone.values())
    seconds = mean(one.seconds_per_batch for one in figures.alone.values())
    _row(table, f"a pipeline each, mean of {len(figures.alone)}", figures.queries, cpu, seconds, shared)
    return table


def _row(table: Table, name: str, pipelines: int, cpu: float, seconds: float, shared: float) -> None:
    table.add(name, f"{pipelines:,}", f"{cpu:.2f}", f"{seconds:.2f}", f"{pipelines * cpu / shared:.1f}x")
