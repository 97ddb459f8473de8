"""What every task does first in its worker process, whichever part of the pipeline it is of."""

from __future__ import annotations


def begin_task(folder: str) -> None:
    """Note which of Spark's tasks this is, and hold the process to the memory that it may take."""
    from pyspark import TaskContext

    from seine.runtime.flow.task_output import begin_worker_task

    context = TaskContext.get()
    assert context is not None, "a task of Spark's"
    begin_worker_task(folder, context.taskAttemptId())
