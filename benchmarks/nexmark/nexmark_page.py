"""Benchmark `nexmark` as one page: each query beside Flink and Spark, all in one pipeline, and variants."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.side import together
from benchmarks.harness.table import Table
from benchmarks.nexmark.flink_environment import VERSION
from benchmarks.nexmark.measured_sides import WITHOUT_BIDS, Measured, first_events, rows_read
from benchmarks.nexmark.on_seine_queries import run_scripts_here
from benchmarks.nexmark.variants import ten_queries, variant_queries
from seine.demo.nexmark.events import QUERIES, query_text
from seine.errors import SeineError

_ABOUT_QUERIES = """\
### Each query

{events:,} events, {rate:,} of them in a second of event time; of q3 and q8, which read no bids, the persons
and auctions of {sellers:,}. Rows are those of the streams that a query reads; CPU-seconds are of all
processes, for a million rows. Each side runs its queries one after the other in one process, and what counts
is beyond the first events. Seine: micro-batches of at most {batch_rows:,} rows of a stream, with 32 MiB for
each 200,000 of these; the first {warm} do not count. Flink {version}: RocksDB, exactly-once checkpoints every
second, two subtasks; a job over the first quarter of the events is taken off, the second of two such jobs.
Spark: the same text where it has all of it, RocksDB, {files} micro-batches. All read the same JSON files and
write JSON files."""
_ABOUT_TOGETHER = """\
### All in one pipeline

The queries of the table above in one script, beside the sum of what they take apart: with micro-batches as in
that table, and with those that a live stream makes, where each pipeline takes what has come in a second or
less: {live_batches} of them, of which the first quarter does not count. CPU-seconds are for a million
events."""
_ABOUT_VARIANTS = """\
### Personal variants

Ten queries, and {variants:,} variants of each: other thresholds, categories, states, remainders and window
lengths, each for its own part of the events."""
_ABOUT_FLINK_VARIANTS = """\
### Personal variants on Flink

The same variants on Flink {version}, in one job, a statement set with an INSERT for each:
{flink_variant_events:,} events, a heap of 4 GiB, at most {flink_seconds} seconds for each number of variants.
Planning and starting are counted."""


def main(
    sizes: Mapping[str, Any], only: str | None = None, resume: str | None = None, queries: str | None = None
) -> str:
    """The page of all parts, or of one; of all queries, or of those that are named."""
    sizes = {**sizes, "queries": _named(queries)} if queries else sizes
    pages = []
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        figures = Figures(resume)
        measured = Measured(Path(folder), sizes, figures)
        if only in (None, "seine", "flink", "spark"):
            about = _ABOUT_QUERIES.format(version=VERSION, **sizes)
            pages.append(f"{about}\n\n{_beside(measured, only, sizes)}")
        if only in (None, "together"):
            live = [
                (size, Measured(Path(folder, f"live{size}"), _live(sizes, size), figures))
                for size in sizes["live"]
            ]
            pages.append(f"{_ABOUT_TOGETHER.format(**sizes)}\n\n{_together([(None, measured), *live])}")
        if only in (None, "variants"):
            about = _ABOUT_VARIANTS.format(**sizes)
            pages.append(f"{about}\n\n{_varied(measured, sizes['variants'])}")
        if only in (None, "flink-variants"):
            about = _ABOUT_FLINK_VARIANTS.format(version=VERSION, **sizes)
            pages.append(f"{about}\n\n{_varied_on_flink(measured)}")
    return "\n\n".join(pages)


def _named(queries: str) -> tuple[str, ...]:
    """The queries of a list like `q0,q5`."""
    names = tuple(queries.split(","))
    for name in names:
        if name not in QUERIES:
            raise SeineError(f"Nexmark has no query '{name}'", hint=f"{QUERIES[0]} to {QUERIES[-1]}")
    return names


def _live(sizes: Mapping[str, Any], size: int) -> Mapping[str, Any]:
    """Sizes with which a micro-batch has so many events.

    It is bounded in rows of each stream: of events without bids the largest has three in four, auctions.
    """
    batches = sizes["live_batches"]
    rows = {"batch_rows": rows_read("q0", size), "seller_rows": rows_read("q3", size) * 3 // 4}
    events = {"events": size * batches, "sellers": size * batches, "warm": batches // 4}
    return {**sizes, **rows, **events}


def _apart(measured: Measured) -> dict[str, BatchCost]:
    return measured.seine({query: query_text(query) for query in measured.queries})


def _beside(measured: Measured, only: str | None, sizes: Mapping[str, Any]) -> Table:
    """A row for each query; the ratios are those of CPU time to Seine's."""
    side = ("rows/s", "CPU-s/M", "to Seine")
    table = Table(
        "query", "Seine rows/s", "CPU-s/M", f"Flink {side[0]}", *side[1:], f"Spark {side[0]}", *side[1:]
    )
    flink = measured.flink() if only in (None, "flink") else {}
    apart = _apart(measured)
    for query in measured.queries:
        events = sizes["sellers" if query in WITHOUT_BIDS else "events"]
        rows = rows_read(query, events) - rows_read(query, first_events(events))
        spark = measured.spark(query) if only in (None, "spark") else None
        seine = apart[query]
        flink_cells = _flink_cells(flink.get(query), rows, seine)
        table.add(query, *_cells(seine), *flink_cells, *_spark_cells(spark, seine))
    return table


