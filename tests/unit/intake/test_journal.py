"""The journal: whole entries or none, runs kept as long as they are named."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seine.errors import RunError
from seine.intake import journal as journal_module
from seine.intake.intake_state import IntakeState
from seine.intake.journal import Draft, Entry, Journal
from seine.rows.clock import Clock

NAME = "../a b/ü"


def draft(value: int, runs: dict[str, pa.RecordBatch] | None = None, **options: Any) -> Draft:
    rows = {NAME: pa.record_batch({"_q": pa.array([value]), "c0": pa.array(["x"])})}
    clock = Clock({NAME: value}, {"plain": value}, {NAME: "plain"})
    letters = [{"stream": NAME, "file": "f", "line": 1, "reason": "r", "record": "é\n"}]
    return Draft(7, clock, rows, {}, letters, IntakeState(now={"plain": value}), runs or {}, **options)


def test_an_entry_reads_back(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "j"))
    assert journal.last() is None
    assert [journal.append(draft(i)).number for i in range(3)] == [0, 1, 2]
    entry = Journal(str(tmp_path / "j")).load(1)
    assert entry == journal.load(1)
    assert entry.clock == Clock({NAME: 1}, {"plain": 1}, {NAME: "plain"}) and entry.network == 7
    assert entry.rows == {NAME: 1} and entry.intake == IntakeState(now={"plain": 1}) and not entry.end
    batch = entry.batch(NAME)
    assert batch is not None and batch.to_pylist() == [{"_q": 1, "c0": "x"}]
    assert entry.batch("other") is None and entry.punctuations(NAME) is None
    assert entry.dead_letters()[0]["record"] == "é\n" and entry.dead == 1
    assert os.path.dirname(entry.path(NAME)) == entry.folder


def test_a_trial_may_end_while_an_entry_is_read(tmp_path: Path) -> None:
    """The file is listed and then gone; the queries that failed for good stay withheld."""
    journal = Journal(str(tmp_path))
    entry = journal.append(draft(0))
    journal.withhold(0, ["failed"])
    journal.try_without(0, ["suspect"])
    assert Journal(str(tmp_path)).load(0).withheld == ("failed", "suspect")
    tried = Path(entry.folder, "tried-without.json")
    tried.unlink()
    tried.symlink_to(tmp_path / "nowhere")
    assert Journal(str(tmp_path)).load(0).withheld == ("failed",)


def test_old_entries_go_and_the_newest_stays(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    for i in range(5):
        journal.append(draft(i))
    journal.discard_before(3)
    assert journal.numbers() == [3, 4]
    journal.discard_before(99)
    assert journal.numbers() == [4] and journal.append(draft(5)).number == 5
    with pytest.raises(RunError, match="no entry 3"):
        journal.load(3)


def test_runs_live_as_long_as_an_entry_names_them(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    runs = {name: pa.record_batch({"_h": pa.array([i])}) for i, name in enumerate("abc")}
    journal.append(draft(0, {"a": runs["a"]}))
    journal.append(draft(1, {"a": runs["a"], "b": runs["b"]}))
    journal.append(draft(2, {"c": runs["c"]}))
    assert journal.run("b").equals(runs["b"])
    journal.discard_before(1)
    assert sorted(os.listdir(tmp_path / "punctuations")) == ["a.arrow", "b.arrow", "c.arrow"]
    journal.discard_before(2)
    assert os.listdir(tmp_path / "punctuations") == ["c.arrow"]


@pytest.mark.parametrize("step", range(1, 9))
def test_a_crash_leaves_an_entry_whole_or_not_at_all(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(str(tmp_path))
    journal.append(draft(0, {"a": pa.record_batch({"_h": pa.array([0])})}))
    calls = 0

    def crash(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == step:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(journal_module.os, "fsync", crash)
        with contextlib.suppress(KeyboardInterrupt):
            journal.append(draft(1, {"b": pa.record_batch({"_h": pa.array([1])})}))
    after = Journal(str(tmp_path))
    after.recover()
    last = after.last()
    assert last is not None and last.number in (0, 1)
    batch = last.batch(NAME)
    assert batch is not None and batch.column("_q").to_pylist() == [last.number]
    assert [after.run(name).num_rows for name in last.runs] == [1]
    assert not any(name.startswith(".") for name in os.listdir(tmp_path / "entries"))
    assert after.append(draft(9)).number == last.number + 1


def test_a_reader_makes_nothing_and_sees_what_is_there(tmp_path: Path) -> None:
    reader = Journal(str(tmp_path / "j"))
    assert reader.numbers() == [] and reader.last() is None and not reader.exists(0)
    assert list(tmp_path.iterdir()) == []
    Journal(str(tmp_path / "j")).append(draft(0))
    assert reader.exists(0) and not reader.exists(1) and reader.numbers() == [0]


def test_reading_disturbs_no_writer(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.append(draft(0))
    (tmp_path / "entries" / ".new-1").mkdir()
    reader = copy.copy(journal)
    assert reader.last() == journal.last() and (tmp_path / "entries" / ".new-1").exists()
    journal.append(draft(1))
    assert reader.last().number == 1


def test_discarding_while_another_thread_appends(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    runs = {"a": pa.record_batch({"_h": pa.array([0])})}

    def write() -> None:
        for i in range(20):
            journal.append(draft(i, runs))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        journal.discard_before(max(journal.numbers(), default=0))
    writer.join()
    last = journal.last()
    assert last is not None and last.number == 19 and journal.run("a").num_rows == 1


def test_nothing_is_discarded_while_all_entries_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(str(tmp_path))
    for value in range(3):
        journal.append(draft(value))
    discarding = threading.Thread(target=journal.discard_before, args=(2,))
    load = journal.load

    def slowly(number: int) -> Entry:
        if discarding.ident is None:
            discarding.start()
            discarding.join(0.2)
        return load(number)

    monkeypatch.setattr(journal, "load", slowly)
    assert [entry.number for entry in journal.entries()] == [0, 1, 2]
    discarding.join()
    assert journal.numbers() == [2]


def test_an_entry_may_run_without_queries_that_failed_later(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    journal.append(Draft(1, Clock({}), {}, {}, [], withheld=("a",)))
    journal.append(Draft(1, Clock({}), {}, {}, []))
    journal.withhold(0, ["c", "b"])
    journal.withhold(0, ["b", "a"])
    journal.withhold(1, ["d"])
    again = Journal(str(tmp_path))
    assert again.load(0).withheld == ("a", "b", "c")
    assert journal.last() == again.last() == again.load(1)
    assert again.load(1).withheld == ("d",)
    assert sorted(path.name for path in (tmp_path / "entries" / f"{0:012d}").glob("withheld*")) == [
        "withheld-0.json"
    ]
