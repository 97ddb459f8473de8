"""Benchmark `nexmark` as one page: each query beside Flink and Spark, all in one pipeline, and variants."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seine.bench.harness.measure import BatchCost
from seine.bench.harness.saved_figures import Figure, Figures
from seine.bench.harness.side import SEINE, Runner, apart, together
from seine.bench.harness.table import Table
from seine.bench.nexmark.event_files import write_events, write_script
from seine.bench.nexmark.flink_environment import VERSION, flink_python
from seine.bench.nexmark.flink_queries import FLINK_RUNS
from seine.bench.nexmark.on_flink import run_flink
from seine.bench.nexmark.variants import ten_queries, variant_queries
from seine.demo.nexmark.nexmark_files import QUERIES, query_text
from seine.errors import RunError

_AUCTIONS_ALONE = dict.fromkeys(("q3", "q8"), 3 / 50)  # the share of events in their longest stream
SPARK_SQL = "seine.bench.nexmark.on_spark_sql"
_ABOUT_QUERIES = """\
### Each query

{events:,} events, {rate:,} of them in a second of event time; rows are those of the streams that a query
reads. Flink {version}: RocksDB, exactly-once checkpoints every second, two subtasks, JSON files. Spark: the
same text where it has all of it, RocksDB, JSON files. The first {warm} of {batches} parts of the events are
not counted: of Flink they are a job of their own, and its cost is taken off. CPU-seconds are of all
processes, for a million rows."""
_ABOUT_TOGETHER = """\
### All in one pipeline

The queries of the table above in one script, beside the sum of what they take apart."""
_ABOUT_VARIANTS = """\
### Personal variants

Ten queries, and {variants:,} variants of each: other thresholds, categories, states, remainders and window
lengths, each for its own part of the events."""


class Measured:
    """The costs of sides over one set of events, each measured once."""

    def __init__(self, folder: Path, sizes: Mapping[str, Any], figures: Figures) -> None:
        self._folder, self._sizes, self._figures = folder, sizes, figures
        self._runner: Runner = sizes.get("runner", apart)
        write_events(folder / "events", sizes["events"], sizes["batches"], sizes["rate"])

    @property
    def queries(self) -> Sequence[str]:
        chosen: Sequence[str] = self._sizes.get("queries", QUERIES)
        return chosen

    def seine(self, name: str, queries: str) -> BatchCost:
        """What a script of queries takes in one pipeline; a micro-batch has a part of the longest stream."""
        longest = _AUCTIONS_ALONE.get(name, 1.0)
        rows = int(self._sizes["events"] * longest) // self._sizes["batches"]

        def measure() -> Figure:
            path = write_script(self._folder / "events", name.replace(" ", "_"), queries)
            return asdict(self._runner(f"Seine, {name}", SEINE, path, rows, self._sizes["warm"]))

        return BatchCost(**self._figures.take(f"seine {name} {self._size}", measure))

    def spark(self, query: str) -> BatchCost | None:
        """What a query takes in Spark's SQL; None where Spark cannot run it."""

        def measure() -> Figure:
            arguments = (self._folder / "events", query, self._sizes["warm"])
            try:
                return asdict(self._runner(f"Spark, {query}", SPARK_SQL, *arguments))
            except RunError as error:
                print(f"    {error}", file=sys.stderr, flush=True)
                return {}

        figure = self._figures.take(f"spark {query} {self._size}", measure)
        return BatchCost(**figure) if figure else None

    def flink(self) -> dict[str, Figure]:
        """What each query takes on Flink, all in one process; where one failed, the reason."""

        def measure() -> Figure:
            python, few = flink_python(), self._folder / "few"
            write_events(few, first_events(self._sizes), self._sizes["warm"], self._sizes["rate"])
            wanted = [query for query in self.queries if query in FLINK_RUNS]
            costs = run_flink(python, self._folder / "events", few, wanted)
            return {query: asdict(cost) for query, cost in costs}

        return self._figures.take(f"flink {' '.join(self.queries)} {self._size}", measure)

    @property
    def _size(self) -> str:
        return " ".join(str(self._sizes[name]) for name in ("events", "batches", "rate"))


