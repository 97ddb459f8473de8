"""Retained input: every row once, in order, however segments were merged, and whatever a crash left."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.intake import retained_entries
from seine.intake.intake_state import IntakeState
from seine.intake.journal import Draft, Journal
from seine.intake.retained_entries import ENTRY_NUMBER, RetainedEntries
from seine.intake.retention_limit import RetentionLimit
from seine.rows.clock import Clock
from seine.storage.memory import MemoryStore
from tests.support.seeds import seeds

PLENTY = RetentionLimit(bytes=1 << 40)
INTEGERS = pa.int64()


class Kept:
    """A journal whose entries are retained when they are discarded, and what was written to it."""

    def __init__(self, limit: RetentionLimit = PLENTY) -> None:
        self.store, self.limit = MemoryStore(), limit
        self.written: list[tuple[int, int]] = []  # entry and value
        self.in_use = False
        self.open()

    def open(self) -> None:
        self.journal = Journal(self.store)
        self.retained = RetainedEntries(self.journal, self.limit, lambda: self.in_use)
        self.journal.keep_discarded(self.retained.absorb)

    def append(self, values: list[int], wall: int = 0, type_: pa.DataType = INTEGERS) -> int:
        batch = pa.record_batch({"c0": pa.array(values, pa.int64()).cast(type_)})
        last = self.journal.last()
        number = 0 if last is None else last.number + 1
        latest = {"s": max([value for _, value in self.written] + values, default=-1)}
        clock = Clock(latest, {"plain": latest["s"]}, {}, latest=latest)
        rows = {"s": batch} if values else {}
        self.journal.append(Draft(0, clock, rows, {}, [], IntakeState(wall=wall)))
        self.written += [(number, value) for value in values]
        return number

    def read(self, start: int, until: int, most: int) -> list[tuple[int, int]]:
        rows: list[tuple[int, int]] = []
        while start < until:
            piece = self.retained.piece({"s": 0}, start, until, most)
            assert piece.next > start
            if "s" in piece.rows:
                batch = piece.rows["s"]
                rows += zip(batch[ENTRY_NUMBER].to_pylist(), batch["c0"].to_pylist(), strict=True)
            start = piece.next
        return rows


@seeds(12)
def test_every_row_is_there_once_and_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    monkeypatch.setattr(retained_entries, "MOST_ROWS_MERGED", rng.choice([5, 40, 1000]))
    monkeypatch.setattr(retained_entries, "_SMALL_ROWS", rng.choice([0, 10]))
    kept, value = Kept(), 0
    for _ in range(60):
        count = rng.choice([0, 1, 1, 3, 20])
        number = kept.append([*range(value, value + count)])
        value += count
        if rng.random() < 0.7:
            kept.journal.discard_before(number - rng.randint(0, 2))
        if rng.random() < 0.1:
            kept.open()
        start, until = sorted((rng.randint(0, number), rng.randint(0, number + 1)))
        expected = [(entry, one) for entry, one in kept.written if start <= entry < until]
        assert kept.read(start, until, rng.choice([1, 10, 10_000])) == expected
    assert value > 60 and kept.retained.figures()[2] > 0
    assert len([*kept.store.list("history/")]) < 60


def test_what_a_crash_left_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_entries, "_SMALL_ROWS", 100)
    kept = Kept()
    for value in range(4):
        kept.append([value])
    kept.retained.absorb(kept.journal.load(0))
    before = {name: kept.store.get(name) for name in kept.store.list("history/")}
    kept.retained.absorb(kept.journal.load(1))  # merged with the segment of entry 0
    kept.store.objects.update(before)  # the crash came before that one was removed
    kept.open()  # entries 0 and 1 are still in the journal, too
    assert [*kept.store.list("history/")] == ["history/000000000000-000000000001"]
    kept.journal.discard_before(3)
    assert kept.read(0, 4, 1) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_the_oldest_go_beyond_the_limit_unless_they_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_entries, "MOST_ROWS_MERGED", 1)
    kept = Kept(RetentionLimit(seconds=10))
    kept.in_use = True
    for value in range(8):
        kept.append([value], wall=value * 5_000_000)
    kept.journal.discard_before(6)
    assert kept.retained.first == 0 and kept.retained.reach_back("s", 0, -1)
    kept.in_use = False
    kept.journal.discard_before(7)
    assert kept.retained.first == 4  # of wall clock 20 s, the newest being of 30 s
    assert kept.retained.reach_back("s", 0, 3) and not kept.retained.reach_back("s", 0, 2)
    assert kept.retained.reach_back("s", 4, -1)


def test_what_lies_before_a_hole_is_given_up() -> None:
    kept = Kept()
    for value in range(5):
        kept.append([value])
    kept.journal.discard_before(2)
    kept.journal.keep_discarded(lambda entry: None)  # as if nobody retained for a while
    kept.journal.discard_before(4)
    kept.open()
    assert kept.retained.first == 4 and kept.retained.figures() == (-1, -1, 0, 0)


def test_what_a_power_cut_brought_back_before_a_gap_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retained_entries, "MOST_ROWS_MERGED", 1)
    kept = Kept(RetentionLimit(seconds=10))
    for value in range(8):
        kept.append([value], wall=value * 5_000_000)
        before = {name: kept.store.get(name) for name in kept.store.list("history/")}
        if value == 2:
            removed = {name: before[name] for name in [*before][:1]}
        kept.journal.discard_before(value)
    kept.store.objects.update(removed)
    kept.open()
    assert kept.retained.first == 4 and kept.read(4, 8, 10) == [(4, 4), (5, 5), (6, 6), (7, 7)]


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "1.5GB", "30 fortnights", "-3d"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(SeineError, match="is no duration and no size"):
        RetentionLimit.parse(text)


def test_units_in_any_case() -> None:
    assert RetentionLimit.parse("2 W").seconds == 1_209_600
    assert RetentionLimit.parse("10mb").bytes == 10_000_000
    assert RetentionLimit.parse("45m").seconds == 2_700


def test_a_stream_that_is_declared_anew_with_other_types_is_kept_apart() -> None:
    kept = Kept()
    for values, type_ in (([1], pa.int64()), ([2, 3], pa.string()), ([4], pa.string())):
        number = kept.append(values, type_=type_)
        kept.journal.discard_before(number + 1)
    kept.append([5], type_=pa.string())
    kept.open()
    piece = kept.retained.piece({"s": 1}, 0, 4, 1_000)
    assert piece.next == 4 and piece.rows["s"]["c0"].to_pylist() == ["2", "3", "4", "5"]
    assert len([*kept.store.list("history/")]) == 2
