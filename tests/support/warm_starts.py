"""The seine command in processes that have started Spark already, and wait for what to do.

Python and Spark take several seconds to start, mostly one after the other. Who kills a command again and
again lets the next ones start meanwhile. Such a process is what `python -m seine` is, with all that it
started in a process group of its own; only the moment at which it begins to work is later.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from seine.cli.main import main
from seine.spark.session import open_session
from tests.support.command import kill, python_path
from tests.support.paths import ROOT

_AT_ONCE = 2  # that wait


class WarmStarts:
    """Starts commands on a master; what each prints goes to `log`, what Spark says beside it."""

    def __init__(self, master: str, log: Path) -> None:
        self._words, self._log = [master, str(log.with_name("spark.log"))], log
        self._waiting: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> WarmStarts:
        self._waiting = [self._start() for _ in range(_AT_ONCE)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._waiting:
            kill(process)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Let the process that has waited longest run a command."""
        process = self._waiting.pop(0)
        self._waiting.append(self._start())
        assert process.stdin is not None
        with process.stdin as line:
            line.write(json.dumps(words).encode() + b"\n")
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", __name__, *self._words],
                env={**os.environ, "PYTHONPATH": python_path()},
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )


if __name__ == "__main__":
    session = open_session(sys.argv[1], sys.argv[2])
    sys.exit(main(json.loads(sys.stdin.readline())))
