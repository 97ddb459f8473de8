"""What every task has in common: where its results go, what it leaves if it fails, and what it sends on."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import structs

from seine.operators.state.work_budget import NodeFault, WorkMeter
from seine.runtime.flow import blob_store
from seine.runtime.flow.emission import Emission
from seine.runtime.flow.parcels import encode
from seine.runtime.flow.task_row import REPORT, Row
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.results import Results
from seine.runtime.output.task_report import SourceReport, StageReport, TaskReport


@contextmanager
def noting_faults(deployment: Deployment, entry: int) -> Iterator[None]:
    """Leave a note for the driver of what a query did; the task fails all the same."""
    try:
        yield
    except NodeFault as fault:
        for one in (fault, *fault.others):
            deployment.faults.write(entry, one)
        raise


def new_emission(deployment: Deployment, entry: int) -> Emission:
    """Results go to a file that no other attempt of any task can have."""
    meter = WorkMeter(deployment.settings.budget)
    path = os.path.join(deployment.results(entry), f"{uuid.uuid4().hex}.jsonl")
    return Emission(Results(path, meter), meter)


def rows_of(
    deployment: Deployment,
    emission: Emission,
    entry: int,
    stage: int,
    bucket: int,
    held: StageReport,
    source: SourceReport | None = None,
) -> list[Row]:
    """What a task sends on: its parcels, and its report for the sink."""
    labels, folder = deployment.settings.labels, deployment.results(entry)
    rows = [
        (labels[there], to, blob_store.put(folder, encode(parcels)))
        for (to, there), parcels in emission.parcels.items()
    ]
    state = structs.replace(held, candidates=emission.meter.candidates(), work=emission.meter.work())
    results, seconds = emission.results.close(), time.perf_counter() - emission.began
    report = TaskReport(entry, stage, bucket, results, state, source, seconds, dict(emission.sent))
    return [*rows, (labels[0], REPORT, report.packed())]
