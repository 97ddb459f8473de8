"""What sides take over Nexmark's events, each measured once and kept: Seine, Flink, Spark's SQL."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.side import Runner, announce, apart
from benchmarks.nexmark.event_files import write_events, write_script
from benchmarks.nexmark.flink_environment import flink_python
from benchmarks.nexmark.flink_queries import FLINK_RUNS
from benchmarks.nexmark.on_flink import Place, run_flink
from benchmarks.nexmark.on_flink_variants import run_flink_variants
from benchmarks.nexmark.on_seine_queries import run_scripts
from seine.demo.nexmark.events import QUERIES
from seine.errors import RunError

WITHOUT_BIDS = ("q3", "q8")  # they have events of their own: as many persons and auctions as others have bids
SPARK_SQL = "benchmarks.nexmark.on_spark_sql"


class Measured:
    """The costs of sides over one set of events; figures that are known are not taken again."""

    def __init__(self, folder: Path, sizes: Mapping[str, Any], figures: Figures) -> None:
        self._folder, self._sizes, self._figures = folder, sizes, figures
        self._runner: Runner = sizes.get("runner", apart)
        self._run_scripts = sizes.get("scripts", run_scripts)

    @property
    def queries(self) -> Sequence[str]:
        """Those that were asked for."""
        chosen: Sequence[str] = self._sizes.get("queries", QUERIES)
        return chosen

    def seine(self, scripts: Mapping[str, str]) -> dict[str, BatchCost]:
        """What scripts of queries take, each in a pipeline of its own, one after the other."""
        missing = [name for name in scripts if self._key("seine", name) not in self._figures]
        jobs = [self._job(name, scripts[name]) for name in missing]
        for name, cost in self._run_scripts(jobs) if jobs else ():
            self._figures.keep(self._key("seine", name), asdict(cost))
        return {name: BatchCost(**self._figures[self._key("seine", name)]) for name in scripts}

    def spark(self, query: str) -> BatchCost | None:
        """What a query takes in Spark's SQL; None where Spark cannot run it."""

        def measure() -> Figure:
            arguments = (self._place(query).whole, query, self._sizes["warm"])
            try:
                return asdict(self._runner(f"Spark, {query}", SPARK_SQL, *arguments))
            except RunError as error:
                print(f"    {error}", file=sys.stderr, flush=True)
                return {}

        figure = self._figures.take(self._key("spark", query), measure)
        return BatchCost(**figure) if figure else None

    def flink(self) -> dict[str, Figure]:
        """What each query takes on Flink, all in one process; where one failed, the reason."""
        wanted = [query for query in self.queries if query in FLINK_RUNS]
        missing = [query for query in wanted if self._key("flink", query) not in self._figures]
        if missing:
            places = {query: self._place(query) for query in missing}
            for query, cost in run_flink(flink_python(), places):
                self._figures.keep(self._key("flink", query), asdict(cost))
        return {query: self._figures[self._key("flink", query)] for query in wanted}

    def flink_variants(self) -> dict[int, Figure]:
        """What one job of so many variants of each of ten queries takes, up to one that fails."""

        def measure() -> Figure:
            counts, seconds = self._sizes["flink_variants"], self._sizes["flink_seconds"]
            taken = run_flink_variants(flink_python(), self._variant_events, counts, seconds)
            return {str(count): asdict(cost) for count, cost in taken}

        figures = self._figures.take(self._key("flink", "variants"), measure)
        return {count: figures[str(count)] for count in sorted(map(int, figures))}

    @cached_property
    def _variant_events(self) -> Path:
        folder = self._folder / "variants"
        write_events(folder, self._sizes["flink_variant_events"], 1, self._sizes["rate"])
        return folder

    def _job(self, name: str, queries: str) -> tuple[str, str, int, int]:
        script = write_script(self._place(name).whole, name.replace(" ", "_"), queries)
        rows = self._sizes["batch_rows"]
        rows = self._sizes.get("seller_rows", rows) if name in WITHOUT_BIDS else rows
        return name, str(script), rows, self._sizes["warm"]

    def _place(self, query: str) -> Place:
        return self._sellers if query in WITHOUT_BIDS else self._events

    @cached_property
    def _events(self) -> Place:
        return self._written("events", self._sizes["events"], bids=True)

    @cached_property
    def _sellers(self) -> Place:
        return self._written("sellers", self._sizes["sellers"], bids=False)

    def _written(self, name: str, events: int, *, bids: bool) -> Place:
        """All events, a file for each micro-batch of Spark, and the first of them."""
        announce(f"writing {events:,} {'events' if bids else 'events, of which the bids are left out'}")
        place = Place(self._folder / name, self._folder / f"first_{name}")
        files, rate = self._sizes["files"], self._sizes["rate"]
        write_events(place.whole, events, files, rate, bids=bids)
        write_events(place.first, first_events(events), 1, rate, bids=bids)
        return place

    def _key(self, side: str, name: str) -> str:
        return f"{side} {name} " + " ".join(
            str(self._sizes[size]) for size in ("events", "batch_rows", "rate")
        )


def first_events(events: int) -> int:
    """How many events come before those that count on Flink.

    >>> first_events(1000)
    250
    """
    return events // 4


def rows_read(query: str, events: int) -> int:
    """How many rows of so many events the streams have that a query reads.

    >>> rows_read("q0", 100), rows_read("q3", 100), rows_read("q20", 100)
    (92, 8, 98)
    """
    persons, auctions = -(-events // 50), events * 3 // 50
    if query in WITHOUT_BIDS:
        return persons + auctions
    return events - persons - (0 if query in ("q4", "q6", "q9", "q20") else auctions)
