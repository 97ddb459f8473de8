"""Part `alternatives` of the benchmark `sharing`: join queries on Seine and on a hand-written Spark job."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.sides.transfer_runs import Workload
from benchmarks.workloads.rules import mixed_templates, one_template, rules
from seine.errors import RunError

RULES_SIDE = "benchmarks.sides.on_rules"
ONE, BY_HAND = "Seine, one template", "Spark by hand, one template"
Costs = dict[str, BatchCost]


def measure(
    figures: Figures,
    *,
    queries: int,
    templates: int,
    transfers: int,
    history: int,
    batches: int,
    runner: Runner = apart,
) -> Costs:
    """The costs by side: one template on both, with equally many results; mixed templates on Seine alone."""
    given, mixed = rules(queries), f"Seine, {templates} templates"
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        workload = Workload(folder, transfers, history, batches)
        stretch = workload.whole(workload.batches)
        seine = (workload.batch_rows, workload.history)
        one = workload.script("one", stretch, one_template(given))
        many = workload.script("mixed", stretch, mixed_templates(given, templates))
        sides = {
            ONE: (SEINE, one, *seine),
            BY_HAND: (RULES_SIDE, folder, queries, workload.history),
            mixed: (SEINE, many, *seine),
        }
        costs = {}
        for name, (module, *words) in sides.items():
            key = f"alternatives {queries} {transfers} {history} {batches} {name}"
            run = partial(_run, runner, f"alternatives, {name}", module, words)
            costs[name] = BatchCost(**figures.take(key, run))
    _check(costs)
    return costs


def _run(runner: Runner, title: str, module: str, words: Sequence[object]) -> Figure:
    return asdict(runner(title, module, *words))


def _check(costs: Costs) -> None:
    if costs[ONE].total_out != costs[BY_HAND].total_out:
        raise RunError(
            f"{ONE} gives {costs[ONE].total_out} results, {BY_HAND} gives {costs[BY_HAND].total_out}"
        )


def tabulate(costs: Costs) -> Table:
    """The table, a row for each side; the ratio is to the throughput of the hand-written job."""
    table = Table("side", "rows/s", "CPU-s per million rows", "s per batch", "results", "to the job by hand")
    for name, one in costs.items():
        table.add(
            name,
            f"{one.rows_per_second:,.0f}",
            f"{one.cpu_per_million:.1f}",
            f"{one.seconds_per_batch:.2f}",
            f"{one.total_out:,}",
            f"{one.rows_per_second / costs[BY_HAND].rows_per_second:.2f}x",
        )
    return table
