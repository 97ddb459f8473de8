"""What tasks do first in their worker process, and last on a cluster, whatever part they are of.

Law: Spark ships these by name, so that a worker imports this file, and nothing of the driver's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from seine.disk_sync import sync_tree


def begin_task(folder: str) -> None:
    """Note which of Spark's tasks this is, and hold the process to the memory that it may take."""
    from pyspark import TaskContext

    from seine.runtime.flow.task_output import begin_worker_task

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("a task begins outside of Spark's")
    begin_worker_task(folder, context.taskAttemptId())


def synced_after(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """The same batches; when they end, what this machine wrote below a folder is durable."""
    yield from batches
    sync_tree(folder)
