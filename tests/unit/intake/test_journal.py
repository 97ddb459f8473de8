"""The journal: whole entries or none, runs kept as long as they are named."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seine.errors import RunError
from seine.intake.intake_state import IntakeState
from seine.intake.journal import Draft, Entry, Journal
from seine.rows.clock import Clock
from seine.storage.local import LocalStore
from seine.storage.memory import MemoryStore
from tests.support.faulty_store import Fault, FaultyStore, Objects, distinct_cuts, lost_answer

NAME = "../a b/ü"


def draft(value: int, runs: dict[str, pa.RecordBatch] | None = None, **options: Any) -> Draft:
    rows = {NAME: pa.record_batch({"_q": pa.array([value]), "c0": pa.array(["x"])})}
    clock = Clock({NAME: value}, {"plain": value}, {NAME: "plain"})
    letters = [{"stream": NAME, "file": "f", "line": 1, "reason": "r", "record": "é\n"}]
    return Draft(7, clock, rows, {}, letters, IntakeState(now={"plain": value}), runs or {}, **options)


def test_an_entry_reads_back(tmp_path: Path) -> None:
    journal = Journal(LocalStore(str(tmp_path / "j")))
    assert journal.last() is None
    assert [journal.append(draft(i)).number for i in range(3)] == [0, 1, 2]
    entry = Journal(LocalStore(str(tmp_path / "j"))).load(1)
    assert entry == journal.load(1)
    assert entry.clock == Clock({NAME: 1}, {"plain": 1}, {NAME: "plain"}) and entry.network == 7
    assert entry.rows == {NAME: 1} and entry.intake == IntakeState(now={"plain": 1}) and not entry.end
    batch = entry.batch(NAME)
    assert batch is not None and batch.to_pylist() == [{"_q": 1, "c0": "x"}]
    assert entry.batch("other") is None and entry.punctuations(NAME) is None
    assert entry.dead_letters()[0]["record"] == "é\n" and entry.dead == 1


def test_a_trial_may_end_while_an_entry_is_read() -> None:
    """Its object is listed and then gone; the queries that failed for good stay withheld."""

    class Listing(MemoryStore):
        def list(self, prefix: str, after: str = "") -> Iterator[str]:
            names = [*super().list(prefix, after)]
            if trials_end:
                self.delete([name for name in names if "/tried/" in name])
            return iter(names)

    store, trials_end = Listing(), False
    journal = Journal(store)
    journal.append(draft(0))
    journal.withhold(0, ["failed"])
    journal.try_without(0, ["suspect"])
    assert Journal(store).load(0).withheld == ("failed", "suspect")
    trials_end = True
    assert Journal(store).load(0).withheld == ("failed",)


def test_old_entries_go_and_the_newest_stays() -> None:
    journal = Journal(MemoryStore())
    for i in range(5):
        journal.append(draft(i))
    journal.discard_before(3)
    assert journal.numbers() == [3, 4]
    journal.discard_before(99)
    assert journal.numbers() == [4] and journal.append(draft(5)).number == 5
    with pytest.raises(RunError, match="no entry 3"):
        journal.load(3)


def test_runs_live_as_long_as_an_entry_names_them() -> None:
    store = MemoryStore()
    journal = Journal(store)
    runs = {name: pa.record_batch({"_h": pa.array([i])}) for i, name in enumerate("abc")}
    journal.append(draft(0, {"a": runs["a"]}))
    journal.append(draft(1, {"a": runs["a"], "b": runs["b"]}))
    last = journal.append(draft(2, {"c": runs["c"]}))
    assert journal.load(1).run("b").equals(runs["b"]) and last.run("c").equals(runs["c"])
    assert journal.load(0).runs["a"] == journal.load(1).runs["a"], "it is written once"
    journal.discard_before(1)
    assert len([*store.list("punctuations/")]) == 3
    journal.discard_before(2)
    assert [*store.list("punctuations/")] == [f"punctuations/{last.runs['c']}"]


def _entry_after_a_cut(objects: Objects) -> Entry:
    store = FaultyStore(objects)
    after = Journal(store)
    after.recover()
    last = after.last()
    assert last is not None
    batch = last.batch(NAME)
    assert batch is not None and batch.column("_q").to_pylist() == [last.number]
    assert [last.run(name).num_rows for name in last.runs] == [1]
    named = {place for entry in after.entries() for place in entry.runs.values()}
    assert {*store.list("punctuations/")} == {f"punctuations/{place}" for place in named}
    assert after.append(draft(9)).number == last.number + 1
    return last


def test_a_power_cut_leaves_an_entry_whole_or_not_at_all() -> None:
    first = FaultyStore()
    Journal(first).append(draft(0, {"a": pa.record_batch({"_h": pa.array([0])})}))
    store = FaultyStore(first.objects, recording=True)
    journal = Journal(store)
    journal.append(draft(1, {"b": pa.record_batch({"_h": pa.array([1])})}))
    journal.discard_before(1)
    cuts = distinct_cuts(store.cuts)
    assert {_entry_after_a_cut(cut.objects).number for cut in cuts} == {0, 1} and len(cuts) > 3


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("call", ["put", "swap"])
def test_a_call_that_fails_leaves_an_entry_whole_or_not_at_all(call: str, lost: bool) -> None:
    """A lost answer to the claim of an entry is asked for again; any other error is told."""
    first = FaultyStore()
    Journal(first).append(draft(0, {"a": pa.record_batch({"_h": pa.array([0])})}))
    store, failed = FaultyStore(first.objects), []

    def fault(number: int, request: str) -> Fault | None:
        if failed or not request.startswith(call):
            return None
        failed.append(request)
        return lost_answer() if lost else Fault(OSError(28, "no space"))

    store.fault = fault
    expectation = (
        contextlib.nullcontext()
        if lost and call == "swap"
        else pytest.raises(OSError, match=r"no space|answer was lost")
    )
    with expectation:
        Journal(store).append(draft(1, {"b": pa.record_batch({"_h": pa.array([1])})}))
    assert failed and _entry_after_a_cut(store.objects).number == int(lost and call == "swap")


def test_entries_before_a_gap_are_removed() -> None:
    store = MemoryStore()
    journal = Journal(store)
    for value in range(5):
        journal.append(draft(value))
    journal.withhold(1, ["q"])
    back = dict(store.objects)
    journal.discard_before(3)
    for name in back:
        if name.startswith(("journal/000000000001", "amended/")):
            store.objects[name] = back[name]  # removed, but not yet for good when the power went
    after = Journal(store)
    after.recover()
    assert after.numbers() == [3, 4] and not [*store.list("amended/")]


def test_another_writer_is_told_and_writes_nothing() -> None:
    store = MemoryStore()
    one, other = Journal(store), Journal(store)
    one.append(draft(0))
    other.append(draft(1))
    with pytest.raises(RunError, match="another process writes the journal"):
        one.append(draft(7))
    assert other.numbers() == [0, 1] and other.load(1).rows == {NAME: 1}


def test_a_reader_makes_nothing_and_sees_what_is_there(tmp_path: Path) -> None:
    reader = Journal(LocalStore(str(tmp_path / "j")))
    assert reader.numbers() == [] and reader.last() is None and not reader.exists(0)
    assert list(tmp_path.iterdir()) == []
    Journal(LocalStore(str(tmp_path / "j"))).append(draft(0))
    assert reader.exists(0) and not reader.exists(1) and reader.numbers() == [0]


def test_discarding_while_another_thread_appends() -> None:
    journal = Journal(MemoryStore())
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
    assert last is not None and last.number == 19 and last.run("a").num_rows == 1


def test_nothing_is_discarded_while_all_entries_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(MemoryStore())
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


def test_an_entry_may_run_without_queries_that_failed_later() -> None:
    store = MemoryStore()
    journal = Journal(store)
    journal.append(Draft(1, Clock({}), {}, {}, [], withheld=("a",)))
    journal.append(Draft(1, Clock({}), {}, {}, []))
    journal.withhold(0, ["c", "b"])
    journal.withhold(0, ["b", "a"])
    journal.withhold(1, ["d"])
    again = Journal(store)
    assert again.load(0).withheld == ("a", "b", "c")
    assert journal.last() == again.last() == again.load(1)
    assert again.load(1).withheld == ("d",)
