"""The function that tasks of a source of Spark's run: the first part of the pipeline, before any shuffle.

Spark numbers micro-batches without gaps, and gives a repeated one its number again: a task knows its entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from seine.intake.source_branch import SourceBranch

BATCH_NUMBER = "streaming.sql.batchId"  # the property of a task that Spark sets


def task_of_batch(start: int) -> tuple[int, int]:
    """The entry of the micro-batch that this task is of, and the place of the task in it.

    `start` is the entry that handed over to this pipeline, -1 if there was none before it.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "a task of Spark's"
    batch = context.getLocalProperty(BATCH_NUMBER)
    if batch is None:
        raise RuntimeError("a source of Spark's is read outside of a micro-batch")
    return start + 1 + int(batch), context.partitionId()


class ReadSource:
    """Reads a stream in the tasks of its source; sent to them as it is."""

    def __init__(self, folder: str, start: int, branch: SourceBranch) -> None:
        """`start` is the entry that handed over to this pipeline, -1 if there was none before it."""
        self.folder = folder
        self.start = start
        self.stream = branch.stream
        self.born = branch.born

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.read_source import read_source
        from seine.runtime.flow.task_row import to_batch
        from seine.spark.worker_task import begin_task

        begin_task(self.folder)
        entry, place = task_of_batch(self.start)
        yield to_batch(read_source(self.folder, entry, self.stream, place, batches, self.born))
