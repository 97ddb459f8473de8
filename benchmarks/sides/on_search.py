"""A side: keyword search by our own operator, in the whole pipeline but without Spark."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass

from benchmarks.sides.on_mesh import ROWS_OF_A_STEP, SearchRun
from benchmarks.workloads.search_files import keyword_search, keyword_texts, write_search
from benchmarks.workloads.search_trace import SearchTrace
from seine.frontends.script.parser import read_script
from seine.network.network import build_network
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.flow.task_output import Row
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.sink import Sink


@dataclass(frozen=True)
class PipelineRun:
    """What a script took: CPU seconds by bucket of its stages, results, rows held at most."""

    by_bucket: dict[int, float]
    results: int
    peak_rows: int

    @property
    def seconds(self) -> float:
        """CPU seconds of all buckets."""
        return sum(self.by_bucket.values())

    @property
    def busiest(self) -> float:
        """The share of the busiest bucket."""
        return max(self.by_bucket.values()) / self.seconds


class BucketHost(LocalHost):
    """A local host that measures the CPU time of its buckets."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__(deployment)
        self.by_bucket = Counter[int]()

    def _stage(self, stage: int, bucket: int, label: int, rows: list[Row]) -> list[Row]:
        started = time.process_time_ns()
        produced = super()._stage(stage, bucket, label, rows)
        self.by_bucket[bucket] += time.process_time_ns() - started
        return produced


def run_script(path: str, batch_rows: int, buckets: int = 1) -> PipelineRun:
    """Run a script to the end of its input; every line must be fine."""
    held = [0]

    def progress(sink: Sink) -> None:
        held.append(sum(sink.totals.state_rows.values()))

    with tempfile.TemporaryDirectory(prefix="seine-") as work:
        out, dead = os.path.join(work, "out.jsonl"), os.path.join(work, "dead.jsonl")
        options = Options(out, dead, None, batch_rows, buckets=buckets, progress=progress)
        running = Run(read_script(path), options)
        host = BucketHost(running.deployment)
        running.driver.run_all(host.run)
        running.close()
        totals = running.sink.totals
    assert not totals.dead_letters
    seconds = {bucket: spent / 1e9 for bucket, spent in host.by_bucket.items()}
    return PipelineRun(seconds, totals.output_rows, max(held) // buckets)


def run_ours(trace: SearchTrace, rows: int = ROWS_OF_A_STEP) -> SearchRun:
    """Run our operator over a trace, by default in the steps of the paper's; rows held are of one bucket."""
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        path = write_search(folder, trace, keyword_texts(trace), [keyword_search(trace)])
        queries = read_script(path).declarations.queries
        began = time.process_time()
        build_network(queries.values())
        set_up = time.process_time() - began
        ran = run_script(path, max(1, rows // trace.streams))
    return SearchRun(set_up, ran.seconds, ran.results, ran.peak_rows, 0)
