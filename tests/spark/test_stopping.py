"""Stopped by signals, and struck by deaths: a run ends in good order, goes on, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from seine.run_local import run_local
from tests.support.command import checkpointed_run, kill, start
from tests.support.processes import descendants
from tests.support.progress import last_delivered
from tests.support.stateful_script import sorted_file, sorted_records, write_story

pytestmark = [pytest.mark.spark, pytest.mark.long]

SECONDS = 180.0


class Attempts:
    """Runs of one script with one checkpoint, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.log, self.state = folder / "command.log", folder / "state"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.script = write_story(folder, lines=300)
        self.words = checkpointed_run(self.script, 15, "--master", "local[2]")
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        self.process = start(
            *self.words, log=self.log, TMPDIR=str(self.temporary), SEINE_SHARING="two-by-two"
        )
        self.progress()

    def progress(self) -> None:
        """Until another micro-batch is delivered."""
        before = last_delivered(self.state)
        self._wait(lambda: last_delivered(self.state) != before)

    def hear(self, text: str) -> None:
        """Until the command says something."""
        self._wait(lambda: text in self.log.read_text())

    def _wait(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not done():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    return Attempts(tmp_path)


def test_signals_and_deaths(attempts: Attempts, tmp_path: Path) -> None:
    expected = sorted_records(run_local(str(attempts.script)).records)
    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            attempts.start()
            os.killpg(attempts.process.pid, number)
            assert attempts.process.wait(60) == 0, attempts.log.read_text()
        assert attempts.log.read_text().count("goes on from there") == 2
        assert list(attempts.temporary.iterdir()) == []
        attempts.start()
        kill(attempts.process)
        left = set(attempts.temporary.glob("seine-scratch-*"))
        assert left, "a kill leaves something: otherwise the next assertion says nothing"
        attempts.start()
        assert not left & set(attempts.temporary.iterdir())
        jvm = next(child for child in descendants(attempts.process.pid) if "java" in child.command)
        os.kill(jvm.pid, signal.SIGKILL)
        attempts.hear("the JVM of Spark died (signal 9); the pipeline starts again in 0.")
        attempts.progress()
        workers = [one for one in descendants(attempts.process.pid) if "java" not in one.command]
        assert len(workers) > 1
        for worker in workers:
            with suppress(ProcessLookupError):  # it may end with the one before
                os.kill(worker.pid, signal.SIGKILL)
        attempts.hear("a Python worker of Spark died; the pipeline starts again in 0.")
        assert attempts.process.wait(SECONDS) == 0, attempts.log.read_text()
    finally:
        kill(attempts.process)
    assert "Traceback" not in attempts.log.read_text()
    assert sorted_file(tmp_path / "out.jsonl") == expected != []
    assert list(attempts.temporary.iterdir()) == []
