"""Runs a script in this process, without Spark: the very same tasks in the same order, with state in memory.

For tests and for trying things out.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Script
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.runtime.flow.control_record import ControlRecord
from seine.runtime.flow.task_output import CONTROL, REPORT, Row
from seine.runtime.flow.tasks import read_slices, step_stage, task_slices
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.handover import StateHead
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.runtime.folder.segments import Parts, Segments
from seine.runtime.output.task_report import TaskReport
from seine.scratch_folder import scratch_folder


@dataclass(frozen=True)
class LocalResult:
    """What a run wrote: records and dead letters in order, and its statistics."""

    records: list[dict[str, Any]]
    dead: list[dict[str, Any]]
    stats: dict[str, Any]


def run_local(
    path: str,
    *,
    batch_rows: int | None = None,
    buckets: int = 2,
    sharing: Strategy = CONFIGURATIONS["all"],
    memory: int | None = None,
    budget: WorkBudget | None = None,
    sample: int = MOST_SAMPLED,
) -> LocalResult:
    """Run a script file to the end of its sources."""
    options = Options(
        batch_rows=batch_rows, buckets=buckets, sharing=sharing, memory=memory, budget=budget, sample=sample
    )
    return collect(read_script(path), options)


def collect(script: Script, options: Options) -> LocalResult:
    """Run a script to the end of its sources, and read back what it wrote."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as work:
        out, dead = os.path.join(work, "out.jsonl"), os.path.join(work, "dead.jsonl")
        here = replace(options, out=out, dead_letter=dead, checkpoint=os.path.join(work, "state"))
        with carried_here(script, here) as run:
            stats = run.statistics(time.monotonic() - started).document()
            records = _lines(out, run.records.read)
        return LocalResult(records, _lines(dead, json.loads), stats)


@contextmanager
def carried_here(script: Script, options: Options) -> Iterator[Run]:
    """A run that this process has carried to its end, open for questions; its sinks get nothing."""
    run = Run(script, replace(options, to_sinks=False))
    try:
        if run.reading.streams:
            raise SeineError(f"stream {run.reading.streams[0].name} is read by Spark, which is not here")
        run.driver.run_all(LocalHost(run.deployment).run)
        yield run
    finally:
        run.close()


def _lines(path: str, read: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [read(line) for line in file]


class LocalHost:
    """Runs entries of a deployment one after the other, for tests and for trying things out."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.heads: dict[tuple[int, int], bytes] = {}
        self.blobs: dict[str, bytes] = {}
        self._at_hand: dict[str, Parts] = {}  # the same as the blobs, as a worker's cache has it

    def run(self, number: int, read: Sequence[Row] = ()) -> list[TaskReport]:
        """One micro-batch; its reports. If it fails, state is as it was before.

        `read` is what tasks have made of streams that are not in the journal.
        """
        heads, blobs, at_hand = dict(self.heads), dict(self.blobs), dict(self._at_hand)
        try:
            return self._run(number, read)
        except BaseException:
            self.heads, self.blobs, self._at_hand = heads, blobs, at_hand
            raise

    def _run(self, number: int, read: Sequence[Row]) -> list[TaskReport]:
        settings, journal = self._deployment.settings, self._deployment.journal
        tasks = task_slices(journal.load(number), settings.parallelism) if journal.is_offered(number) else []
        rows = [*read, *(row for slices in tasks for row in read_slices(self._deployment.folder, slices))]
        labels = list(enumerate(settings.labels))
        for stage in range(1, settings.depth + 1):
            rows = [row for bucket, label in labels for row in self._stage(stage, bucket, label, rows)]
        return [TaskReport.unpacked(blob) for _, stage, blob in rows if stage == REPORT]

    def _stage(self, stage: int, bucket: int, label: int, rows: list[Row]) -> list[Row]:
        mine = [row for row in rows if row[0] == label]
        controls = [ControlRecord.unpacked(blob) for _, number, blob in mine if number == CONTROL]
        control = ControlRecord.merged(controls)
        if control is None:
            raise RuntimeError(f"bucket {bucket} of stage {stage} got no control record")
        blobs = [blob for _, number, blob in mine if number == stage]
        saved = self.heads.get((stage, bucket))
        before = StateHead.unpacked(saved) if saved else None
        state = Segments(before, lambda name: pa.py_buffer(self.blobs[name]), bucket, self._at_hand)
        produced = step_stage(self._deployment.folder, stage, bucket, blobs, control, state)
        head, added, gone = state.changes()
        self.heads[stage, bucket] = head.packed()
        self.blobs.update(added)
        self._at_hand.update(state.fresh())
        for name in gone:
            del self.blobs[name]
            self._at_hand.pop(name, None)  # a host that goes on for another one has nothing at hand
        return [row for row in mine if row[1] != stage] + produced
