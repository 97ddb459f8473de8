"""What every task has in common: where its results go, what it leaves if it fails, and what it sends on.

One kind of row moves between Spark stages. What goes through the JVM is copied and sorted there several times
over. So a large blob is written once to an object of the pipeline's store that no other attempt can have, and
is mapped by the task that needs it; Spark moves its name. It goes when its entry is committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from msgspec import structs

from seine.operators.state.work_budget import NodeFault, WorkMeter, held_memory, hold_memory
from seine.runtime.flow.parcels import Emission, encode
from seine.runtime.folder.at_work import host_task, work_record
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.results import Results
from seine.runtime.output.task_pieces import PieceWriter, put_piece
from seine.runtime.output.task_report import SourceReport, StageReport, TaskReport
from seine.storage.store import Store
from seine.user_code.process import limit_functions


def begin_worker_task(folder: str, task: int) -> None:
    """What a process does first that is nothing but a worker: it is held to the memory that it may take.

    `task` is the host's number of what it works on now.
    """
    host_task.set(task)
    hold_memory(Deployment(folder).settings.worker_memory)


@contextmanager
def task_at_work(deployment: Deployment, entry: int) -> Iterator[Emission]:
    """A task, and what it emits; the driver finds what it was at if its process dies, and what a query did.

    In each case the task fails all the same.
    """
    record = work_record(deployment.at_work)
    budget = deployment.settings.budget
    meter = WorkMeter(budget, record.note, held_memory())
    limit_functions(budget.functions)
    record.begin(entry)
    try:
        with meter.counting(), meter.judging_memory():
            yield _emission(deployment, entry, meter)
    except NodeFault as fault:
        for one in (fault, *fault.others):
            deployment.faults.write(entry, one)
        raise
    finally:
        record.end()


def _emission(deployment: Deployment, entry: int, meter: WorkMeter) -> Emission:
    return Emission(Results(PieceWriter(deployment.store, entry), meter), meter)


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
    labels, store = deployment.settings.labels, deployment.store
    rows = [
        (labels[there], to, put_blob(store, entry, encode(parcels)))
        for (to, there), parcels in emission.parcels.items()
    ]
    state = structs.replace(held, candidates=emission.meter.candidates(), work=emission.meter.work())
    results, seconds = emission.results.close(), time.perf_counter() - emission.began
    report = TaskReport(entry, stage, bucket, results, state, source, seconds, dict(emission.sent))
    return [*rows, (labels[0], REPORT, report.packed())]


ARROW_SCHEMA = pa.schema([("bucket", pa.int32()), ("stage", pa.int32()), ("blob", pa.binary())])

CONTROL = -1  # stage number of the record that every bucket of every stage gets in every batch
REPORT = 0  # stage number of what a task reports to the sink

Row = tuple[int, int, bytes]


def to_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)],
        schema=ARROW_SCHEMA,
    )


_LEAST_BLOB = 1 << 15  # bytes, that are an object
_BLOB_NOTE = b"@piece:"  # a blob starts with the eight bytes of a small number, never with this


def put_blob(store: Store, entry: int, parts: list[bytes | pa.Buffer]) -> bytes:
    """The blob that the parts make, or a note of the object that has it."""
    if sum(map(len, parts)) < _LEAST_BLOB:
        return b"".join(parts)
    return _BLOB_NOTE + put_piece(store, entry, parts).encode()


def get_blob(store: Store, blob: bytes) -> bytes | pa.Buffer:
    """What was put: the blob itself, or its object mapped."""
    return store.local(blob[len(_BLOB_NOTE) :].decode()) if blob.startswith(_BLOB_NOTE) else blob
