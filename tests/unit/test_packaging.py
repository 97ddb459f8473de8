"""The lock file and the project's metadata agree."""

from __future__ import annotations

import re
import subprocess
import tomllib

import seine
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FIRST_VERSION = "0.1.0"
LOCK = (ROOT / "requirements.lock").read_text().splitlines()


def plain_name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def test_every_dependency_is_locked() -> None:
    locked = {plain_name(line) for line in LOCK}
    extras = PROJECT["optional-dependencies"].values()
    needed = {plain_name(r) for r in (*PROJECT["dependencies"], *(r for extra in extras for r in extra))}
    assert needed - {PROJECT["name"]} <= locked


def test_what_lies_beside_the_modules_is_packaged() -> None:
    """The wheel takes every file of the package that git does not ignore, so none may be ignored."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/seine"]}
    data = [p for p in (ROOT / "src" / "seine").rglob("*") if p.suffix in {".html", ".css", ".js"}]
    assert {path.name for path in data} >= {"page.html", "page.css", "page.js"}
    ignored = subprocess.run(["git", "check-ignore", *map(str, data)], cwd=ROOT, capture_output=True)
    assert ignored.stdout == b""
    assert all((path.parent / "__init__.py").exists() for path in data)


def test_lock_lines_are_names_and_versions_only() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", line) for line in LOCK)


def test_the_changelog_knows_the_version() -> None:
    """Its newest release is this version; before the first release there is only what is to come."""
    sections = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [section for section in sections if section != "Unreleased"]
    assert sections
    assert sections.index("Unreleased") == 0
    assert (released[0] if released else FIRST_VERSION) == seine.__version__


def test_hosted_ci_has_what_the_project_needs_and_runs_what_must_pass() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (python,) = re.findall(r'python-version: "([\d.]+)"', workflow)
    (java,) = re.findall(r'java-version: "(\d+)"', workflow)
    assert PROJECT["requires-python"] == f">={python}"
    assert f"Java {java} or newer" in (ROOT / "CONTRIBUTING.md").read_text()
    assert re.findall(r"- run: (.*)", workflow) == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100


def test_a_commit_is_checked_by_what_lint_runs() -> None:
    makefile = (ROOT / "Makefile").read_text().split("\nlint:", 1)[1].split("\n\n", 1)[0]
    linted = {
        " ".join(words.split()[:2]).removesuffix(" .") for words in re.findall(r"\$\(BIN\)/(.*)", makefile)
    }
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    entries = {
        entry.removesuffix(" --force-exclude") for entry in re.findall(r"entry: \.venv/bin/(.*)", hooks)
    }
    assert linted == entries == {"ruff check", "ruff format", "mypy"}
