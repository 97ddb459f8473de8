"""The CPU time of a driver, by part: this process, threads of Spark's JVM, processes that plan for sources.

Of the JVM those threads count that plan and schedule; threads that run tasks, compile and collect garbage are
not of the driver: on a cluster tasks run elsewhere.
"""

from __future__ import annotations

import os
import time

# Names of threads are cut off after 15 characters.
_OF_DRIVER = (
    "stream executio",
    "dag-scheduler-e",
    "task-result-get",
    "dispatcher-even",
    "Thread-",
    "kafka-admin",
)
_PLANNER = "python_streaming_source_runner"
PARTS = ("Python", "JVM", "planners")


def driver_cpu() -> dict[str, float]:
    """CPU seconds so far, of each of `PARTS`; what the thread itself has used that asks is left out."""
    threads = planners = 0.0
    for jvm in _children(str(os.getpid())):
        for thread in _listing(f"/proc/{jvm}/task"):
            name, used = _named_cpu(f"/proc/{jvm}/task/{thread}")
            threads += used if name.startswith(_OF_DRIVER) else 0.0
        planners += sum(_named_cpu(f"/proc/{child}")[1] for child in _children(jvm) if _plans(child))
    return dict(zip(PARTS, (time.process_time() - time.thread_time(), threads, planners), strict=True))


def _named_cpu(folder: str) -> tuple[str, float]:
    """The name of a process or thread, and the CPU seconds that it has used; of one that has ended, none.

    The scheduler's own count is in nanoseconds, `stat` has hundredths of a second.
    """
    name, spent = _content(f"{folder}/comm").strip(), _content(f"{folder}/schedstat").split()
    if "/task/" in folder:
        return name, int(spent[0]) / 1e9 if spent else 0.0
    return name, sum(_named_cpu(f"{folder}/task/{thread}")[1] for thread in _listing(f"{folder}/task"))


def _plans(process: str) -> bool:
    return _PLANNER in _content(f"/proc/{process}/cmdline")


def _children(process: str) -> list[str]:
    """The processes that any thread of a process has started."""
    threads = _listing(f"/proc/{process}/task")
    return " ".join(_content(f"/proc/{process}/task/{thread}/children") for thread in threads).split()


def _listing(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return []


def _content(path: str) -> str:
    """A file of /proc; empty if what it is about has ended."""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
