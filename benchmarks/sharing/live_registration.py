"""Part `live` of the benchmark `sharing`: registration while a service runs on Spark.

Measured are the time to the first result of a new query, and the throughput that the stream loses meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple
from functools import partial

import numpy as np

from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.side import announce
from benchmarks.harness.table import Table
from benchmarks.sides.commit_recorder import Wait
from benchmarks.sides.on_service import Live, ServiceStretch, Size, run_side
from seine.errors import RunError

Side = Callable[[Size], Figure]


def measure(
    figures: Figures,
    *,
    standing: int,
    batch_rows: int,
    warm: int,
    batches: int,
    interval: float,
    side: Side | None = None,
) -> Live:
    """A service with `standing` queries; one more each `interval` seconds in every other stretch."""
    size = Size(standing, batch_rows, warm, batches, interval)
    key = f"live {' '.join(map(str, astuple(size)))}"
    announce(f"live, one into {standing:,} each {interval:g} s")
    return _read(figures.take(key, partial(side or side_apart, size)))


def side_apart(size: Size) -> Figure:
    """Measure in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.sides.on_service", *map(str, astuple(size))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RunError("the service that was to be measured failed")
    figure: Figure = json.loads(done.stdout.splitlines()[-1])
    return figure


def side_together(size: Size) -> Figure:
    """Measure in this process, with a Spark session that may exist already."""
    return asdict(run_side(size))


def _read(figure: Figure) -> Live:
    stretches = [ServiceStretch(**one) for one in figure["stretches"]]
    return Live(stretches, [Wait(**one) for one in figure["waits"]], figure["changes"])


def tabulate(live: Live) -> Table:
    """The table, a row without registrations and one with; ratios are to the one without."""
    table = Table(
        "stream",
        "batches",
        "changes",
        "ms a change",
        "rows/s",
        "ratio",
        "CPU-s per million rows",
        "ratio of rows per CPU-s",
        "batches to a first result",
        "batches since the call",
        "s since the call",
    )
    quiet = [one for one in live.stretches if not one.busy]
    for name, stretches in {
        "alone": quiet,
        "while registering": [one for one in live.stretches if one.busy],
    }.items():
        registering = stretches is not quiet
        table.add(
            name,
            str(sum(one.batches for one in stretches)),
            str(sum(one.changes for one in stretches)),
            _spread([seconds * 1e3 for seconds in live.changes], "{:.0f}") if registering else "",
            f"{_rows_per_second(stretches):,.0f}",
            f"{_rows_per_second(stretches) / _rows_per_second(quiet):.2f}x",
            f"{1e6 / _rows_per_cpu_second(stretches):.1f}",
            f"{_rows_per_cpu_second(stretches) / _rows_per_cpu_second(quiet):.2f}x",
            _spread([one.batches for one in live.waits], "{:g}") if registering else "",
            _spread([one.since_call for one in live.waits], "{:g}") if registering else "",
            _spread([one.seconds for one in live.waits], "{:.1f}") if registering else "",
        )
    return table


def _rows_per_second(stretches: Sequence[ServiceStretch]) -> float:
    """Rows a second."""
    return sum(one.rows for one in stretches) / sum(one.wall for one in stretches)


def _rows_per_cpu_second(stretches: Sequence[ServiceStretch]) -> float:
    """Rows a CPU second of all processes."""
    return sum(one.rows for one in stretches) / sum(one.cpu for one in stretches)


def _spread(values: Sequence[float], form: str) -> str:
    """The median and the largest value.

    >>> _spread([1, 1, 2], "{:g}")
    '1, worst 2'
    """
    return f"{form.format(np.median(values))}, worst {form.format(max(values))}"
