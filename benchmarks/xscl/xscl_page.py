"""Benchmark `xscl` as one page: the figures of MMQJP with its parameters, and what the paper says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.side import together
from benchmarks.harness.table import Table
from benchmarks.xscl import feed_figure, pair_figures, stage_one, subscription_runs

_FIGURE_8 = """\
### Queries, two levels (MMQJP, figure 8)

6 leaves, Zipf 0.8; CPU microseconds a pair of documents, {pairs:,} pairs at once. Distinct queries are rows
of R_T: equal queries are one. DuckDB runs the SQL of 6.2 by one thread. R_out has a row for each distinct
query. The paper: alike when there are few queries, more than two orders of magnitude apart when there are
many."""
_FIGURE_9 = """\
### Leaves, two levels (MMQJP, figure 9)

1,000 queries, Zipf 0.8. The paper: both are about 6 times dearer with 12 leaves than with 4."""
_FIGURE_10 = """\
### Zipf's parameter, two levels (MMQJP, figure 10)

1,000 queries, 6 leaves. The paper: sequential evaluation gains a factor of 2 from 0.0 to 1.6, MMQJP hardly
changes."""
_FIGURE_11 = """\
### Queries, three levels (MMQJP, figure 11)

Branching 4, 16 leaves, at most 4 joins, Zipf 0.8. The paper: 6 to 22 templates, where mirror images are one
(here they are two), and two orders of magnitude at 100,000 queries."""
_FIGURE_12 = """\
### Joins, three levels (MMQJP, figure 12)

1,000 queries, Zipf 0.8. The paper: 2, 6, 20 and 39 templates for at most 2, 3, 4 and 5 joins, and MMQJP grows
faster than sequential evaluation."""
_FIGURE_13 = """\
### Zipf's parameter, three levels (MMQJP, figure 13)

1,000 queries, at most 4 joins. The paper: around 20 templates, and more effect on sequential evaluation."""
_FIGURES_14_15 = """\
### Views (MMQJP, figures 14 and 15)

{queries:,} queries; CPU microseconds a pair. The paper: materialising is cheap beside joining, and views gain
more with 22 templates than with 6."""
_FIGURE_16 = """\
### Feed items (MMQJP, figure 16)

{items:,} made-up items of 418 channels, T infinite; the last {measured:,} are matched, {batch:,} at once,
against all before them. CPU microseconds; R_out is counted, not written. Sequential: the last {sequential:,}
items, and of many queries a sample. The paper: flat beyond 10,000 queries, for queries repeat; views help
further; Stage 1 by YFilter took 15 s for the whole stream."""
_FEED_WINDOW = """\
### Feed items within a window

T = {window:,} items, of {items:,}; the last {measured:,} are matched, {batch:,} at once."""
_STAGE_ONE = """\
### Stage 1

{items:,} feed items of some 580 bytes; the values at all paths that queries join, in one pass. CPU time of
one core. The paper: YFilter took 15 s for 225,000 items."""
_END_TO_END = """\
### End to end on Spark

Subscriptions to what one channel posts again after another, about two records an item; {rows:,} items a
micro-batch. Queries differ in paths."""
_MILLION = """\
### A million queries on Spark

As end to end, with as many queries as fit; most of the time goes to reading and placing them, which is not
measured here. The first half of the batches warms up: a form is read when its first pair comes. The
throughput is to be at least 0.8 of that of the fewest."""
_CONSTANTS = """\
The same where queries differ in constants: `[channel = 'c7']`."""
_REGISTRATION = """\
### Registering

