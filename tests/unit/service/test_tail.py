"""Tails read their own query's records, whole lines, and little else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.errors import RunError
from seine.runtime.output import log_files
from seine.runtime.output.log_files import LogFiles, ResultFile
from seine.runtime.output.result_index import ResultIndex
from seine.service.tail import read_records


def record(query: str, value: int, pad: int = 0) -> bytes:
    return json.dumps({"query": query, "op": "+", "row": {"v": value, "pad": "x" * pad}}).encode() + b"\n"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ResultIndex]:
    """A heavy query, and a rare one with a record among each thousand."""
    path = tmp_path / "results.jsonl"
    with path.open("wb") as file:
        for i in range(50):
            file.write(record("heavy", i) * 1000 + record("rare", i))
    made = ResultIndex(str(tmp_path / "index"), LogFiles(str(path)), path.stat().st_size)
    yield made
    made.close()


def all_records(index: ResultIndex, query: str, most: int) -> list[int]:
    values, start = [], 0
    while True:
        lines, following = read_records(index, query, start, most)
        values += [json.loads(line)["row"]["v"] for line in lines.splitlines()]
        assert lines == b"" or lines.endswith(b"\n")
        if following == start:
            return values
        start = following


@pytest.mark.parametrize("most", [1, 100, 5_000, 1 << 20])
def test_every_record_once_in_order(index: ResultIndex, most: int) -> None:
    assert all_records(index, "rare", most) == list(range(50))
    if most >= 5_000:
        assert all_records(index, "heavy", most) == [i for i in range(50) for _ in range(1000)]
    assert all_records(index, "nobody", most) == []


def test_a_tail_reads_only_its_own(index: ResultIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    pread = log_files.os.pread

    def counted(file: int, size: int, position: int) -> bytes:
        content = pread(file, size, position)
        read.append(len(content))
        return content

    monkeypatch.setattr(log_files.os, "pread", counted)
    lines, following = read_records(index, "rare", 0)
    assert following == index.settled and len(lines.splitlines()) == 50
    # the records themselves, and a few nodes of the index for each; the results are 50 times longer
    assert len(lines) < sum(read) < len(lines) + 50 * 400 < index.settled / 50
    read.clear()
    assert read_records(index, "rare", following) == (b"", following)
    assert sum(read) < 100


def test_a_place_amid_a_line_is_after_it(index: ResultIndex) -> None:
    size = len(record("heavy", 0))
    lines, _ = read_records(index, "heavy", size + 5, most=3 * size)
    assert lines == record("heavy", 0) * 3
    whole, following = read_records(index, "heavy", size, most=3 * size)
    assert whole == record("heavy", 0) * 3 and following == 4 * size


def test_a_line_may_be_longer_than_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(record("q", 1, 200_000) + record("q", 2))
    index = ResultIndex(str(tmp_path / "index"), LogFiles(str(path)), path.stat().st_size)
    assert all_records(index, "q", 1000) == [1, 2]
    index.close()


def test_results_that_somebody_cut_are_named(index: ResultIndex) -> None:
    Path(index.results.path).write_bytes(b"")
    with pytest.raises(RunError, match="is shorter than what was delivered"):
        read_records(index, "rare", 0)
    with ResultFile(index.results) as file, pytest.raises(RunError):
        file.read(0, 1)
