"""Queries are read alike where another package has brought the compiled modules of sqlglot."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.long

TESTS = "tests/unit/frontends/sql/test_plans.py", "tests/unit/frontends/sql/test_refusals.py"


def test_queries_are_read_by_the_compiled_parser(tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    wanted = f"sqlglot[c]=={version('sqlglot')}"
    pip = "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"
    subprocess.run([sys.executable, *pip, modules, wanted], check=True)
    shown = _python(modules, "-c", "import sqlglot.parser; print(sqlglot.parser.__file__)")
    assert shown.endswith(".so\n") and str(modules) in shown
    assert " passed" in _python(modules, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS)
    assert "corridor" in _python(modules, "-m", "seine", "try", "docs/examples/passed_on.sql")


def _python(modules: Path, *words: str) -> str:
    """What a process says in which the compiled modules come first."""
    environment = {**os.environ, "PYTHONPATH": f"{modules}{os.pathsep}{ROOT / 'src'}"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
