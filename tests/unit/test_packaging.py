"""The lock file and the project's metadata agree."""

from __future__ import annotations

import re
import tomllib

import seine
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text().splitlines()


def plain_name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def test_every_dependency_is_locked() -> None:
    locked = {plain_name(line) for line in LOCK}
    extras = PROJECT["optional-dependencies"].values()
    needed = {plain_name(r) for r in (*PROJECT["dependencies"], *(r for extra in extras for r in extra))}
    assert needed - {PROJECT["name"]} <= locked


def test_lock_lines_are_names_and_versions_only() -> None:
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", line) for line in LOCK)


def test_the_changelog_knows_the_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text or f"## [{seine.__version__}]" in text
