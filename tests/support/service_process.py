"""A service as a process that is started again whenever it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from seine.errors import RunError, SeineError
from seine.service.client import Client
from tests.support.command import kill, start
from tests.support.processes import Process, descendants

Answer = TypeVar("Answer")

ALIVE_SECONDS = 300.0  # what takes longer than this on any machine will never happen
_DONE_ALREADY = ("exists already", "there is no", "no query", "no stream")  # of CREATE and DROP


class ServiceProcess:
    """`seine serve` and all that it started; state, log and temporary files are in one folder."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.state, self.log = folder / "state", folder / "serve.log"
        self._options, self._environment = options, environment
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.ended: list[tuple[float, int]] = []  # when it ended by itself, and with which status
        self.starts = 0
        self.start()

    def start(self) -> None:
        """Serve the folder; it is up when it answers."""
        (self.state / "service.json").unlink(missing_ok=True)  # of one that was killed
        self.starts += 1
        self.process = start(
            *["serve", str(self.state), "--source-root", str(self.state.parent), *self._options],
            log=self.log,
            **{"TMPDIR": str(self.temporary), **self._environment},
        )

    def supervise(self) -> None:
        """Start it again if it has ended by itself, which is noted."""
        status = self.process.poll()
        if status is None:
            return
        self.ended.append((time.monotonic(), status))
        kill(self.process)  # what it may have left of its group
        self.start()

    def ask(self, question: Callable[[Client], Answer]) -> Answer:
        """An answer of the service, if need be after it has come back; a refusal is raised at once."""
        deadline = time.monotonic() + ALIVE_SECONDS
        while True:
            self.supervise()
            try:
                return question(Client(str(self.state)))
            except (RunError, OSError) as error:  # nobody serves at the moment, or it could not
                reason = error
            except SeineError as error:
                if "no service runs" not in error.message:
                    raise
                reason = error
            assert time.monotonic() < deadline, f"{reason}\n{self.last_words()}"
            time.sleep(0.2)

    def change(self, script: str) -> None:
        """Carry out a script; an answer may get lost, so what is done already is fine."""
        try:
            self.ask(lambda client: client.register(script, file="script.sql", folder=str(self.state.parent)))
        except SeineError as error:
            if not any(words in error.message for words in _DONE_ALREADY):
                raise

    def wait(self, what: str, done: Callable[[Client], bool]) -> None:
        """Until something is so of the service."""
        deadline = time.monotonic() + ALIVE_SECONDS
        while not self.ask(done):
            assert time.monotonic() < deadline, f"waited in vain: {what}\n{self.last_words()}"
            time.sleep(0.2)

    def below(self) -> list[Process]:
        """The JVM and the workers."""
        return descendants(self.process.pid)

    def send(self, number: int, *, group: bool = False) -> None:
        (os.killpg if group else os.kill)(self.process.pid, number)

    def stop(self, number: int = signal.SIGTERM, *, group: bool = False) -> int:
        """End it in good order; its status."""
        self.send(number, group=group)
        try:
            return self.process.wait(ALIVE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not stop\n{self.last_words()}") from None

    def kill(self) -> None:
        """SIGKILL for all of its group."""
        kill(self.process)

    def last_words(self) -> str:
        """The end of what it has said."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])
