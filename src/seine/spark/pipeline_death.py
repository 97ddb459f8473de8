"""What a pipeline died of: a process that went away, or something that it was given to do.

After the first, which is nobody's fault, the same work may be tried again; the second would fail again.
"""

from __future__ import annotations

import enum
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

# How Spark says that a process at the other end is gone: a Python worker, an executor, or all of Spark.
_WORKER = re.compile(
    r"Python worker (?:exited unexpectedly|failed to connect back)|EOFException|ClosedChannelException"
    r"|SocketException|IOException: (?:Stream|Socket|Pipe) closed|Connection reset|Broken pipe"
)
_SPARK = re.compile(
    r"ExecutorLostFailure|SparkContext was shut ?down|SparkContext has been shutdown|Connection refused"
)
_BROKER = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(?:Timeout|Disconnect|Network)Exception|\bBrokerSilent: "
)
_OUR_CLIENT = "BrokerSilent: "
_MEMORY = re.compile(r"\b(?:\w+\.)*\w*MemoryError\b")
_LOST_TASK = re.compile(r"most recent failure: Lost task [\d.]+ in stage [\d.]+ \(TID (\d+)\)")
_HEAP = re.compile(r"java\.lang\.OutOfMemoryError")
_OURS = re.compile(r"^seine\.[\w.]+: ")  # errors with words for users
_NAMED = re.compile(r"[\w.]+(?:Error|Exception): ")
_LOST_RECORDS = re.compile(r"Some data may have been lost[\s\S]*?Reason:\s*(.+)")
_DYING_SECONDS = 5.0
_TRACEBACK = "Traceback (most recent call last)"


class DeathCause(enum.Enum):
    """`INFRASTRUCTURE`: a process died or was cut off. `WORK`: what the pipeline did raised an error.

    `SOURCE`: a stream that Spark reads cannot be read: a broker does not answer; in a service, whose streams
    come and go, it may also be what raised an error. It is waited for, and no query is suspected.
    """

    INFRASTRUCTURE = "infrastructure"
    WORK = "work"
    SOURCE = "source"


@dataclass(frozen=True)
class PipelineDeath:
    """Why a pipeline stopped by itself, in words for the user, and Spark's number of the task that did."""

    cause: DeathCause
    reason: str
    task: int | None = None


def jvm_is_gone() -> bool:
    """Has the JVM ended that this process started? One that spark-submit started cannot be seen."""
    process = getattr(SparkContext._gateway, "proc", None)
    return process is not None and process.poll() is not None


def death_of(error: BaseException | None) -> PipelineDeath:
    """Decide what a pipeline died of, given what Spark raised or reports of its query.

    >>> death_of(ValueError("SparkException: Python worker exited unexpectedly (crashed)")).reason
    'a Python worker of Spark died'
    >>> death_of(ValueError("ZeroDivisionError: by nothing")).cause
    <DeathCause.WORK: 'work'>
    """
    if jvm_is_gone() or isinstance(error, (Py4JNetworkError, ConnectionError)):
        return PipelineDeath(DeathCause.INFRASTRUCTURE, f"the JVM of Spark died{_end_of_jvm()}")
    text = _whole_text(error)
    if _HEAP.search(text):
        reason = "the JVM of Spark ran out of memory: SEINE_DRIVER_MEMORY gives it more"
        return PipelineDeath(DeathCause.INFRASTRUCTURE, reason)
    if _BROKER.search(text):
        reason = reason_of(error) if _OUR_CLIENT in text else "Kafka does not answer"
        return PipelineDeath(DeathCause.SOURCE, reason)
    raised = [*_raised(text)]
    work = bool(raised) and "Python worker exited unexpectedly" not in text
    lost = _LOST_TASK.search(text)
    task = None if lost is None else int(lost[1])
    if raised and _MEMORY.match(raised[-1]):
        reason = "a Python worker of Spark ran out of memory: --worker-memory gives it more"
        return PipelineDeath(DeathCause.INFRASTRUCTURE, reason, task)
    if not work and _WORKER.search(text):
        return PipelineDeath(DeathCause.INFRASTRUCTURE, "a Python worker of Spark died", task)
    if not work and _SPARK.search(text):
        return PipelineDeath(DeathCause.INFRASTRUCTURE, f"Spark broke off: {reason_of(error)}")
    return PipelineDeath(DeathCause.WORK, reason_of(error))


def _end_of_jvm() -> str:
    """How the JVM ended; one that we have lost touch with is ended."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return ""
    try:
        status = process.wait(_DYING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    return f" (signal {-status})" if status < 0 else f" (status {status})"


def reason_of(error: BaseException | None) -> str:
    r"""What a user wants to know of an error from Spark: what was raised in Python, or Spark's first line.

    >>> reason_of(ValueError("Some data may have been lost;\nby Kafka\nReason: Partition t-0 has moved."))
    'Kafka does not have all that was to be read: Partition t-0 has moved.'
    """
    text = str(error)
    if (lost := _LOST_RECORDS.search(text)) is not None:
        return f"Kafka does not have all that was to be read: {lost[1].strip()}"
    raised = list(_raised(_whole_text(error)))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    python = [line for line in lines if _NAMED.match(line)]
    reason = next(iter(reversed(raised or python)), lines[0] if lines else "no reason given")
    return _OURS.sub("", reason)


def _raised(text: str) -> Iterator[str]:
    """The last line of each Python traceback: it follows the lines that are indented.

    A worker's traceback stands in the middle of Java's; Py4J's own, around all of it, says nothing.
    """
    inside = False
    for line in text.splitlines():
        if _TRACEBACK in line:
            inside = True
        elif inside and line.strip() and not line.startswith((" ", "\t")):
            inside = False
            if not line.startswith(("py4j.", "pyspark.")):
                yield line.strip()


def _whole_text(error: BaseException | None) -> str:
    """What an error says, and what the Java errors say that it was caused by."""
    texts = [str(error)]
    cause = getattr(error, "_cause", None)
    while cause is not None:
        texts.append(str(getattr(cause, "_stackTrace", None) or cause))
        cause = getattr(cause, "_cause", None)
    return "\n".join(texts)
