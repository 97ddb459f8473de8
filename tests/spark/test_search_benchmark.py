"""The part of `make bench NAME=search` that runs on Spark: it runs, and its paces are numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.__main__ import main

pytestmark = [pytest.mark.spark, pytest.mark.long]


def test_the_paper_s_query_runs_on_spark(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert main(["search", "--quick", "--only", "spark", "--out", str(page)]) == 0
    (row,) = (line for line in page.read_text().splitlines() if line.startswith("| 3 "))
    cells = [float(cell.replace(",", "")) for cell in row.strip("| ").split("|")]
    assert cells[:2] == [3, 900] and cells[2] >= 2 and min(cells[3:]) > 0
