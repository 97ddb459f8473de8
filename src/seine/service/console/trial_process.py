"""The processes that trials run in: one for each, and one that waits, so that nobody waits for its start.

A process has threads and a JVM behind it here, so it is never forked: each is started anew, which takes a
second or more. It is told a folder and answers there (`trial_worker.py`).
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from threading import Lock

from seine.errors import RunError, SeineError
from seine.service.console import trial_worker
from seine.service.console.trial_worker import DONE, READY, TrialLimits

_START_SECONDS = 60.0
_NICENESS = 5  # the service has the processor first
_ONE_THREAD = {  # a limit of memory counts what libraries set aside for each thread
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class TrialProcesses:
    """Starts processes, each for one trial. Any thread may ask for one."""

    def __init__(self, functions: str) -> None:
        """`functions` is the folder that keeps the functions of users."""
        self._functions = functions
        self._lock = Lock()
        self._spare: _TrialProcess | None = None
        self._closed = False

    def prepare(self) -> None:
        """Have a process wait; it ends by itself when nobody has needed it for a while."""
        with self._lock:
            if not self._closed and (self._spare is None or self._spare.has_ended):
                self._spare = _TrialProcess(self._functions)

    def run(self, folder: str, limits: TrialLimits) -> None:
        """Let a process try what a folder has; when this returns its answer is there."""
        process = self._take()
        try:
            process.run(folder, limits)
        finally:
            process.kill()
            self.prepare()

    def _take(self) -> _TrialProcess:
        with self._lock:
            spare, self._spare = self._spare, None
        return _TrialProcess(self._functions) if spare is None or spare.has_ended else spare

    def close(self) -> None:
        """End the process that waits, and start no more."""
        with self._lock:
            self._closed, spare, self._spare = True, self._spare, None
        if spare is not None:
            spare.kill()


class _TrialProcess:
    """One process."""

    def __init__(self, functions: str) -> None:
        modules = os.pathsep.join(path for path in sys.path if path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", trial_worker.__name__, functions],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # so that what it starts is killed with it
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": modules, "PYTHONSAFEPATH": "1"},
            )
        except OSError as error:
            raise RunError(f"no process can be started for the trial: {error.strerror}") from error
        with suppress(OSError):  # it has ended, or may be no nicer
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICENESS)

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def run(self, folder: str, limits: TrialLimits) -> None:
        """Let it try what a folder has. Raises a SeineError in one sentence if it takes too much, or dies."""
        if not self._says(READY, _START_SECONDS):
            raise RunError("the process of the trial did not start", hint="try again")
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # then it says nothing either
            self._process.stdin.write(json.dumps(folder).encode() + b"\n")
        if self._says(DONE, limits.seconds):
            return
        if not self.has_ended:
            raise SeineError(limits.over_time, hint="try it on less: add a condition, or fewer queries")
        raise SeineError(
            f"the process of the trial died ({_cause(self._process.returncode)})",
            hint=f"a trial may take {limits.memory >> 20} MiB of memory; try it on less",
        )

    def _says(self, word: bytes, seconds: float) -> bool:
        """Whether it says a word within some seconds; not if it dies."""
        assert self._process.stdout is not None
        poll = select.poll()  # select() knows no more than 1,024 files
        poll.register(self._process.stdout, select.POLLIN)
        if poll.poll(seconds * 1000) and self._process.stdout.read(1) == word:
            return True
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)  # it has closed its side before it is gone
        return False

    def kill(self) -> None:
        """End it, whatever it is doing, and what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _cause(status: int) -> str:
    """
    >>> _cause(-9), _cause(3)
    ('SIGKILL', 'exit status 3')
    """
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
