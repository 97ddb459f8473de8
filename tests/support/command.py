"""The seine command as a process that can be killed with everything it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.paths import ROOT

SOURCE = ROOT / "src"


def python_path() -> str:
    """A PYTHONPATH that has this package, for processes of which the tests are not the parent, too."""
    return os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))


def start(*words: str, log: Path, **environment: str) -> subprocess.Popen[bytes]:
    """Start `seine ...` in a process group of its own."""
    with log.open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "seine", *words],
            env={**os.environ, "PYTHONPATH": python_path(), **environment},
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )


def checkpointed_run(script: Path, batch_rows: int, *more: str) -> list[str]:
    """The words of `seine run` with `out.jsonl`, its state and Spark's log beside the script."""
    folder = script.parent
    words = ["run", str(script), "--out", str(folder / "out.jsonl"), "--checkpoint", str(folder / "state")]
    return [*words, "--batch-rows", str(batch_rows), "--log", str(folder / "spark.log"), *more]


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL for the driver, its JVM and its Python workers alike."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()