def _cells(cost: BatchCost) -> tuple[str, str]:
    return f"{cost.rows_per_second:,.0f}", f"{cost.cpu_per_million:.2f}"


def _flink_cells(cost: Figure | None, rows: int, seine: BatchCost) -> tuple[str, str, str]:
    if cost is None:
        return "-", "-", "-"
    if cost["failure"]:
        return "refused", "-", "-"
    cpu = cost["cpu"] / rows * 1e6
    return f"{rows / max(cost['wall'], 1e-9):,.0f}", f"{cpu:.2f}", f"{cpu / seine.cpu_per_million:.2f}x"


def _spark_cells(cost: BatchCost | None, seine: BatchCost) -> tuple[str, str, str]:
    if cost is None:
        return "-", "-", "-"
    return *_cells(cost), f"{cost.cpu_per_million / seine.cpu_per_million:.2f}x"


def _together(measured: Sequence[tuple[int | None, Measured]]) -> Table:
    """CPU of a million events, of which each pipeline reads those of its streams.

    Each of `measured` has so many events in a micro-batch; None: as many as in the first table.
    """
    table = Table("events a micro-batch", "one pipeline, CPU-s/M", "apart", "to one pipeline")
    for size, sides in measured:
        apart = _apart(sides)
        name, text = "all queries", "\n".join(map(query_text, sides.queries))
        one = sides.seine({name: text})[name].cpu_per_million
        sum_ = sum(cost.cpu_per_million * rows_read(query, 10**6) / 1e6 for query, cost in apart.items())
        words = "as above" if size is None else f"{size:,}"
        table.add(words, f"{one:.2f}", f"{sum_:.2f}", f"{sum_ / one:.2f}x")
    return table


def _varied(measured: Measured, variants: int) -> Table:
    table = Table("queries", "rows/s", "CPU-s/M", "records a micro-batch", "throughput ratio")
    scripts = {"ten queries": ten_queries(), f"{variants} variants of ten": variant_queries(variants)}
    ten, many = measured.seine(scripts).values()
    for count, cost in (("10", ten), (f"{10 * variants:,}", many)):
        ratio = cost.rows_per_second / ten.rows_per_second
        table.add(count, *_cells(cost), f"{cost.out_per_batch:,.0f}", f"{ratio:.2f}x")
    return table


def _varied_on_flink(measured: Measured) -> Table:
    table = Table("queries", "seconds", "CPU-seconds", "end")
    for count, cost in measured.flink_variants().items():
        end = cost["failure"] or "all results"
        table.add(f"{10 * count:,}", f"{cost['wall']:.0f}", f"{cost['cpu']:.0f}", end)
    return table


FULL: Mapping[str, Any] = {
    **{"events": 2_000_000, "sellers": 16_000_000, "rate": 10_000, "files": 7},
    **{"batch_rows": 400_000, "warm": 2, "variants": 1_000, "live": (10_000, 1_000), "live_batches": 40},
    **{"flink_variants": (1, 3, 10, 30, 100, 1_000), "flink_variant_events": 100_000, "flink_seconds": 600},
}
QUICK: Mapping[str, Any] = {
    **{"events": 8_000, "sellers": 40_000, "rate": 200, "files": 4},
    **{"batch_rows": 2_000, "warm": 1, "variants": 10, "live": (200,), "live_batches": 4},
    **{"flink_variants": (1,), "flink_variant_events": 2_000, "flink_seconds": 120},
    "queries": ("q2", "q5", "q12", "q15", "q20"),
    "runner": together,
    "scripts": run_scripts_here,
}
