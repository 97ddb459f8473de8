"""What installing the wheel gives, on every Python that is promised: it is made from the sdist
and installed alone in a fresh environment, where commands run without anything of the repository.

It fetches all dependencies each time, so `make package` has it and `make test-all` does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import seine
from tests.packaging.interpreters import interpreter
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def _run(*command: str | Path, folder: Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    _run(sys.executable, "-m", "venv", folder / "tools", folder=folder)
    python = folder / "tools" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", "build", folder=folder)
    _run(python, "-m", "build", "--outdir", folder / "dist", ROOT, folder=folder)
    return folder / "dist"


def test_the_wheel_is_for_every_python(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"seine_streams-{seine.__version__}-py3-none-any.whl"


def test_the_sdist_has_what_it_is_built_from(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "console/package.json"} <= names


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_pip_alone_installs_what_runs(version: str, built: Path, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    (wheel,) = built.glob("*.whl")
    _run(python, "-m", "venv", tmp_path / "fresh", folder=tmp_path)
    commands = tmp_path / "fresh" / "bin"
    _run(commands / "pip", "install", "--quiet", "--disable-pip-version-check", wheel, folder=tmp_path)
    command = commands / "seine"
    assert _run(command, "--version", folder=tmp_path) == f"seine {seine.__version__}\n"
    assert "alerts.sql" in _run(command, "init", "project", folder=tmp_path)
    records = _run(command, "try", "project/alerts.sql", folder=tmp_path)
    assert records.count('"query": "passed_on"') == 2 and records.count('"query": "big"') == 3
    assert "safe     big" in _run(command, "check", "project/alerts.sql", folder=tmp_path)
    console = "from importlib.resources import files; print(files('seine.service.console') / 'index.html')"
    page = Path(_run(commands / "python", "-c", console, folder=tmp_path).strip())
    assert page.is_relative_to(tmp_path) and "<html" in page.read_text(encoding="utf-8")
