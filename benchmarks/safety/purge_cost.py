"""Part `costs` of the benchmark `safety`: CPU time of purging by punctuations, without Spark.

The auction query with a punctuation for every 10 tuples is compared with the same tuples without
punctuations: with unbounded state, and with windows that are as long as items are open, which give the same
results. Runs take turns, so that other load of the machine falls on all alike; a micro-batch has as many
tuples in each, because it has a fixed cost.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median

from benchmarks.harness.table import Table
from benchmarks.sides.measured_run import run, written
from benchmarks.workloads.punctuated_feeds import auction, bid_lines

BOUNDS = {  # punctuated, windowed, lazy
    "punctuations, eager": (True, False, False),
    "punctuations, lazy": (True, False, True),
    "unbounded": (False, False, False),
    "windows": (False, True, False),
}


def costs(bids: int, open_items: int, batches: Sequence[int], rounds: int) -> Table:
    """The table: CPU seconds for a million tuples, and the change in throughput by punctuations."""
    table = Table(
        "bids a micro-batch", "bounded by", "CPU s a million tuples", "spread", "beside unbounded", "windows"
    )
    with ExitStack() as files:
        workload = auction(bids, open_items)
        paths = {
            name: files.enter_context(written(workload, punctuated, windowed))
            for name, (punctuated, windowed, _) in BOUNDS.items()
        }
        for batch_rows in batches:
            print(f"  cost, {batch_rows:,} bids a micro-batch ...", file=sys.stderr, flush=True)
            _report(table, batch_rows, _take_turns(paths, batch_rows, rounds))
    return table


def _take_turns(paths: dict[str, str], batch_rows: int, rounds: int) -> dict[str, list[float]]:
    """CPU seconds for a million tuples, for each round but the first, which is for warming up."""
    spent: dict[str, list[float]] = {name: [] for name in paths}
    results = set()
    for number in range(rounds + 1):
        for name, path in paths.items():
            punctuated, _, lazy = BOUNDS[name]
            ran = run(path, lazy, bid_lines(batch_rows, punctuated))
            results.add((ran.tuples, ran.results))
            if number:
                spent[name].append(1e6 * ran.seconds / ran.tuples)
    assert len(results) == 1
    return spent


def _report(table: Table, batch_rows: int, spent: dict[str, list[float]]) -> None:
    for name, seconds_taken in spent.items():
        lost = [f"{_lost(seconds_taken, spent[other]):+.0f} %" for other in ("unbounded", "windows")]
        seconds, spread = (
            f"{median(seconds_taken):.2f}",
            f"{min(seconds_taken):.2f} to {max(seconds_taken):.2f}",
        )
        table.add(f"{batch_rows:,}", name, seconds, spread, *(lost if BOUNDS[name][0] else ("", "")))


def _lost(mine: list[float], theirs: list[float]) -> float:
    """The difference in throughput in per cent, the median of the rounds.

    >>> _lost([2.0, 4.0, 2.0], [1.0, 2.0, 2.0])
    -50.0
    """
    return 100 * (median(another / one for one, another in zip(mine, theirs, strict=True)) - 1)
