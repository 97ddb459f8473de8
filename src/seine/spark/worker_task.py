"""What every task does first in its worker process, whichever part of the pipeline it is of."""

from __future__ import annotations


def begin_task(folder: str) -> None:
    """Note which of Spark's tasks this is, and hold the process to the memory that it may take."""
    from pyspark import TaskContext

    from seine.operators.state.worker_memory import hold_memory
    from seine.runtime.folder.at_work import NO_TASK, host_task
    from seine.runtime.folder.settings import read_settings

    context = TaskContext.get()
    host_task.set(NO_TASK if context is None else context.taskAttemptId())
    hold_memory(read_settings(folder).worker_memory)
