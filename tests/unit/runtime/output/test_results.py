"""Results of a task: one record a row, counted by query, cut at the limit."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from seine.runtime.output import results as results_module
from seine.runtime.output.results import Results
from seine.runtime.output.task_report import QueryRanges, WrittenResults
from tests.support.runtime_nodes import chosen, form, records, rows
from tests.support.seeds import seed_range


def closed(results: Results) -> WrittenResults:
    written = results.close()
    assert written is not None
    return written


def ranges_of(written: WrittenResults, path: Path) -> list[str]:
    """The query of each line, as the ranges of a file tell it."""
    names, content, start, owners = list(written.counts), path.read_bytes(), 0, []
    for query, size in zip(written.ranges.queries, written.ranges.sizes, strict=True):
        owners += [names[query]] * len(content[start : start + size].splitlines())
        start += size
    assert start == len(content)
    return owners


def test_no_record_makes_no_file(tmp_path: Path) -> None:
    results = Results(str(tmp_path / "r" / "f.jsonl"))
    results.deliver(form(), ["q"], chosen(rows([])), chosen(rows([], ended=True)))
    assert results.close() is None and list(tmp_path.iterdir()) == []


def test_ends_come_after_beginnings(tmp_path: Path) -> None:
    path = tmp_path / "r" / "f.jsonl"
    results = Results(str(path))
    results.deliver(form(), ["q"], chosen(rows([1, 2])), chosen(rows([1], ended=True)))
    results.deliver(form(changelog=True), ["c"], chosen(rows([5])), chosen(rows([5], ended=True)))
    assert closed(results) == WrittenResults(
        "f.jsonl", {"q": 3, "c": 2}, {}, (), QueryRanges.of([0, 1], [213, 144])
    )
    assert [(r["query"], r["op"], r["t_start"], r["t_end"], r["row"]["v"]) for r in records(path)] == [
        ("q", "+", 1, None, 1),
        ("q", "+", 2, None, 2),
        ("q", "-", 1, 3, 1),
        ("c", "+", 5, None, 5),
        ("c", "-", 7, None, 5),
    ]


def test_a_file_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text("theirs")
    results = Results(str(path))
    results.deliver(form(), ["q"], chosen(rows([1])))
    with pytest.raises(FileExistsError):
        results.close()
    assert path.read_text() == "theirs"


def test_a_query_is_cut_at_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    results = Results(str(path))
    few = form(limit=3)
    results.deliver(few, ["q"], chosen(rows([1, 2])))
    assert results.cut == set()
    results.deliver(few, ["q"], chosen(rows([3])), chosen(rows([1], ended=True)))
    results.deliver(few, ["q"], chosen(rows([4])))
    assert closed(results) == WrittenResults(path.name, {"q": 3}, {}, ("q",), QueryRanges.of([0], [216]))
    assert [r["row"]["v"] for r in records(path)] == [1, 2, 3]


def test_many_queries_at_once_are_as_each_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    total = cuts = 0
    for seed in seed_range(60):
        rng = random.Random(seed)
        monkeypatch.setattr(results_module, "_PIECE_ROWS", rng.choice([1, 3, 1 << 16]))
        names = [f'q"{i}"' for i in range(rng.randint(1, 8))]
        limit = rng.choice([1, 3, 1000])
        path = tmp_path / f"{seed}.jsonl"
        together, expected = Results(str(path)), dict[str, list[int]]()
        for _ in range(rng.randint(1, 3)):
            picks = sorted(rng.randrange(len(names)) for _ in range(rng.randint(1, 20)))
            values = [rng.randrange(100) for _ in picks]
            together.deliver(form(limit=limit), names, chosen(rows(values), picks))
            for pick, value in zip(picks, values, strict=True):
                expected.setdefault(names[pick], []).append(value)
        written, read = closed(together), records(path)
        assert [*written.cut] == sorted(name for name, values in expected.items() if len(values) > limit)
        assert written.counts == Counter(r["query"] for r in read)
        for name, values in expected.items():
            assert [r["row"]["v"] for r in read if r["query"] == name] == values[:limit]
        owners = ranges_of(written, path)
        assert owners == [r["query"] for r in read]
        if len(read) < results_module._PIECE_ROWS:
            assert len(written.ranges.sizes) == len(written.counts)  # one range for each query
        total, cuts = total + len(read), cuts + len(written.cut)
    assert total > 500 and cuts > 20


def test_records_of_one_query_both_ways_share_the_limit(tmp_path: Path) -> None:
    results = Results(str(tmp_path / "f.jsonl"))
    few = form(limit=4)
    results.deliver(few, ["q"], chosen(rows([1, 2, 3])))
    results.deliver(few, ["q", "p"], chosen(rows([4, 5, 6]), [0, 1, 0]))
    assert closed(results).counts == {"q": 4, "p": 1} and results.cut == {"q"}
    assert [r["row"]["v"] for r in records(tmp_path / "f.jsonl")] == [1, 2, 3, 4, 5]
