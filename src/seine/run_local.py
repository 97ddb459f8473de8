"""Runs a script in this process, without Spark: for tests and for trying things out."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass
from typing import Any

from seine.errors import SeineError
from seine.frontends.script.script_file import read_script
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
    started = time.monotonic()
    script = read_script(path)
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as work:
        out, dead = os.path.join(work, "out.jsonl"), os.path.join(work, "dead.jsonl")
        options = Options(
            out,
            dead,
            os.path.join(work, "state"),
            batch_rows,
            buckets=buckets,
            sharing=sharing,
            memory=memory,
            budget=budget,
            sample=sample,
        )
        run = Run(script, options)
        if run.reading.streams:
            run.close()
            raise SeineError(f"stream {run.reading.streams[0].name} is read by Spark, which is not here")
        host = LocalHost(run.deployment)
        run.driver.run_all(host.run)
        run.close()
        return LocalResult(_lines(out), _lines(dead), run.statistics(time.monotonic() - started).document())


def _lines(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]
