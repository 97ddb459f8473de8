"""`seine init` writes a project that works as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seine.cli.main import main


def test_the_project_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "project"
    assert main(["init", str(folder)]) == 0
    assert f"seine try {folder / 'alerts.sql'}" in capsys.readouterr().out
    assert main(["check", str(folder / "alerts.sql")]) == 0
    assert "safe" in capsys.readouterr().out
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(tests, cwd=folder, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert main(["init", str(tmp_path)]) == 1
    assert "README.md' is there already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "mine"
