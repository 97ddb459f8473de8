"""docs/papers.md is whole: its rows name files that exist, and every citation in the code has its row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, quoted, read, rows

PAGE = DOCS / "papers.md"
KEYS = ("ARGUS", "SAFETY", "STAR", "SKWS", "MMQJP")
ROWS = [row for row in rows(read(PAGE)) if len(row) == 5 and row[0] != "result"]
_CITED = re.compile(rf"\b((?:{'|'.join(KEYS)}) [\w.]*\w)")


def _results(cell: str) -> list[str]:
    """`ARGUS 3, 6` is ARGUS 3 and ARGUS 6."""
    key, _, sections = cell.partition(" ")
    return [f"{key} {section}" for section in sections.split(", ")]


def _citations() -> list[tuple[str, str]]:
    """(file, result) for each `Cites:` line of the code that names one of the papers."""
    found = []
    for path in sorted((ROOT / "src" / "seine").rglob("*.py")):
        for line in re.findall(r"^ *Cites: (.*)$", read(path), re.MULTILINE):
            found += [(str(path.relative_to(ROOT)), result) for result in _CITED.findall(line)]
    return found


def test_there_are_rows() -> None:
    assert len(ROWS) > 10
    assert {row[0].split()[0] for row in ROWS} <= set(KEYS)


def test_no_result_is_told_twice() -> None:
    told = [(row[0], row[2]) for row in ROWS]
    assert [one for one in told if told.count(one) > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1][:30]}")
def test_row_names_code_and_tests_that_exist(row: list[str]) -> None:
    code, tests = quoted(row[2]), quoted(row[3])
    assert code and tests
    assert all(path.startswith("src/seine/") for path in code)
    assert all(path.startswith("tests/") and Path(path).name.startswith("test_") for path in tests)
    assert [path for path in (*code, *tests) if not (ROOT / path).is_file()] == []


def test_every_citation_has_a_row() -> None:
    told = {(path, result) for row in ROWS for result in _results(row[0]) for path in quoted(row[2])}
    cited = _citations()
    assert cited
    assert set(cited) - told == set()
