"""Part `throughput` of the benchmark `safety`: the cost of purging by punctuations, on Spark.

The auction query with a punctuation for every 10 tuples, and the same tuples without, as in
`purge_cost.py`, but through the pipeline that users run: journal, Spark's tasks, state in RocksDB, results
in a file. Each run is a process of its own, and runs take turns. A micro-batch has as many tuples in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from statistics import median

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.side import SEINE, Runner, apart
from benchmarks.harness.table import Table
from benchmarks.sides.measured_run import written
from benchmarks.workloads.punctuated_feeds import auction, bid_lines

BOUNDS = {"punctuations": (True, False), "unbounded": (False, False), "windows": (False, True)}
_BESIDE = ("unbounded", "windows")
Paces = Mapping[str, list[BatchCost]]


def throughput(
    bids: int, open_items: int, batch_rows: int, warm: int, rounds: int, runner: Runner = apart
) -> Table:
    """The table: tuples a second, and CPU seconds for a million of them, after the first micro-batches."""
    paces: dict[str, list[BatchCost]] = {name: [] for name in BOUNDS}
    with ExitStack() as files:
        workload = auction(bids, open_items)
        paths = {name: files.enter_context(written(workload, *bound)) for name, bound in BOUNDS.items()}
        for number in range(rounds):
            for name, path in paths.items():
                title = f"throughput on Spark, {name}, round {number + 1}"
                lines = bid_lines(batch_rows, BOUNDS[name][0])
                paces[name].append(runner(title, SEINE, path, lines, warm))
    assert len({pace.total_out for side_paces in paces.values() for pace in side_paces}) == 1
    return tabulate(paces)


def tabulate(paces: Paces) -> Table:
    """A row for each bound; for punctuations also the difference to the others, the median of the rounds."""
    table = Table(
        "bounded by",
        "tuples a second",
        "CPU s a million tuples",
        *(f"tuples a second beside {other}" for other in _BESIDE),
        *(f"CPU beside {other}" for other in _BESIDE),
    )
    for name, side_paces in paces.items():
        rate = median(pace.rows_per_second for pace in side_paces)
        cpu = median(pace.cpu_per_million for pace in side_paces)
        lost = _lost(paces, name) if name not in _BESIDE else [""] * 2 * len(_BESIDE)
        table.add(name, f"{rate:,.0f}", f"{cpu:.2f}", *lost)
    return table


def _lost(paces: Paces, name: str) -> list[str]:
    """The difference in throughput in per cent: by wall-clock time, and by CPU time."""
    pairs = {other: list(zip(paces[name], paces[other], strict=True)) for other in _BESIDE}
    clock = [median(a.rows_per_second / b.rows_per_second for a, b in pairs[other]) for other in _BESIDE]
    cpu = [median(b.cpu_per_million / a.cpu_per_million for a, b in pairs[other]) for other in _BESIDE]
    return [f"{100 * (ratio - 1):+.0f} %" for ratio in (*clock, *cpu)]
