"""The benchmark `nexmark` measures what it says: without Spark and Flink, by sides that are made up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from benchmarks.harness.measure import BatchCost
from benchmarks.nexmark.on_flink import JobCost
from benchmarks.nexmark.on_seine_queries import Job

from benchmarks.nexmark import measured_sides, nexmark_page
from seine.errors import RunError, SeineError
from seine.frontends.script.parser import read_script

SIZES = {
    **{"events": 500, "sellers": 500, "files": 2, "batch_rows": 250, "warm": 1, "rate": 100, "variants": 2},
    **{"queries": ("q2", "q8", "q15")},
    **{"live": (100,), "live_batches": 3},
    **{"flink_variants": (1, 3, 10), "flink_variant_events": 100, "flink_seconds": 60},
}


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The scripts that Seine is given: a name, and how many queries there are."""
    given: list[tuple[str, int]] = []

    def runner(title: str, module: str, path: Path, query: str, warm: int) -> BatchCost:
        if query == "q15":
            raise RunError("Spark refuses q15")
        return BatchCost(1, 100.0, 9.0, 1.0, 2.0, 3.0, 4)

    def scripts(jobs: Sequence[Job]) -> Iterator[tuple[str, BatchCost]]:
        for name, path, _, _ in jobs:
            given.append((name, len(read_script(path).declarations.queries)))
            yield name, BatchCost(1, 1000.0 / len(given), 3.0, 1.0, 2.0, 3.0, 4)

    costs = {"q2": JobCost(0.1, 0.00828, None), "q8": JobCost(1, 1, None), "q15": JobCost(0, 0, "no")}
    monkeypatch.setitem(SIZES, "runner", runner)
    monkeypatch.setitem(SIZES, "scripts", scripts)
    monkeypatch.setattr(
        measured_sides, "run_flink", lambda python, places: [(query, costs[query]) for query in places]
    )
    ends = [(1, JobCost(8.0, 12.0, None)), (3, JobCost(60.0, 0.0, "not at an end"))]
    monkeypatch.setattr(
        measured_sides, "run_flink_variants", lambda python, folder, counts, seconds: iter(ends)
    )
    monkeypatch.setattr(measured_sides, "flink_python", lambda: "python")
    return given


def test_each_query_is_beside_flink_and_spark(sides: list[tuple[str, int]], tmp_path: Path) -> None:
    page = nexmark_page.main(SIZES, resume=str(tmp_path / "figures.json"))
    rows = {cells[1]: cells[2:-1] for line in page.splitlines() if len(cells := line.split("|")) > 9}
    assert [cell.strip() for cell in rows[" q2    "]] == [
        *("1,000", "3.00", "3,450", "24.00", "8.00x"),  # of the three quarters that are counted
        *("100", "9.00", "3.00x"),
    ]
    assert [cell.strip() for cell in rows[" q15   "]][2:] == ["refused", "-", "-", "-", "-", "-"]
    # apart q2 and q15 read 92 of 100 events, q8 reads 8, together they read all
    assert "| as above             | 3.00                  | 5.76  | 1.92x " in page
    assert "| 100                  | 3.00                  | 5.76  | 1.92x " in page
    assert sides == [
        *(("q2", 1), ("q8", 1), ("q15", 1), ("all queries", 3)),
        *(("q2", 1), ("q8", 1), ("q15", 1), ("all queries", 3)),  # as events come
        *(("ten queries", 10), ("2 variants of ten", 20)),
    ]


def test_what_was_measured_is_not_measured_again(sides: list[tuple[str, int]], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    nexmark_page.main(SIZES, only="together", resume=str(figures))
    assert len(json.loads(figures.read_text())) == len(sides) == 8
    nexmark_page.main(SIZES, only="seine", resume=str(figures))
    assert len(sides) == 8


def test_a_live_micro_batch_has_so_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, int, int]] = []

    def scripts(jobs: Sequence[Job]) -> Iterator[tuple[str, BatchCost]]:
        for name, path, rows, _ in jobs:
            seconds = {
                stream: len((Path(path).parent / stream / "000000.jsonl").read_text().splitlines())
                for stream in ("auction", "bid")
                if (Path(path).parent / stream).exists()
            }
            given.append((name, rows, max(seconds.values())))
            yield name, BatchCost(1, 1000.0, 3.0, 1.0, 2.0, 3.0, 4)

    monkeypatch.setitem(SIZES, "scripts", scripts)
    sizes = {**SIZES, "files": 3}  # a file for each micro-batch
    nexmark_page.main(sizes, only="together")
    assert given[4:] == [("q2", 92, 92), ("q8", 6, 6), ("q15", 92, 92), ("all queries", 92, 92)]


def test_some_queries_alone(sides: list[tuple[str, int]]) -> None:
    page = nexmark_page.main(SIZES, only="flink", queries="q15,q2")
    assert [line.split()[1] for line in page.splitlines() if line.startswith("| q")] == ["query", "q15", "q2"]
    with pytest.raises(SeineError, match="no query 'q23'"):
        nexmark_page.main(SIZES, queries="q0,q23")


def test_variants_on_flink_up_to_the_number_that_fails(sides: list[tuple[str, int]], tmp_path: Path) -> None:
    figures = str(tmp_path / "figures.json")
    page = nexmark_page.main(SIZES, only="flink-variants", resume=figures)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:1] == "|"]
    assert rows[2:] == [["10", "8", "12", "all results"], ["30", "60", "0", "not at an end"]]
    assert page == nexmark_page.main(SIZES, only="flink-variants", resume=figures)
    assert not sides
