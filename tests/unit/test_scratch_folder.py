"""Temporary files: gone when a process ends, and after a kill when the next one begins."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from seine.scratch_folder import scratch_folder
from tests.support.command import python_path

CODE = """
import sys, os
from seine.scratch_folder import scratch_folder
open(os.path.join(scratch_folder(), "some"), "w").close()
print(scratch_folder(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def process(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process that has a scratch folder and waits."""
    started = subprocess.Popen(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": python_path(), "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    return started, Path(started.stdout.readline().strip())


def test_a_process_removes_its_own(folder: Path) -> None:
    started, path = process(folder)
    assert (path / "some").exists() and path.parent == folder
    assert os.stat(path).st_mode & 0o077 == 0
    started.communicate()
    assert started.returncode == 0 and not path.exists()


def test_the_next_one_removes_what_a_killed_one_left(folder: Path) -> None:
    living, kept = process(folder)
    killed, left = process(folder)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    foreign = folder / "seine-demo-1"
    foreign.mkdir()
    assert (left / "some").exists()
    mine = Path(scratch_folder())
    assert sorted(folder.iterdir()) == sorted([kept, foreign, mine])
    assert (kept / "some").exists()
    living.communicate()
    assert sorted(folder.iterdir()) == sorted([foreign, mine])
