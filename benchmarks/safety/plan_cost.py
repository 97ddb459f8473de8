"""Part `plans` of the benchmark `safety`: binary joins with derived punctuations, and multi-way joins."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.harness.table import Table
from benchmarks.sides.measured_run import Ran, run, written
from benchmarks.workloads.punctuated_feeds import SafetyWorkload, linked, shared
from seine.network.plan.strategy import CONFIGURATIONS

PLANS = {"two by two": CONFIGURATIONS["two-by-two"], "at once": CONFIGURATIONS["at-once"]}


def plans(
    widths: Sequence[int], keys: int, life: int, many: int, queries: int, batches: Sequence[int], rounds: int
) -> Table:
    """The table: chains of several lengths, one with many tuples of a key, queries with a common join."""
    table = Table(
        "query",
        "rows a micro-batch",
        "joined",
        "results",
        "most held",
        "CPU s",
        "of stages",
        "longest bucket",
    )
    for name, workload in _workloads(widths, keys, life, many, queries):
        for batch_rows in batches:
            print(f"  plans, {name}, {batch_rows:,} rows ...", file=sys.stderr, flush=True)
            for plan_name, ran in _take_turns(workload, batch_rows, rounds).items():
                times = [median(getattr(one, part) for one in ran) for part in _PARTS]
                most = max(held for _, held in ran[0].held)
                cells = (f"{ran[0].results:,}", f"{most:,}", *(f"{seconds:.2f}" for seconds in times))
                table.add(name, f"{batch_rows:,}", plan_name, *cells)
    return table


_PARTS = ("seconds", "stages", "longest")


def _workloads(
    widths: Sequence[int], keys: int, life: int, many: int, queries: int
) -> Iterator[tuple[str, SafetyWorkload]]:
    for width in widths:
        yield f"chain of {width}", linked(width, keys, life)
    yield f"chain of 3, {many} of a key", linked(3, keys // many, life // many, many=many)
    yield f"{queries} chains of 3", shared(queries, keys // 4, life // 4)


def _take_turns(workload: SafetyWorkload, batch_rows: int, rounds: int) -> dict[str, list[Ran]]:
    """`rounds` runs of each plan, in turns; all have the same results."""
    ran: dict[str, list[Ran]] = {plan_name: [] for plan_name in PLANS}
    with written(workload, punctuated=True) as path:
        for _ in range(rounds):
            for plan_name, sharing in PLANS.items():
                ran[plan_name].append(run(path, batch_rows=batch_rows, sharing=sharing))
    assert len({(one.tuples, one.results) for runs in ran.values() for one in runs}) == 1
    return ran
