"""What a pipeline died of: processes that went away may be tried again, work that fails may not."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext

from seine.spark.pipeline_death import DeathCause, death_of, jvm_is_gone, reason_of

PY4J = "py4j.protocol.Py4JJavaError: An error occurred while calling o62.collectToPython."
TRACEBACK = """Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "stage.py", line 3, in step
ZeroDivisionError: by nothing
Caused by: java.io.EOFException
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SparkException: Python worker exited unexpectedly (crashed)", "a Python worker of Spark died"),
        ("Connection reset", "a Python worker of Spark died"),
        (f"Traceback (most recent call last):\n  x\n{PY4J}\n: java.io.EOFException", "a Python worker"),
        ("An error occurred while calling o1.load.\n: java.io.IOException: Stream closed", "a Python worker"),
        ("Job aborted: ExecutorLostFailure (executor 1 exited)", "Spark broke off: Job aborted: Exec"),
        ("Job 7 cancelled because SparkContext was shut down", "Spark broke off: Job 7 cancelled"),
    ],
)
def test_processes_that_went_away(text: str, reason: str) -> None:
    death = death_of(RuntimeError(text))
    assert death.cause is DeathCause.INFRASTRUCTURE and death.reason.startswith(reason)


def test_what_spark_was_caused_by_counts() -> None:
    """Of a worker at the other end of a pipe Spark itself says nothing: the cause is a bare end of file."""
    error, cause = (
        RuntimeError("[STREAM_FAILED] Query [id = 1] terminated with exception: "),
        RuntimeError(""),
    )
    cause._stackTrace = "java.io.EOFException\n\tat java.io.DataInputStream.readInt"  # type: ignore[attr-defined]
    error._cause = cause  # type: ignore[attr-defined]
    assert death_of(error).reason == "a Python worker of Spark died"


def test_py4j_hides_nothing() -> None:
    text = f"Return Message: Traceback (most recent call last):\n  File x\n{PY4J}\n{TRACEBACK}"
    assert reason_of(RuntimeError(text)) == "ZeroDivisionError: by nothing"
    assert reason_of(RuntimeError(TRACEBACK.replace("ZeroDivisionError", "pyarrow.lib.ArrowInvalid"))) == (
        "pyarrow.lib.ArrowInvalid: by nothing"
    )


def test_errors_of_ours_are_words_for_users() -> None:
    text = TRACEBACK.replace(
        "ZeroDivisionError: by nothing", "seine.topics.offset_ranges.LostRecords: it is gone"
    )
    assert death_of(RuntimeError(text)).reason == "it is gone"


@pytest.mark.parametrize("text", [TRACEBACK, "ZeroDivisionError: by nothing"])
def test_work_that_failed(text: str) -> None:
    death = death_of(RuntimeError(text))
    assert death.cause is DeathCause.WORK and death.reason == "ZeroDivisionError: by nothing"


def test_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
    assert not jvm_is_gone()
    process.kill()
    death = death_of(Py4JNetworkError("Error while sending or receiving"))
    assert death.cause is DeathCause.INFRASTRUCTURE and death.reason == "the JVM of Spark died (signal 9)"
    assert jvm_is_gone()


def test_no_reason() -> None:
    assert reason_of(None) == "None" and reason_of(RuntimeError("")) == "no reason given"


def test_a_broker_that_does_not_answer_is_nobodys_fault() -> None:
    java = "org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment"
    refused = "Kafka does not answer: Connection refused"
    ours = TRACEBACK.replace(
        "ZeroDivisionError: by nothing", f"seine.topics.offset_ranges.BrokerSilent: {refused}"
    )
    for text, reason in ((java, "Kafka does not answer"), (ours, refused)):
        death = death_of(RuntimeError(text))
        assert (death.cause, death.reason) == (DeathCause.SOURCE, reason)
