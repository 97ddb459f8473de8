"""The seine command as a process that can be killed with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def start(*words: str, log: Path) -> subprocess.Popen[bytes]:
    """Start `seine ...` in a process group of its own."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    with log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "seine", *words],
            env={**os.environ, "PYTHONPATH": path},
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the driver, its JVM and its Python workers alike."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
