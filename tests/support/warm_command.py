"""`seine` as a process that stays: each request is one command, run as `python -m seine` would, on one Spark.

Starting Spark takes longer than most cases of the conformance kit. `seine run` takes the session that its
process has, so commands that come one after the other share it, and nothing else: every one has its own
folder, output, error output and exit status. `warm_client.py` is the command that asks for one.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seine.cli.main import main
from tests.support.command import python_path
from tests.support.paths import ROOT

_CLIENT = Path(__file__).with_name("warm_client.py")


@contextmanager
def warm_command(folder: Path) -> Iterator[str]:
    """A command line that stands for `seine`, as long as this is open; its socket and log are in a folder."""
    address = folder / "seine.socket"
    with socket.socket(socket.AF_UNIX) as listening, (folder / "warm.log").open("wb") as log:
        listening.bind(str(address))
        listening.listen()
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listening.fileno())],
            pass_fds=[listening.fileno()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": python_path()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        yield f"{sys.executable} -I -S {_CLIENT} {address}"
    finally:
        server.kill()  # Spark goes with it
        server.wait()


def serve(listening: socket.socket) -> None:
    """Answer requests, one after the other, until the process is ended."""
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile("rw", encoding="utf-8") as lines:
            request = json.loads(lines.readline())
            json.dump(_answer(**request), lines)


def _answer(folder: str, words: list[str]) -> dict[str, Any]:
    """What one command wrote, and its exit status."""
    os.chdir(folder)
    with _captured(1) as output, _captured(2) as errors:
        try:
            status = main(words)
        except SystemExit as end:  # wrong usage
            status = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
    return {"status": status, "output": output.pop(), "errors": errors.pop()}


@contextmanager
def _captured(descriptor: int) -> Iterator[list[str]]:
    """Let what goes to a file descriptor be the one element of a list, in the end."""
    texts: list[str] = []
    kept = os.dup(descriptor)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), descriptor)
        try:
            yield texts
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
