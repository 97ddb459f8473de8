"""The benchmark `nexmark` measures what it says: without Spark and Flink, by sides that are made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.bench.harness.measure import BatchCost
from seine.bench.nexmark import nexmark_page
from seine.bench.nexmark.on_flink import JobCost
from seine.errors import RunError
from seine.frontends.script.script_file import read_script

SIZES = {
    **{"events": 500, "batches": 2, "warm": 1, "rate": 100, "variants": 2},
    **{"queries": ("q2", "q8", "q15")},
}


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The scripts that Seine is given: a title, and how many queries there are."""
    given: list[tuple[str, int]] = []

    def runner(title: str, module: str, path: Path, *more: object) -> BatchCost:
        if module == nexmark_page.SPARK_SQL:
            if "q15" in more:
                raise RunError("Spark refuses q15")
            return BatchCost(1, 100.0, 9.0, 1.0, 2.0, 3.0, 4)
        given.append((title, len(read_script(str(path)).declarations.queries)))
        return BatchCost(1, 1000.0 / len(given), 3.0, 1.0, 2.0, 3.0, 4)

    monkeypatch.setitem(SIZES, "runner", runner)
    costs = {"q2": JobCost(0.1, 0.00552, None), "q8": JobCost(1, 1, None), "q15": JobCost(0, 0, "no")}
    monkeypatch.setattr(nexmark_page, "run_flink", lambda python, *more: costs.items())
    monkeypatch.setattr(nexmark_page, "flink_python", lambda: "python")
    return given


def test_each_query_is_beside_flink_and_spark(sides: list[tuple[str, int]], tmp_path: Path) -> None:
    page = nexmark_page.main(SIZES, resume=str(tmp_path / "figures.json"))
    rows = {cells[1]: cells[2:-1] for line in page.splitlines() if len(cells := line.split("|")) > 9}
    assert [cell.strip() for cell in rows[" q2    "]] == [
        *("1,000", "3.00", "2,300", "24.00", "8.00x"),  # of the half that is counted
        *("100", "9.00", "3.00x"),
    ]
    assert [cell.strip() for cell in rows[" q15   "]][2:] == ["refused", "-", "-", "-", "-", "-"]
    assert sides == [
        *(("Seine, q2", 1), ("Seine, q8", 1), ("Seine, q15", 1), ("Seine, all queries", 3)),
        *(("Seine, ten queries", 10), ("Seine, 2 variants of ten", 20)),
    ]


def test_what_was_measured_is_not_measured_again(sides: list[tuple[str, int]], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    nexmark_page.main(SIZES, only="together", resume=str(figures))
    assert len(json.loads(figures.read_text())) == len(sides) == 4
    nexmark_page.main(SIZES, only="seine", resume=str(figures))
    assert len(sides) == 4
