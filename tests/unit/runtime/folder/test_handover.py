"""State on its way to a deeper pipeline: whole whenever a head is there, and read by the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from seine.errors import RunError
from seine.intake.journal import Draft, Journal
from seine.intake.spark_feed import PipelineShape
from seine.rows.clock import Clock
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.handover import Handover, StateHead
from seine.runtime.folder.settings import new_settings
from seine.spark.bucket_state import StateHandles
from seine.spark.journal_source import JournalReader
from seine.storage.local import LocalStore


class Map:
    """A map state in memory, as Spark's looks to us."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[Any, ...]] = {}

    def getValue(self, key: tuple[str]) -> tuple[Any, ...] | None:
        return self.held.get(key[0])

    def updateValue(self, key: tuple[str], value: tuple[Any, ...]) -> None:
        self.held[key[0]] = value

    def removeKey(self, key: tuple[str]) -> None:
        del self.held[key[0]]


class Handle:
    """One key of Spark's state."""

    def __init__(self) -> None:
        self.blobs = Map()

    def getMapState(self, name: str, key: StructType, value: StructType) -> Map:
        return self.blobs


def handles(handle: Handle, folder: Path, before: Handover | None, stage: int = 1) -> StateHandles:
    return StateHandles(handle, str(folder / "cache"), stage, before)  # type: ignore[arg-type]


def test_a_head_and_its_segments_read_back(tmp_path: Path) -> None:
    left = Handover(LocalStore(str(tmp_path)), 7)
    assert left.head(1, 0) is None
    left.leave(1, 0, StateHead(segments={"a": []}), {"a": b"old"}.__getitem__)
    left.leave(1, 0, StateHead(segments={"b": []}), {"b": b"new"}.__getitem__)
    head = left.head(1, 0)
    assert head is not None and head.state == StateHead(segments={"b": []})
    assert left.segment(head, "b") == b"new" and left.head(2, 0) is None


def test_a_pipeline_goes_on_with_what_another_left(tmp_path: Path) -> None:
    import pyarrow as pa

    batch = pa.record_batch({"c0": pa.array([1, 2, 3])})
    first = handles(Handle(), tmp_path, None)
    state = first.open(0)
    name = state.of(4).put(batch)
    state.of(4).head["run"] = name
    first.save(state)
    path = Handover(LocalStore(str(tmp_path)), 9)
    first.hand_over(0, path)

    handle = Handle()
    second = handles(handle, tmp_path / "elsewhere", path)
    taken = second.open(0)
    assert taken.of(4).head == {"run": name} and taken.of(4).get(name) == batch
    second.save(taken)
    assert handles(handle, tmp_path / "again", path).open(0).of(4).get(name) == batch
    assert list(handle.blobs.held) == [name.split("/")[0], "head"]
    assert handles(Handle(), tmp_path, path, stage=2).open(0).of(4).head == {}, "a stage that is new"


def test_a_pipeline_stops_where_it_hands_over_and_the_next_begins_there(tmp_path: Path) -> None:
    journal = Journal(LocalStore(str(tmp_path)))
    for number in range(4):
        journal.append(Draft(1, Clock({}), {}, {}, [], handover=3 if number == 1 else 0))
    first, second = JournalReader(str(tmp_path), -1), JournalReader(str(tmp_path), 1)
    assert first.latestOffset(first.initialOffset(), None) == {"entry": 0}
    assert first.latestOffset({"entry": 0}, None) == {"entry": 1}
    assert first.latestOffset({"entry": 1}, None) == {"entry": 1}
    assert second.latestOffset(second.initialOffset(), None) == {"entry": 2}
    assert second.latestOffset({"entry": 3}, None) == {"entry": 3}


def test_a_head_that_must_be_there_is_never_empty_state(tmp_path: Path) -> None:
    left = Handover(LocalStore(str(tmp_path)), 7)
    left.leave(1, 0, StateHead(segments={}), {}.__getitem__)
    assert left.head(1, 0, stages=2) is not None and left.head(3, 0, stages=2) is None
    for stage, bucket in ((1, 1), (2, 0)):
        with pytest.raises(RunError, match=f"stage {stage} handed over in bucket {bucket} is missing"):
            left.head(stage, bucket, stages=2)
    taking = StateHandles(Handle(), str(tmp_path / "cache"), 2, left, 2)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="missing"):
        taking.open(0)


def test_settings_say_how_many_stages_have_left_their_state(tmp_path: Path) -> None:
    made = Deployment(str(tmp_path))
    made.create(new_settings(2, 3))
    made.take_over(4, PipelineShape(5, ()))
    before = Deployment(str(tmp_path)).settings.before
    assert before is not None and before.stages == 3
