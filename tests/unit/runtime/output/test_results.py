"""Results of a task: one record a row, counted by query, cut at the limit."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from seine.runtime.output import results as results_module
from seine.runtime.output import task_pieces
from seine.runtime.output.results import Results
from seine.runtime.output.task_pieces import PieceWriter, text_of
from seine.runtime.output.task_report import QueryRanges, WrittenResults
from seine.storage.memory import MemoryStore
from tests.support.runtime_nodes import chosen, form, rows
from tests.support.seeds import seed_range


class Written:
    """Results that are collected, and what they come to."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.results = Results(PieceWriter(self.store, 1))

    def close(self) -> tuple[WrittenResults, bytes]:
        written = self.results.close()
        assert written is not None
        return written, bytes(text_of(self.store, written.pieces))


def lines(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def ranges_of(written: WrittenResults, content: bytes) -> list[str]:
    """The query of each line, as the ranges of a text tell it."""
    names, start, owners = list(written.counts), 0, []
    for query, size in zip(written.ranges.queries, written.ranges.sizes, strict=True):
        owners += [names[query]] * len(content[start : start + size].splitlines())
        start += size
    assert start == len(content)
    return owners


def test_no_record_makes_no_piece() -> None:
    one = Written()
    one.results.deliver(form(), ["q"], chosen(rows([])), chosen(rows([], ended=True)))
    assert one.results.close() is None and one.store.objects == {}


def test_ends_come_after_beginnings() -> None:
    one = Written()
    one.results.deliver(form(), ["q"], chosen(rows([1, 2])), chosen(rows([1], ended=True)))
    one.results.deliver(form(changelog=True), ["c"], chosen(rows([5])), chosen(rows([5], ended=True)))
    written, text = one.close()
    ranges = QueryRanges.of([0, 1], [213, 144])
    assert written == WrittenResults(written.pieces, {"q": 3, "c": 2}, {}, (), ranges)
    assert [piece.length for piece in written.pieces] == [357]
    assert [(r["query"], r["op"], r["t_start"], r["t_end"], r["row"]["v"]) for r in lines(text)] == [
        ("q", "+", 1, None, 1),
        ("q", "+", 2, None, 2),
        ("q", "-", 1, 3, 1),
        ("c", "+", 5, None, 5),
        ("c", "-", 7, None, 5),
    ]


def test_a_long_text_is_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_pieces, "_MOST_HELD_BYTES", 100)
    monkeypatch.setattr(results_module, "_PIECE_ROWS", 1)
    one = Written()
    for number in range(5):
        one.results.deliver(form(), [f"q{number}"], chosen(rows([number])))
    written, text = one.close()
    assert len(written.pieces) == 3 == len(one.store.objects)
    assert [r["query"] for r in lines(text)] == ranges_of(written, text) == [f"q{i}" for i in range(5)]


def test_a_query_is_cut_at_its_limit() -> None:
    one = Written()
    results = one.results
    few = form(limit=3)
    results.deliver(few, ["q"], chosen(rows([1, 2])))
    assert results.cut == set()
    results.deliver(few, ["q"], chosen(rows([3])), chosen(rows([1], ended=True)))
    results.deliver(few, ["q"], chosen(rows([4])))
    written, text = one.close()
    assert written == WrittenResults(written.pieces, {"q": 3}, {}, ("q",), QueryRanges.of([0], [216]))
    assert [r["row"]["v"] for r in lines(text)] == [1, 2, 3]


def test_many_queries_at_once_are_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    total = cuts = 0
    for seed in seed_range(60):
        rng = random.Random(seed)
        monkeypatch.setattr(results_module, "_PIECE_ROWS", rng.choice([1, 3, 1 << 16]))
        names = [f'q"{i}"' for i in range(rng.randint(1, 8))]
        limit = rng.choice([1, 3, 1000])
        one, expected = Written(), dict[str, list[int]]()
        for _ in range(rng.randint(1, 3)):
            picks = sorted(rng.randrange(len(names)) for _ in range(rng.randint(1, 20)))
            values = [rng.randrange(100) for _ in picks]
            one.results.deliver(form(limit=limit), names, chosen(rows(values), picks))
            for pick, value in zip(picks, values, strict=True):
                expected.setdefault(names[pick], []).append(value)
        written, text = one.close()
        read = lines(text)
        assert [*written.cut] == sorted(name for name, values in expected.items() if len(values) > limit)
        assert written.counts == Counter(r["query"] for r in read)
        for name, values in expected.items():
            assert [r["row"]["v"] for r in read if r["query"] == name] == values[:limit]
        owners = ranges_of(written, text)
        assert owners == [r["query"] for r in read]
        if len(read) < results_module._PIECE_ROWS:
            assert len(written.ranges.sizes) == len(written.counts)  # one range for each query
        total, cuts = total + len(read), cuts + len(written.cut)
    assert total > 500 and cuts > 20


def test_records_of_one_query_both_ways_share_the_limit() -> None:
    one = Written()
    results = one.results
    few = form(limit=4)
    results.deliver(few, ["q"], chosen(rows([1, 2, 3])))
    results.deliver(few, ["q", "p"], chosen(rows([4, 5, 6]), [0, 1, 0]))
    written, text = one.close()
    assert written.counts == {"q": 4, "p": 1} and results.cut == {"q"}
    assert [r["row"]["v"] for r in lines(text)] == [1, 2, 3, 4, 5]
