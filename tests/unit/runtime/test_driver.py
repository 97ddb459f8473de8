"""The driver: feeds a little ahead, commits in order, and goes on where the last run stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seine.errors import RunError
from seine.intake.journal import Draft, Entry
from seine.runtime.driver import Driver
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport
from tests.support.runtime_nodes import clock, deployment, rows


class FakeIntake:
    """Appends so many entries, each of one row, and then the end unless it follows."""

    def __init__(self, made: Deployment, count: int, follow: bool) -> None:
        self.journal, self.count, self.follow, self.closed = made.journal, count, follow, False
        self.paced = False

    def next_entry(self) -> Entry | None:
        last = self.journal.last()
        number = last.number + 1 if last else 0
        if number < self.count:
            return self.journal.append(Draft(1, clock(number), {"s": rows([number])}, {}, []))
        if self.follow or (last and last.end):
            return None
        return self.journal.append(Draft(1, clock(number, end=True), {}, {}, [], end=True))

    def close(self) -> None:
        self.closed = True


class Rig:
    """A driver with all its surroundings; `pending` entries are committed in order by `work`."""

    def __init__(self, folder: Path, count: int, follow: bool = False) -> None:
        self.made = Deployment(str(folder)) if folder.exists() else deployment(folder)
        self.sink = Sink(self.made, lambda record: None, None, {})
        self.opened: list[FakeIntake] = []
        self.progress: list[int] = []
        self.count = count
        self.driver = Driver(self, follow)  # type: ignore[arg-type]

    @property
    def deployment(self) -> Deployment:
        return self.made

    holdings = ()

    def committed(self) -> None:
        self.progress.append(self.sink.totals.entry)

    def judge(self, entry: int, reports: object) -> tuple[str, ...]:
        return ()

    def withhold_gone(self, first: int, ceased: bool) -> None:
        pass

    def open_intake(self, follow: bool) -> FakeIntake:
        self.opened.append(FakeIntake(self.made, self.count, follow))
        return self.opened[-1]

    def reports(self, number: int) -> list[TaskReport]:
        return [TaskReport(number, 0, 0)]

    def work(self) -> None:
        """What the pipeline does between two looks of the driver: one entry, if there is one."""
        following = self.sink.totals.entry + 1
        assert max(self.made.journal.numbers(), default=-1) - self.sink.totals.entry <= 2, "too far ahead"
        if self.made.journal.exists(following):
            self.driver.commit(self.reports(following))


def test_all_entries_are_done_in_order(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "d", 5)
    assert not rig.driver.finished
    rig.driver.run_all(rig.reports)
    assert rig.driver.finished and rig.progress == list(range(6))
    assert rig.sink.totals.input_rows == 5 and rig.made.journal.numbers() == [5]


def test_intake_runs_a_little_ahead(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "d", 7)
    rig.driver.drive(rig.work)
    assert rig.progress == list(range(8))
    rig.driver.close()
    assert [intake.closed for intake in rig.opened] == [True]


def test_a_replayed_batch_counts_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "d", 2)

    def work(number: int) -> list[dict[str, Any]]:
        if number:
            rig.driver.commit(rig.reports(number - 1))
        return rig.reports(number)

    rig.driver.run_all(work)
    assert rig.sink.totals.batches == 3 and rig.sink.totals.input_rows == 2


def test_a_dead_pipeline_stops_the_driver(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "d", 2)

    def watch() -> None:
        raise RunError("the pipeline stopped")

    with pytest.raises(RunError, match="the pipeline stopped"):
        rig.driver.drive(watch)


def test_a_second_run_goes_on_where_the_first_stopped(tmp_path: Path) -> None:
    first = Rig(tmp_path / "d", 6)

    def watch() -> None:
        first.work()
        if first.sink.totals.entry == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.driver.drive(watch)
    second = Rig(tmp_path / "d", 6)
    second.driver.drive(second.work)
    assert first.progress + second.progress == list(range(7)) and second.sink.totals.input_rows == 6
    third = Rig(tmp_path / "d", 6)
    assert third.driver.finished
    third.driver.drive(lambda: pytest.fail("nothing is left to do"))


def test_following_ends_when_it_is_told_to(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "d", 3, follow=True)
    looks = 0

    def watch() -> None:
        nonlocal looks
        looks += 1
        rig.work()
        if looks == 6:
            assert rig.sink.totals.entry == 2 and not rig.driver.finished
            rig.count = rig.opened[0].count = 4
            rig.driver.end_input()

    rig.driver.drive(watch)
    assert rig.progress == list(range(5)) and rig.sink.totals.input_rows == 4
    assert [(intake.follow, intake.closed) for intake in rig.opened] == [(True, True), (False, False)]


def test_a_commit_that_fails_is_not_taken_for_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path / "state", count=0)
    rig.driver._feed()

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rig.sink._out, "settle", full)
    with pytest.raises(RunError, match="No space left"):
        rig.driver.commit(rig.reports(0))
    assert not rig.driver.finished


def test_a_refused_run_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("of an earlier run\n")
    sink = Sink(deployment(tmp_path / "state"), str(out), None, {})
    sink.close()
    assert out.read_text() == "of an earlier run\n"


def test_a_batch_without_an_entry_commits_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path / "state", count=2)
    rig.driver.commit([])
    assert rig.progress == [] and rig.sink.totals.batches == 0
    rig.driver.drive(rig.work)
    assert rig.progress == [0, 1, 2]


def test_a_closed_driver_takes_no_report(tmp_path: Path) -> None:
    """Spark may still be delivering when a run is stopped: what is not committed must not count as done."""
    rig = Rig(tmp_path / "state", count=2)
    rig.driver._feed()
    rig.driver.close()
    with pytest.raises(RunError, match="closed"):
        rig.driver.commit(rig.reports(0))
    again = Rig(tmp_path / "state", count=2)
    again.driver.drive(again.work)
    assert rig.progress == [] and again.progress == [0, 1, 2]


def test_a_stopped_run_goes_on_with_more_input(tmp_path: Path) -> None:
    first = Rig(tmp_path / "state", 3, follow=True)

    def watch() -> None:
        first.work()
        if first.sink.totals.entry == 1:
            first.driver.stop()

    first.driver.drive(watch)
    first.driver.close()
    assert first.driver.stopped and not first.driver.finished
    second = Rig(tmp_path / "state", 5)
    second.driver.drive(second.work)
    assert first.progress + second.progress == list(range(6))
