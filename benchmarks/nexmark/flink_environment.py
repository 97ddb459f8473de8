"""Flink in a virtual environment of its own: PyFlink from PyPI, whose wheel has Flink's jars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.harness.side import announce
from seine.errors import RunError

VERSION = "2.3.0"
_PACKAGE = f"apache-flink=={VERSION}"


def flink_python(folder: Path | None = None) -> str:
    """The Python of the environment, which is made where it is missing: in a folder, or the user's cache."""
    place = folder or Path.home() / ".cache" / "seine" / f"flink-{VERSION}"
    python, mark = place / "bin" / "python", place / "installed"
    if not mark.exists():
        announce(f"installing Flink {VERSION} in {place}")
        _run([sys.executable, "-m", "venv", "--clear", str(place)])
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", _PACKAGE])
        mark.touch()
    return str(python)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunError(f"Flink cannot be installed: {reason}", hint="--only seine needs no Flink")