def main(sizes: Mapping[str, Any], only: str | None = None, resume: str | None = None) -> str:
    """The page of all parts, or of one."""
    with _measured(sizes, Figures(resume)) as measured:
        pages = []
        if only in (None, "seine", "flink", "spark"):
            about = _ABOUT_QUERIES.format(version=VERSION, **sizes)
            pages.append(f"{about}\n\n{_beside(measured, only, sizes)}")
        if only in (None, "together"):
            pages.append(f"{_ABOUT_TOGETHER}\n\n{_together(measured)}")
        if only in (None, "variants"):
            about = _ABOUT_VARIANTS.format(**sizes)
            pages.append(f"{about}\n\n{_varied(measured, sizes['variants'])}")
    return "\n\n".join(pages)


@contextmanager
def _measured(sizes: Mapping[str, Any], figures: Figures) -> Iterator[Measured]:
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
        yield Measured(Path(folder), sizes, figures)


def _beside(measured: Measured, only: str | None, sizes: Mapping[str, Any]) -> Table:
    """A row for each query; the ratios are those of CPU time to Seine's."""
    table = Table(
        *(
            "query",
            "Seine rows/s",
            "CPU-s/M",
            "Flink rows/s",
            "CPU-s/M",
            "to Seine",
            "Spark rows/s",
            "CPU-s/M",
            "to Seine",
        )
    )
    flink = measured.flink() if only in (None, "flink") else {}
    for query in measured.queries:
        seine = measured.seine(query, query_text(query))
        rows = _rows_read(query, sizes["events"]) - _rows_read(query, first_events(sizes))
        spark = measured.spark(query) if only in (None, "spark") else None
        table.add(
            query, *_cells(seine), *_flink_cells(flink.get(query), rows, seine), *_spark_cells(spark, seine)
        )
    return table


def first_events(sizes: Mapping[str, Any]) -> int:
    """How many events come before those that count.

    >>> first_events({"events": 1000, "warm": 2, "batches": 10})
    200
    """
    share: int = sizes["events"] * sizes["warm"] // sizes["batches"]
    return share


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


def _rows_read(query: str, events: int) -> int:
    """How many rows the streams have that a query reads."""
    persons, auctions = -(-events // 50), events * 3 // 50
    bids = events - persons - auctions
    return {"q3": persons + auctions, "q8": persons + auctions}.get(
        query, bids + (auctions if query in ("q4", "q6", "q9", "q20") else 0)
    )


def _together(measured: Measured) -> Table:
    table = Table("way", "pipelines", "CPU-s a micro-batch", "to one pipeline")
    whole = measured.seine("all queries", "\n".join(map(query_text, measured.queries)))
    apart_ = sum(measured.seine(query, query_text(query)).cpu_per_batch for query in measured.queries)
    table.add("one pipeline", "1", f"{whole.cpu_per_batch:.2f}", "1.00x")
    table.add("apart", str(len(measured.queries)), f"{apart_:.2f}", f"{apart_ / whole.cpu_per_batch:.2f}x")
    return table


def _varied(measured: Measured, variants: int) -> Table:
    table = Table("queries", "rows/s", "CPU-s/M", "records a micro-batch", "throughput ratio")
    ten = measured.seine("ten queries", ten_queries())
    many = measured.seine(f"{variants} variants of ten", variant_queries(variants))
    for count, cost in (("10", ten), (f"{10 * variants:,}", many)):
        ratio = cost.rows_per_second / ten.rows_per_second
        table.add(count, *_cells(cost), f"{cost.out_per_batch:,.0f}", f"{ratio:.2f}x")
    return table


FULL: Mapping[str, Any] = {"events": 1_000_000, "batches": 10, "warm": 4, "rate": 10_000, "variants": 1_000}
QUICK: Mapping[str, Any] = {
    "events": 8_000,
    "batches": 4,
    "warm": 1,
    "rate": 200,
    "variants": 10,
    "queries": ("q2", "q5", "q12", "q15", "q20"),
    "runner": together,
}
