"""What Spark's log says of branches, and that nothing of one is passed over that is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.errors import RunError
from seine.intake.journal import Draft
from seine.intake.spark_feed import SourceBranch
from seine.rows.clock import Clock
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import Settings
from seine.spark.offset_log import note_committed, planned_branches, put_off_planned, read_offsets

_BIDS, _SALES = SourceBranch("bids", 0), SourceBranch("sales", 3)


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    """A pipeline that began after entry 4, with two branches."""
    made = Deployment(str(tmp_path / "state"))
    made.create(Settings((0,), 1, 1, str(tmp_path / "cache"), start=4, branches=(_BIDS, _SALES)))
    return made


def _log(deployment: Deployment, batch: int, *offsets: str, committed: bool = True) -> None:
    for log, text in (
        ("offsets", "\n".join(["v1", "{}", f'{{"entry": {batch + 5}}}', *offsets])),
        ("commits", "v1"),
    ):
        folder = Path(deployment.spark) / log
        folder.mkdir(parents=True, exist_ok=True)
        if log == "offsets" or committed:
            (folder / str(batch)).write_text(text)
            (folder / f".{batch}.crc").write_text("")


def _write_entries(deployment: Deployment, last: int) -> None:
    for _ in range(last + 1):
        deployment.journal.append(Draft(0, Clock({}, {}, {}), {}, {}, []))


def test_before_the_first_micro_batch_nothing_was_read(deployment: Deployment) -> None:
    assert read_offsets(deployment) == {} and planned_branches(deployment) == set()
    assert put_off_planned(deployment)
    _log(deployment, 0, committed=False)  # that of a pipeline that takes over, without branches
    assert planned_branches(deployment) == set()


def test_offsets_are_those_of_the_last_commit(deployment: Deployment) -> None:
    _log(deployment, 8, "a8", "-")
    _log(deployment, 9, "a9", "b9")
    assert read_offsets(deployment) == {_BIDS: "a9", _SALES: "b9"}
    assert planned_branches(deployment) == set()
    _log(deployment, 10, "a9", "b10", committed=False)
    assert read_offsets(deployment) == {_BIDS: "a9", _SALES: "b9"}
    assert planned_branches(deployment) == {_SALES}


def test_a_plan_is_put_off_unless_its_tasks_have_reported(deployment: Deployment) -> None:
    _log(deployment, 0, "a0", "-")
    _log(deployment, 1, "a1", "-", committed=False)
    assert planned_branches(deployment) == {_BIDS}
    _write_entries(deployment, 7)  # micro-batch 1 is that of entry 6
    assert not put_off_planned(deployment)
    assert planned_branches(deployment) == {_BIDS}


def test_a_plan_that_nobody_has_done_yet_is_removed(deployment: Deployment) -> None:
    _log(deployment, 0, "a0", "-")
    _log(deployment, 1, "a1", "-", committed=False)
    _write_entries(deployment, 6)
    assert put_off_planned(deployment)
    assert sorted(path.name for path in Path(deployment.spark, "offsets").iterdir()) == [".0.crc", "0"]
    assert planned_branches(deployment) == set() and read_offsets(deployment)[_BIDS] == "a0"


@pytest.mark.parametrize("batch", [0, 7])
def test_a_plan_that_is_committed_is_noted(deployment: Deployment, batch: int) -> None:
    _log(deployment, batch, "a", "b", committed=False)
    Path(deployment.spark, "commits").rmdir()  # as in a copy of the folder
    entry = 5 + batch  # micro-batch 0 is that of entry 5
    note_committed(deployment, entry - 1)
    assert planned_branches(deployment) == {_BIDS, _SALES}
    note_committed(deployment, entry)
    assert planned_branches(deployment) == set() and read_offsets(deployment)[_BIDS] == "a"
    note_committed(deployment, entry)  # there is nothing to note
    assert read_offsets(deployment)[_BIDS] == "a"


def test_a_log_of_another_form_is_refused(deployment: Deployment) -> None:
    _log(deployment, 0)
    Path(deployment.spark, "offsets", "0").write_text("v7\n")
    with pytest.raises(RunError, match="the offsets of Spark's sources cannot be read"):
        read_offsets(deployment)
