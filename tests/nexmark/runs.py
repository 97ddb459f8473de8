"""Runs of Nexmark's scripts without Spark, whole or killed, and what was output at each watermark."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seine.demo.nexmark.events import QUERIES, Nexmark, make_nexmark, write_nexmark
from seine.frontends.script.parser import read_script
from seine.network.plan.strategy import CONFIGURATIONS
from seine.rows.clock import Clock
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport

LATENESS = 4_000  # milliseconds, as the streams are declared


Mark = tuple[Clock, int]  # after a micro-batch: its clock, and how many records there were


@dataclass(frozen=True)
class Output:
    """The records of a run, and a mark after each micro-batch."""

    records: list[dict[str, Any]]
    marks: list[Mark]

    def of(self, query: str, first: int | None = None) -> list[dict[str, Any]]:
        """The records of a query, or those among the first so many."""
        return [record for record in self.records[:first] if record["query"] == query]

    def named(self, query: str, name: str) -> Output:
        """The same with another name for a query."""
        kept = [record for record in self.records if record["query"] != name]
        assert len(kept) == len(self.records), "the name is taken"
        renamed = [{**one, "query": name} if one["query"] == query else one for one in kept]
        return Output(renamed, self.marks)


def some_events(events: int, seed: int) -> Nexmark:
    """Events of a slow site: half a minute of 6,000, in which a day ends; some happen at one time."""
    made = make_nexmark(events, seed=seed, rate=200)
    return Nexmark(**{name: _coarse(table) for name, table in made.tables().items()})


def out_of_order(events: Nexmark, seed: int) -> Nexmark:
    """The same events as they arrive when each is delayed a little, none more than LATENESS allows."""
    random = np.random.default_rng(seed)
    arrived = {}
    for name, table in events.tables().items():
        times = table["date_time"].cast(pa.int64()).to_numpy()
        order = np.argsort(times + random.integers(0, LATENESS, len(times)), kind="stable")
        arrived[name] = table.take(pa.array(order))
    return Nexmark(**arrived)


def _coarse(table: pa.Table) -> pa.Table:
    """With times of a few hundredths of a second."""
    times = table["date_time"].cast(pa.int64()).to_numpy() // 40 * 40
    place = table.schema.get_field_index("date_time")
    return table.set_column(place, "date_time", pa.array(times, pa.timestamp("ms")))


class Killed(Exception):
    """Stands for the end of a process."""


class _Attempt:
    """One process of a run: it goes on with the state that another one has left."""

    def __init__(self, script: Path, options: Options, marks: list[Mark], before: _Attempt | None) -> None:
        self._marks = marks
        self.run = Run(read_script(str(script)), replace(options, progress=self._take_mark))
        self.host = LocalHost(self.run.deployment)
        if before is not None:
            self.host.heads, self.host.blobs = before.host.heads, before.host.blobs

    def finish(self, kills: set[int]) -> None:
        """Work to the end, or until after one of the micro-batches `kills`, whose work is lost."""
        try:
            self.run.driver.run_all(lambda number: self._work(number, kills))
        finally:
            self.run.close()

    def _take_mark(self, sink: Sink) -> None:
        clock = self.run.deployment.journal.load(sink.totals.entry).clock
        self._marks.append((clock, sink.totals.output_rows))

    def _work(self, number: int, kills: set[int]) -> Sequence[TaskReport]:
        before = dict(self.host.heads), dict(self.host.blobs)
        reports = self.host.run(number)
        if number in kills:
            kills.remove(number)
            self.host.heads, self.host.blobs = before
            raise Killed
        return reports


def carry(
    folder: Path,
    events: Nexmark,
    queries: Sequence[str] = QUERIES,
    *,
    batch_rows: int = 1_500,
    sharing: str = "all",
    kills: Collection[int] = (),
    more: str = "",
) -> Output:
    """Run queries, and `more` statements, over events to the end, killed in each micro-batch of `kills`."""
    script, out = write_nexmark(folder, events, queries), folder / "out.jsonl"
    script.write_text(script.read_text() + more)
    options = Options(
        out=str(out),
        checkpoint=str(folder / "checkpoint"),
        batch_rows=batch_rows,
        sharing=CONFIGURATIONS[sharing],
    )
    marks: list[Mark] = []
    left, attempt = set(kills), None
    while True:
        attempt = _Attempt(script, options, marks, attempt)
        with suppress(Killed):
            attempt.finish(left)
            break
    assert not left, "the run was over before it could be killed"
    return Output([json.loads(line) for line in out.read_text().splitlines()], marks)
