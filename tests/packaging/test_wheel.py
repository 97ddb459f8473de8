"""The wheel that README makes of a clone has the package, all of it and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.long

PACKAGE = ROOT / "src" / "seine"


def test_the_wheel_has_the_package_and_no_benchmark(tmp_path: Path) -> None:
    words = "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT
    subprocess.run([sys.executable, *map(str, words)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert names == {f"seine/{path.relative_to(PACKAGE)}" for path in files}
    assert {"seine/service/console/console.js", "seine/demo/project/alerts.sql", "seine/py.typed"} <= names
    assert [name for name in names if "bench" in name] == []
