"""Part `gains` of the benchmark `sharing`: what each technique of the optimiser brings, on two data sets.

Each row is one query set run twice: as Seine is, and with that technique alone turned off
(`network/plan/strategy.py`). Both know the same statistics of the stream, and must give equally many results
for every query. The gain is the ratio of CPU time for the micro-batches that follow a history.

Cites: ARGUS 4, 7 (transitivity inference, conditional materialisation, join order, aggregates, set operators)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.table import Table
from benchmarks.sharing.curves import check_equal
from benchmarks.sides.on_network import NetworkFigures
from benchmarks.sides.transfer_runs import Side, Workload, side_apart, words
from benchmarks.workloads.data_sets import FED, MED
from benchmarks.workloads.gain_queries import gain_queries
from seine.errors import RunError

ON = "all"


class Technique(NamedTuple):
    """A technique: the configuration that turns it off, and what the paper says that it brings."""

    off: str
    paper: str


TECHNIQUES: Mapping[str, Technique] = {
    "transitivity": Technique("no-transitivity", "up to 20x"),
    "materialisation": Technique("materialise-all", "up to 1.8x"),
    "join order": Technique("order-of-text", "up to hundreds"),
    "aggregates": Technique("no-breaker-sharing", "no figure"),
    "vertical expansion": Technique("no-vertical", "no figure"),
    "set operators": Technique("no-breaker-sharing", "no figure"),
}
DATA = {data.name: data for data in (FED, MED)}
PAPER_NOTE = (
    "The paper's summary gives what single techniques bring at most, on queries that they apply to; 'no "
    "figure' where it only calls the gain significant."
)
GainFigures = dict[tuple[str, str], tuple[NetworkFigures, NetworkFigures]]


def measure(
    figures: Figures,
    *,
    rows: int,
    history: int,
    batches: int,
    queries: int,
    techniques: Sequence[str] = tuple(TECHNIQUES),
    side: Side = side_apart,
) -> GainFigures:
    """The figures with and without each technique, by data set and technique."""
    measured: GainFigures = {}
    for name, data in DATA.items():
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
            workload = Workload(folder, rows, history, batches, data)
            for technique in techniques:
                both = []
                for configuration in (ON, TECHNIQUES[technique].off):
                    key = f"gains {rows} {history} {batches} {queries} {name} {technique} {configuration}"
                    run = partial(_run, workload, side, technique, configuration, queries)
                    both.append(NetworkFigures(**figures.take(key, run)))
                _check(f"{name}, {technique}", TECHNIQUES[technique].off, *both)
                measured[name, technique] = (both[0], both[1])
    return measured


def _run(workload: Workload, side: Side, technique: str, configuration: str, queries: int) -> Figure:
    stretch = workload.whole(workload.batches)
    texts = gain_queries(technique, workload.data.name, queries)
    script = workload.script(f"{technique}-{configuration}", stretch, texts)
    title = f"gains, {workload.data.name}, {technique}, {configuration}"
    return asdict(side([*words(title, configuration, script, stretch), "--known"]))


def _check(what: str, off: str, on: NetworkFigures, without: NetworkFigures) -> None:
    check_equal({ON: on.outputs, off: without.outputs})
    if not on.out:
        raise RunError(f"{what}: the queries have no results")


def tabulate(measured: GainFigures) -> Table:
    """The table, a row for each data set and technique; the gain is CPU time without it to that with it."""
    table = Table(
        "data", "technique", "queries", "joins", "without", "nodes", "without", "results",
        "CPU-s per batch", "without", "gain", "the paper's",
    )  # fmt: skip
    for (data, technique), (on, off) in measured.items():
        table.add(
            data,
            technique,
            str(on.queries),
            f"{on.joins:,}",
            f"{off.joins:,}",
            f"{on.nodes:,}",
            f"{off.nodes:,}",
            f"{on.out:,}",
            f"{on.cpu_per_batch:.2f}",
            f"{off.cpu_per_batch:.2f}",
            f"{off.cpu_per_batch / on.cpu_per_batch:.2f}x",
            TECHNIQUES[technique].paper,
        )
    return table
