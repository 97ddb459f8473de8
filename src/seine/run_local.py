"""Runs a script in this process, without Spark: the very same tasks, for tests and for trying things out."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Script
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.runtime.local_host import LocalHost
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
