"""Benchmark `regroup`: coarser aggregates computed from rows, and from the groups of a finer aggregate.

One aggregate by three keys, and others by subsets of these keys; CPU seconds of one process, without Spark.
There are no results (HAVING is never true), so that only grouping is measured. Lines differ in how many
rows fall into one instant, and with that in how many finer groups change for each row.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import write_stream
from seine.network.plan.strategy import Strategy
from seine.run_local import run_local

KEYS = ("branch", "kind", "day", "branch, kind", "branch, day", "kind, day", "")
SIZES = {"branch": 5, "kind": 8, "day": 6}
CALLS = {
    "COUNT, SUM(BIGINT)": "COUNT(*) AS n, SUM(units) AS s",
    "SUM, AVG(DOUBLE)": "SUM(amount) AS s, AVG(amount) AS a",
    "MIN, MAX(DOUBLE)": "MIN(amount) AS lo, MAX(amount) AS hi",
}
_STREAM = (
    "CREATE STREAM payment (branch BIGINT, kind BIGINT, day BIGINT, units BIGINT, amount DOUBLE, ts BIGINT) "
    "TIMESTAMP BY ts WINDOW {window} FROM '{folder}/payment' FORMAT PARQUET;\n"
)
_QUERY = "CREATE QUERY q{number} AS SELECT {columns} FROM payment{group} HAVING COUNT(*) < 0;\n"
_SHARED = Strategy(regroup=1.0)  # also where it does not pay


def regroup_script(folder: str, calls: str, window: int, coarser: int) -> str:
    """The script of the finer query and so many coarser ones."""
    every = ", ".join(SIZES)
    text = _STREAM.format(folder=folder, window=window)
    for number, keys in enumerate([every, *KEYS[:coarser]]):
        columns, group = (f"{keys}, {calls}", f" GROUP BY {keys}") if keys else (calls, "")
        text += _QUERY.format(number=number, columns=columns, group=group)
    return text


def payments(random: np.random.Generator, batch: int, rows: int, an_instant: int) -> pa.Table:
    """The tuples of one micro-batch, with so many in one instant."""
    return pa.table(
        {
            **{name: random.integers(0, size, rows) for name, size in SIZES.items()},
            "units": random.integers(0, 1_000, rows),
            "amount": random.random(rows) * 1_000,
            "ts": (np.arange(rows) + batch * rows) // an_instant,
        }
    )


def main(
    batches: int, rows: int, instants: Sequence[int] = (1, 100, 1_000, 10_000), coarser: int = len(KEYS)
) -> Table:
    """The table; the cost of reading and of the finer aggregate alone is subtracted."""
    table = Table("calls", "rows an instant", "groups changed a row", "from rows", "from groups", "ratio")
    for name, calls in CALLS.items():
        for an_instant in instants:
            seconds = measure(calls, batches, rows, an_instant, coarser)
            table.add(
                name,
                f"{an_instant:,}",
                f"{_changing(an_instant):.2f}",
                f"{seconds[0]:.2f} s",
                f"{seconds[1]:.2f} s",
                f"{seconds[0] / seconds[1]:.1f}x",
            )
    return table


def measure(calls: str, batches: int, rows: int, an_instant: int, coarser: int) -> tuple[float, float]:
    """CPU seconds of the coarser aggregates, from rows and from groups."""
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        write_stream(
            folder, "payment", (payments(random, batch, rows, an_instant) for batch in range(batches))
        )
        window = max(1, 2 * rows // an_instant)
        alone, many = (regroup_script(folder, calls, window, count) for count in (0, coarser))
        plain = replace(_SHARED, regroup=0)
        _seconds(folder, alone, rows, plain)  # warming up
        base = _seconds(folder, alone, rows, plain)
        from_rows, from_groups = (_seconds(folder, many, rows, strategy) for strategy in (plain, _SHARED))
    return max(from_rows - base, 1e-3), max(from_groups - base, 1e-3)


def _changing(an_instant: int) -> float:
    """The expected number of finer groups that change for each row of an instant."""
    groups = int(np.prod(list(SIZES.values())))
    return float(groups * (1 - (1 - 1 / groups) ** an_instant) / an_instant)


def _seconds(folder: str, script: str, rows: int, strategy: Strategy) -> float:
    path = os.path.join(folder, "regroup.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    started = time.process_time()
    run_local(path, batch_rows=rows, sharing=strategy)
    return time.process_time() - started
