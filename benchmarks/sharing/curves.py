"""Part `curves` of the benchmark `sharing`: CPU time of a micro-batch by number of queries and configuration.

Cites: ARGUS 7.2, Table 1 (Figures 3 and 4)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial

from benchmarks.harness.chart import Curve, line_chart
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.table import Table
from benchmarks.sharing import separate_pipelines
from benchmarks.sides.on_network import NetworkFigures
from benchmarks.sides.transfer_runs import Side, Workload, side_apart, words
from benchmarks.workloads.seeds import queries
from seine.errors import RunError
from seine.network.plan.strategy import CONFIGURATIONS

PAPER = {
    "all": "AllSharing",
    "no-join-sharing": "NonJoinS",
    "no-canonical": "NonCanon",
    "match-plan": "MatchPlan",
    "match-plan-no-canonical": "MatchPlan_NCanon",
    "no-vertical": "no vertical expansion",
    "off": "unshared",
    separate_pipelines.NAME: "a pipeline each",
}
PAPER_NOTE = (
    "The paper: AllSharing is ahead of NonJoinS by much, ahead of NonCanon by up to two times, and ahead of "
    "MatchPlan; MatchPlan_NCanon is the last of its figure 4. Shared networks are up to hundreds of times "
    "faster than unshared ones. 'apart' is each query as a pipeline of its own that reads its own input: "
    "measured for a sample, every sixteenth query in a full run, each alone, and scaled to all of them, "
    "joins, nodes and matches too."
)
_CONFIGURATIONS = {name: CONFIGURATIONS[name] for name in PAPER if name != separate_pipelines.NAME}
CurveFigures = dict[tuple[int, str], NetworkFigures]


def measure(
    figures: Figures,
    *,
    counts: Sequence[int],
    transfers: int,
    history: int,
    batches: int,
    recent: int,
    sample: int,
    every: int,
    side: Side = side_apart,
) -> CurveFigures:
    """The figures of every configuration at every number of queries.

    Configurations without sharing, or without canonical conditions, are slow: they get only the last
    `recent` batches of the history, and `sample` of those that follow. The recent history is longer than
    the window, so that their state is the same. The same holds for each `every`-th query run alone, an
    estimate of a pipeline for each.
    """
    measured: CurveFigures = {}
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        workload = Workload(folder, transfers, history, batches)
        for count in counts:
            for name, strategy in _CONFIGURATIONS.items():
                before = None if strategy.share and strategy.canonical else recent
                key = f"curves {transfers} {history} {batches} {before} {sample} {count} {name}"
                run = partial(_run, workload, side, count, name, before, sample)
                measured[count, name] = NetworkFigures(**figures.take(key, run))
            check_equal({name: measured[count, name].outputs for name in _CONFIGURATIONS})
            alone = measured[count, separate_pipelines.NAME] = separate_pipelines.measure(
                figures, workload, side, count, every, recent, sample
            )
            expected = measured[count, "all"].outputs
            sampled = {
                query: expected[query]
                for query in separate_pipelines.sampled(count, every)
                if query in expected
            }
            check_equal({"all": sampled, separate_pipelines.NAME: alone.outputs})
    return measured


def _run(workload: Workload, side: Side, count: int, name: str, before: int | None, sample: int) -> Figure:
    stretch = workload.whole(sample) if before is None else workload.recent(before, sample)
    script = workload.script(f"{count}-{name}", stretch, queries(count))
    return asdict(side(words(f"curves, {count} queries, {name}", name, script, stretch)))


def check_equal(outputs: Mapping[str, Mapping[str, int]]) -> None:
    """Raise an error if a configuration gives another number of results for a query.

    >>> check_equal({"all": {"q": 1}, "off": {"q": 1}})
    """
    expected = outputs["all"]
    for name, results in outputs.items():
        wrong = sorted(q for q in {*expected, *results} if expected.get(q, 0) != results.get(q, 0))
        if wrong:
            query = wrong[0]
            raise RunError(
                f"configuration '{name}' gives other results than 'all' for {len(wrong)} queries: "
                f"{query} has {results.get(query, 0)}, not {expected.get(query, 0)}"
            )


def tabulate(measured: CurveFigures) -> Table:
    """The table, a row for each number of queries and configuration; the ratio is to the cost of `all`."""
    table = Table(
        "queries", "configuration", "the paper's", "joins", "nodes", "CPU-s per batch", "rows per CPU-s",
        "matches per 1,000 rows", "cost to all",
    )  # fmt: skip
    for (count, name), one in measured.items():
        table.add(
            f"{count:,}",
            name,
            PAPER[name],
            f"{one.joins:,}",
            f"{one.nodes:,}",
            f"{one.cpu_per_batch:.2f}",
            f"{one.rows_per_second:,.0f}",
            f"{one.out / one.rows * 1000:.1f}",
            f"{one.cpu_per_batch / measured[count, 'all'].cpu_per_batch:.2f}x",
        )
    return table


def pictures(measured: CurveFigures) -> dict[str, str]:
    """The charts by file name: those of the paper's figures, and one with sharing on and off."""
    note = "The paper's figures show the same configurations at 100 to 768 queries."
    chosen = {
        "sharing-joins-and-canonical-forms": ("all", "no-join-sharing", "no-canonical"),
        "sharing-strategies": ("all", "match-plan", "match-plan-no-canonical"),
        "sharing-on-and-off": ("all", "off"),
    }
    titles = {
        "sharing-joins-and-canonical-forms": "Join sharing and canonical forms (ARGUS Figure 3)",
        "sharing-strategies": "Sharing-selection and match-plan (ARGUS Figure 4)",
        "sharing-on-and-off": "Shared and unshared",
    }
    return {
        f"{file}.svg": line_chart(
            titles[file], "queries", "CPU seconds a micro-batch", [_curve(measured, n) for n in names], note
        )
        for file, names in chosen.items()
    }


def _curve(measured: CurveFigures, name: str) -> Curve:
    points = [(count, one.cpu_per_batch) for (count, other), one in measured.items() if other == name]
    return Curve(PAPER[name], sorted(points))
