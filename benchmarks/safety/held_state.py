"""Parts `auctions`, `small` and `joins` of the benchmark `safety`: state of joins while they read.

State is the rows and punctuations that are held after a micro-batch, by tuples read so far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from benchmarks.harness.chart import Curve, line_chart
from benchmarks.harness.table import Table
from benchmarks.sides.measured_run import Ran, run, written
from benchmarks.workloads.punctuated_feeds import BIDS, SafetyWorkload, auction, linked

Picture = tuple[str, str]  # the name of its file, and the SVG
PURGING = {"eager": (True, False), "lazy": (True, True), "without": (False, False)}  # punctuated, lazy
_STREAMS_OF_CYCLE = 4
_SAMPLES = 10


def auctions(bids: int, open_items: int, batch_rows: int) -> tuple[Table, Picture]:
    """The table of the auction query, with ten samples of its state; and its chart."""
    table = Table("punctuations", *_points(bids + bids // BIDS), "most")
    curves = []
    for purging, ran in _runs("auction", auction(bids, open_items), batch_rows):
        samples = _samples(ran)
        table.add(purging, *(f"{held:,}" for _, held in samples), f"{_most(ran):,}")
        curves.append(Curve(purging, _by_tenths(samples)))
    drawn = line_chart(
        "Rows that the auction query holds",
        f"per cent of {bids + bids // BIDS:,} tuples read",
        "rows and punctuations held by the join",
        curves,
        f"{open_items:,} auctions are open at a time; micro-batches of {batch_rows:,} lines",
    )
    return table, ("safety-auction.svg", drawn)


def small_batches(bids: int, open_items: int, batch_rows: int) -> Table:
    """The table of the auction query in micro-batches with few punctuations, where lazy purging differs."""
    table = Table("punctuations", *(f"{n + 1}0 %" for n in range(_SAMPLES)), "most", "CPU s")
    for purging, ran in _runs("auction", auction(bids, open_items), batch_rows):
        held = (f"{held:,}" for _, held in _samples(ran))
        table.add(purging, *held, f"{_most(ran):,}", f"{ran.seconds:.1f}")
    return table


def joins(widths: Sequence[int], keys: int, life: int, batch_rows: int) -> tuple[Table, Picture]:
    """The table of chains of several lengths and a cycle of four; and its chart."""
    shapes = [(f"chain of {width}", linked(width, keys, life)) for width in widths]
    shapes.append((f"cycle of {_STREAMS_OF_CYCLE}", linked(_STREAMS_OF_CYCLE, keys, life, cycle=True)))
    table = Table("query", "punctuations", "results", *(f"{n}0 %" for n in range(2, 11, 2)), "most", "CPU s")
    curves = []
    for name, workload in shapes:
        for purging, ran in _runs(name, workload, batch_rows):
            samples = _samples(ran)
            held_cells = (f"{held:,}" for _, held in samples[1::2])
            table.add(name, purging, f"{ran.results:,}", *held_cells, f"{_most(ran):,}", f"{ran.seconds:.1f}")
            if purging != "lazy" and name in (shapes[0][0], *(shape[0] for shape in shapes[-2:])):
                curves.append(Curve(f"{name}, {purging}", _by_tenths(samples)))
    drawn = line_chart(
        "Rows that joins of several streams hold",
        "per cent of the tuples read",
        "rows and punctuations held by all joins of the query",
        [Curve(_short_name(curve.name), curve.points) for curve in curves],
        f"{keys:,} tuples of each stream; a key is in use for {life:,} instants",
    )
    return table, ("safety-joins.svg", drawn)


def _short_name(name: str) -> str:
    return name.replace("eager", "with").replace("chain of ", "chain ").replace("cycle of ", "cycle ")


def _runs(name: str, workload: SafetyWorkload, batch_rows: int) -> Iterable[tuple[str, Ran]]:
    """One run for each mode of purging; all have the same results."""
    results = set()
    for purging, (punctuated, lazy) in PURGING.items():
        print(f"  state, {name}, {purging} ...", file=sys.stderr, flush=True)
        with written(workload, punctuated) as path:
            ran = run(path, lazy, batch_rows)
        results.add((ran.tuples, ran.results))
        yield purging, ran
    assert len(results) == 1


def _points(tuples: int) -> list[str]:
    return [f"{tuples * (n + 1) / _SAMPLES / 1e6:.3g} M" for n in range(_SAMPLES)]


def _samples(ran: Ran) -> list[tuple[int, int]]:
    """(tuples read, rows held) at each tenth of the input; at the very end nothing is held."""
    flowing = _flowing(ran)
    wanted = [ran.tuples * (n + 1) / _SAMPLES for n in range(_SAMPLES)]
    return [max((sample for sample in flowing if sample[0] <= at), default=flowing[0]) for at in wanted]


def _by_tenths(samples: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """The points of a curve: per cent read, rows held, at least 1 for the logarithmic axis."""
    return [(100 * (n + 1) / _SAMPLES, max(held, 1)) for n, (_, held) in enumerate(samples)]


def _most(ran: Ran) -> int:
    return max(held for _, held in _flowing(ran))


def _flowing(ran: Ran) -> list[tuple[int, int]]:
    """The samples before the input had ended."""
    return [sample for sample in ran.held if sample[0] < ran.tuples] or ran.held
