"""Figures 4, 5 and 6 of the paper, with its parameters, and the same for streams that are harder.

Cites: STAR 4.2, 4.3
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import fmean

import numpy as np

from benchmarks.harness.chart import Curve, line_chart
from benchmarks.harness.table import Table
from benchmarks.sides.on_shedder import StarBenchmark
from benchmarks.workloads.star_streams import WORKLOADS, make
from seine.shedding.exact import TupleGains, best_stays
from seine.shedding.policy import FOREVER

PAPER = "as in the paper"
ONLINE = ("rand", "semantic", "simp", "simpprob", "dimpprob", "dgl", "auto")
Curves = dict[str, list[tuple[float, float]]]
Picture = tuple[str, str]  # the name of its file, and the SVG


def figure_4(length: int, memories: Sequence[int], facts: int = 250, life: int = 10) -> tuple[Table, Picture]:
    """The optimum, the most results whatever their importance, and random shedding."""
    measured = StarBenchmark(make(PAPER, 4, length, life, facts))
    table = Table("memory", "exact", "optimum", "most results", "rand", "results (optimum)", "results (most)")
    curves: Curves = {
        "exact": [],
        "optimum": [],
        "most results": [],
        "rand": [],
    }
    for memory in memories:
        best, most = measured.optimum(memory), measured.optimum(memory, by_outputs=True)
        rand = measured.share("rand", memory) * measured.total
        values = (measured.total, best.importance, most.importance, rand)
        for points, value in zip(curves.values(), values, strict=True):
            points.append((memory, value))
        table.add(
            str(memory), *(f"{value:,.0f}" for value in values), f"{best.outputs:,}", f"{most.outputs:,}"
        )
    drawn = line_chart(
        "Offline: total importance by memory (STAR, figure 4)",
        "memory (tuples)",
        "total importance",
        [Curve(name, points) for name, points in curves.items()],
        even=True,
    )
    return table, ("star-offline.svg", drawn)


def figure_5(length: int, sizes: Sequence[int], memory: int = 10, life: int = 10) -> tuple[Table, Picture]:
    """CPU milliseconds of the optimum, with all tuples and with those alone that meet the relation."""
    table = Table("relation tuples", "tuples that meet one", "pre-filtered", "not filtered", "ratio", "ours")
    curves: Curves = {"pre-filtered": [], "not filtered": [], "ours": []}
    for facts in sizes:
        measured = StarBenchmark(make(PAPER, 5, length, life, facts))
        carrying = fmean(float((np.diff(arrivals.offsets) > 0).mean()) for arrivals in measured.streams)
        spent = [_milliseconds(measured, life, memory, which) for which in (1, 0, FOREVER)]
        for points, value in zip(curves.values(), spent, strict=True):
            points.append((facts, value))
        cells = [f"{value:,.0f} ms" for value in spent]
        ratio = f"{spent[1] / spent[0]:.2f}x"
        table.add(f"{facts:,}", f"{100 * carrying:.0f} %", *cells[:2], ratio, cells[2])
    drawn = line_chart(
        "The optimum with and without pre-filtering (STAR, figure 5)",
        "relation tuples",
        "CPU milliseconds",
        [Curve(name, points) for name, points in curves.items()],
        even=True,
    )
    return table, ("star-prefiltering.svg", drawn)


def _milliseconds(measured: StarBenchmark, life: int, memory: int, least: int) -> float:
    """What the flow of both windows costs, the mean of three."""
    problems = [list(_stays(measured, side, life, least)) for side in (0, 1)]
    began = time.process_time()
    for stays in problems * 3:
        best_stays(stays, memory // 2)
    return 1000 * (time.process_time() - began) / 3


def _stays(measured: StarBenchmark, side: int, life: int, least: int) -> Iterator[TupleGains]:
    """A tuple with at least so many tokens may stay or go at every instant, others where they gain."""
    exact, arrivals = measured.exact, measured.streams[side]
    holder = (exact.right if side else exact.left).tolist()
    since, at = (exact.right_ts, exact.left_ts) if side else (exact.left_ts, exact.right_ts)
    gains: list[dict[int, int]] = [{} for _ in range(len(arrivals))]
    for place in np.flatnonzero(since < at).tolist():
        tuple_gains = gains[holder[place]]
        tuple_gains[int(at[place])] = tuple_gains.get(int(at[place]), 0) + int(exact.importance[place])
    for ts, count, tuple_gains in zip(
        arrivals.ts.tolist(), np.diff(arrivals.offsets).tolist(), gains, strict=True
    ):
        always = dict.fromkeys(range(ts + 1, ts + life), 0) if count >= least else {}
        yield TupleGains(ts, tuple(sorted({**always, **tuple_gains}.items())))


def figure_6(
    length: int, memories: Sequence[int], seeds: int, facts: int = 250, life: int = 50
) -> tuple[Table, Picture]:
    """Shares of the exact total importance: every policy, what can be expected, and the optimum."""
    names = (*ONLINE, "no foresight", "optimum")
    table = Table("memory", *names)
    curves: Curves = {name: [] for name in names if name != "semantic"}
    all_measured = [StarBenchmark(make(PAPER, seed, length, life, facts)) for seed in range(seeds)]
    for memory in memories:
        mean_shares = shares(all_measured, ONLINE, memory)
        table.add(str(memory), *(f"{100 * share:.1f} %" for share in mean_shares.values()))
        for name, points in curves.items():
            points.append((memory, 100 * mean_shares[name]))
    drawn = line_chart(
        "Online: share of the exact importance by memory (STAR, figure 6)",
        "memory (tuples)",
        "per cent of the exact total importance",
        [Curve(name, points) for name, points in reversed(curves.items())],
        even=True,
    )
    return table, ("star-online.svg", drawn)


def harder(length: int, memories: Sequence[int], seeds: int, facts: int = 250, life: int = 50) -> Table:
    """The gap to the optimum on every kind of stream."""
    names = ("rand", "simp", "semantic", "dgl", "auto")
    table = Table("streams", "memory", *names, "no foresight", "optimum", "auto of the optimum")
    for workload in WORKLOADS:
        all_measured = [StarBenchmark(make(workload, seed, length, life, facts)) for seed in range(seeds)]
        for memory in memories:
            mean_shares = shares(all_measured, names, memory)
            if workload == "keys that drift":  # its rates are not those of the whole run
                mean_shares["no foresight"] = float("nan")
            cells = [f"{100 * share:.1f} %" if share == share else "-" for share in mean_shares.values()]
            table.add(
                workload, str(memory), *cells, f"{100 * mean_shares['auto'] / mean_shares['optimum']:.0f} %"
            )
    return table


def shares(all_measured: Sequence[StarBenchmark], policies: Sequence[str], memory: int) -> dict[str, float]:
    """The mean share over some runs, of policies and of the two bounds."""
    mean_shares = {
        name: fmean(measured.share(name, memory, seed) for seed, measured in enumerate(all_measured))
        for name in policies
    }
    mean_shares["no foresight"] = fmean(measured.expected(memory) for measured in all_measured)
    mean_shares["optimum"] = fmean(
        measured.optimum(memory).importance / measured.total for measured in all_measured
    )
    return mean_shares
