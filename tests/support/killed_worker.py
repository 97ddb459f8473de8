"""A worker process that is killed while it changes a service, and what it had acknowledged by then."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.paths import ROOT


def run_and_kill(worker: str, folder: Path, number: int, changes: int, seconds: float) -> list[str]:
    """Let the code of a worker acknowledge some changes, and go on for a moment; the lines that it wrote."""
    process = subprocess.Popen(
        [sys.executable, "-c", worker, str(folder), str(number)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = "".join(process.stdout.readline() for _ in range(changes))
    assert process.poll() is None, "the worker ended by itself"
    time.sleep(seconds)
    process.kill()
    rest = process.stdout.read()
    process.wait()
    return (first + rest).splitlines()