Subscriptions in bulk with a service, from the text to a durable answer."""

# the part it belongs to, its name, what it shows beside what the paper says, and what makes the table
TABLES: tuple[tuple[str, str, str, Callable[..., Table]], ...] = (
    ("figures", "figure 8", _FIGURE_8, pair_figures.figure_8),
    ("figures", "figure 9", _FIGURE_9, pair_figures.figure_9),
    ("figures", "figure 10", _FIGURE_10, pair_figures.figure_10),
    ("figures", "figure 11", _FIGURE_11, pair_figures.figure_11),
    ("figures", "figure 12", _FIGURE_12, pair_figures.figure_12),
    ("figures", "figure 13", _FIGURE_13, pair_figures.figure_13),
    ("figures", "figures 14 and 15", _FIGURES_14_15, pair_figures.figures_14_15),
    ("feed", "figure 16", _FIGURE_16, feed_figure.figure_16),
    ("feed", "feed window", _FEED_WINDOW, feed_figure.figure_16),
    ("stage-1", "stage 1", _STAGE_ONE, stage_one.stage_one),
    ("spark", "end to end", _END_TO_END, subscription_runs.end_to_end),
    ("spark", "constants", _CONSTANTS, subscription_runs.end_to_end),
    ("million", "a million", _MILLION, subscription_runs.end_to_end),
    ("registration", "registration", _REGISTRATION, subscription_runs.registering),
)


def main(sizes: Mapping[str, Mapping[str, Any]], only: str | None = None) -> str:
    """The page of all parts, or of one."""
    pages = []
    for part, name, text, tabulate in TABLES:
        if only in (None, part):
            print(f"  {name}", file=sys.stderr, flush=True)
            pages.append(f"{text.format(**sizes[name])}\n\n{tabulate(**sizes[name])}")
    return "\n\n".join(pages)


_ZIPFS = (0.0, 0.4, 0.8, 1.2, 1.6)
FULL: Mapping[str, Mapping[str, Any]] = {
    "figure 8": {"counts": (10, 100, 1_000, 10_000, 100_000), "pairs": 200},
    "figure 9": {"leaves": (4, 6, 8, 10, 12), "pairs": 200},
    "figure 10": {"zipfs": _ZIPFS, "pairs": 200},
    "figure 11": {"counts": (10, 100, 1_000, 10_000, 100_000), "pairs": 200},
    "figure 12": {"joins": (2, 3, 4, 5), "pairs": 200},
    "figure 13": {"zipfs": _ZIPFS, "pairs": 200},
    "figures 14 and 15": {"queries": 100_000, "pairs": 200},
    "figure 16": {
        "counts": (10, 100, 1_000, 10_000, 100_000, 1_000_000),
        **{"items": 225_000, "measured": 400, "batch": 200, "sequential": 200},
    },
    "feed window": {
        "counts": (1_000, 10_000, 100_000, 1_000_000),
        **{"items": 50_000, "measured": 10_000, "batch": 1_000, "sequential": 200, "window": 2_000},
    },
    "stage 1": {"counts": (1_000, 100_000, 1_000_000), "items": 100_000},
    "end to end": {"counts": (10_000, 100_000), "batches": 20, "rows": 20_000},
    "a million": {"counts": (10_000, 1_000_000), "batches": 60, "rows": 20_000},
    "constants": {"counts": (1_000, 10_000), "batches": 10, "rows": 5_000, "form": "constants"},
    "registration": {"counts": (10_000, 100_000)},
}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "figure 8": {"counts": (10, 200), "pairs": 10},
    "figure 9": {"leaves": (4, 6), "pairs": 10},
    "figure 10": {"zipfs": (0.0, 1.6), "pairs": 10},
    "figure 11": {"counts": (10, 200), "pairs": 10},
    "figure 12": {"joins": (2, 3), "pairs": 10},
    "figure 13": {"zipfs": (0.0, 1.6), "pairs": 10},
    "figures 14 and 15": {"queries": 300, "pairs": 10},
    "figure 16": {"counts": (10, 200), "items": 2_000, "measured": 40, "batch": 20, "sequential": 20},
    "feed window": {
        "counts": (200,),
        "items": 2_000,
        "measured": 40,
        "batch": 20,
        "sequential": 20,
        "window": 500,
    },
    "stage 1": {"counts": (1_000,), "items": 200},
    "end to end": {"counts": (20, 200), "batches": 4, "rows": 200, "runner": together},
    "a million": {"counts": (20,), "batches": 4, "rows": 200, "runner": together},
    "constants": {"counts": (200,), "batches": 4, "rows": 200, "form": "constants", "runner": together},
    "registration": {"counts": (100,)},
}
