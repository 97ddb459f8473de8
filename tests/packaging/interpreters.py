"""Interpreters of this machine, by version: on the PATH, or kept by pyenv or uv."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_KEPT = ("~/.pyenv/versions/{version}*/bin/python", "~/.local/share/uv/python/cpython-{version}*/bin/python3")


def interpreter(version: str) -> str | None:
    """A Python of this version that runs, if there is one."""
    return next((path for path in _candidates(version) if _is_of(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    for pattern in _KEPT:
        home, _, rest = pattern.format(version=version).partition("/")
        yield from map(str, sorted(Path(home).expanduser().glob(rest)))
    named = shutil.which(f"python{version}")
    if named:
        yield named


def _is_of(path: str, version: str) -> bool:
    answer = subprocess.run(
        [path, "-c", "import sys, venv; print(sys.version)"], capture_output=True, text=True
    )
    return answer.returncode == 0 and answer.stdout.startswith(f"{version}.")
