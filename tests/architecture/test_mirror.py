"""Tests mirror the source: a test's folder below `tests/unit` is that of what it tests."""

from __future__ import annotations

from tests.architecture.source_tree import SOURCE
from tests.support.paths import ROOT

UNIT = ROOT / "tests" / "unit"


def test_unit_tests_lie_where_their_subject_lies() -> None:
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("test_*.py")}
    assert len(folders) > 10
    assert [str(folder) for folder in sorted(folders) if not SOURCE.joinpath(folder).is_dir()] == []


def test_every_folder_of_unit_tests_has_tests() -> None:
    folders = {path for path in UNIT.rglob("*") if path.is_dir() and path.name != "__pycache__"}
    assert [str(f.relative_to(UNIT)) for f in sorted(folders) if not any(f.rglob("test_*.py"))] == []


def test_helpers_lie_together() -> None:
    """Below `tests/unit` there are tests alone; what they share is in `tests/support`."""
    others = [p for p in UNIT.rglob("*.py") if p.name != "__init__.py" and not p.name.startswith("test_")]
    assert others == []
