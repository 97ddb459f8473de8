"""A commit that fails ends a run, whatever failed: a sink that may have a part of it is not used again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException

from seine.errors import RunError
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.spark_reading import SparkReading
from seine.shortages import FULL_DISK, NO_MEMORY, shortage_of
from seine.spark import spark_host
from seine.spark.spark_host import Restarts, run_on_spark

_FULL = RunError("cannot write the output: No space left on device")


class _Pipeline:
    """A pipeline whose first micro-batch is committed as soon as somebody waits for it, and dies of that."""

    isActive = False

    def __init__(self, *arguments: Any, **_: Any) -> None:
        self._commit: Callable[[int, list[Any]], None] = arguments[3]

    def processAllAvailable(self) -> None:
        with pytest.raises((RunError, MemoryError, KeyError)):
            self._commit(0, [])
        raise PySparkException("the query terminated")

    def exception(self) -> Exception:
        return ValueError("MemoryError: of the driver, told by the JVM")

    def stop(self) -> None:
        """It has stopped by itself."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A service with a stream that Spark reads: what its work dies of is waited for."""
    reading = SparkReading([Mock()], OptionSecrets({"KEY": "correct horse"}, environment=False))
    run = Mock(reading=reading)
    run.deployment.settings.start = 0
    run.driver.finished, run.driver.stopped, run.driver.paced = False, False, True
    run.driver.wants_another = False
    run.driver.settle_fault.return_value = False
    run.driver.drive.side_effect = _drive
    run.driver.rest.side_effect = AssertionError("it starts again with the same sink")
    monkeypatch.setattr(spark_host, "open_frames", lambda *_: {})
    monkeypatch.setattr(spark_host, "check_topics", lambda *_: {})
    monkeypatch.setattr(spark_host, "QueryEnd", lambda query: Mock(has_come=True))
    monkeypatch.setattr(spark_host, "start_pipeline", _started)
    return run


_running: list[_Pipeline] = []


def _started(*arguments: Any, **named: Any) -> _Pipeline:
    _running[:] = [_Pipeline(*arguments, **named)]
    return _running[0]


def _drive(watch: Callable[[], None], idle: object) -> None:
    with pytest.raises(PySparkException):
        _running[0].processAllAvailable()
    watch()


@pytest.mark.parametrize("seeding", [False, True])
@pytest.mark.parametrize(
    ("error", "message", "shortage"),
    [
        (_FULL, "cannot write the output", FULL_DISK),
        (MemoryError(), "the pipeline stopped: MemoryError", NO_MEMORY),
        (KeyError("correct horse"), "the pipeline stopped: KeyError", None),
    ],
)
def test_a_commit_that_fails_is_the_end(
    run: Any,
    monkeypatch: pytest.MonkeyPatch,
    seeding: bool,
    error: Exception,
    message: str,
    shortage: str | None,
) -> None:
    monkeypatch.setattr(spark_host, "note_committed", lambda deployment, entry: None)
    monkeypatch.setattr(spark_host, "discard_torn", lambda *arguments: None)
    monkeypatch.setattr(spark_host, "carries", lambda deployment: seeding)
    monkeypatch.setattr(spark_host, "is_begun", lambda deployment: False)
    run.reading.secrets.values("a sink", [("key", "${KEY}")])
    run.driver.commit.side_effect = error
    with pytest.raises(RunError, match=message) as refusal:
        run_on_spark(Mock(), run, restarts=Restarts(most=None))
    assert run.driver.commit.call_count == 1
    assert shortage_of(refusal.value) == shortage
    assert "horse" not in refusal.value.render()


class OpeningQuery:
    """A query whose sources are opened while it is looked at a few times."""

    isActive = True

    def __init__(self, looks: int) -> None:
        self.looks, self.stopped_after = looks, -1

    @property
    def status(self) -> dict[str, str]:
        self.looks -= 1
        return {"message": "Initializing sources" if self.looks > 0 else "Processing new data"}

    def stop(self) -> None:
        self.stopped_after = self.looks


def test_a_pipeline_is_not_cut_off_while_it_opens_its_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    query = OpeningQuery(5)
    spark_host._stop(query)  # type: ignore[arg-type]
    assert query.stopped_after == 0
    monkeypatch.setattr(spark_host, "_OPENING_SECONDS", 0.0)
    stuck = OpeningQuery(1000)
    spark_host._stop(stuck)  # type: ignore[arg-type]
    assert stuck.stopped_after > 900
