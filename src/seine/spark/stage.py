"""A stage of the pipeline: all stateful operators of one level, in a transformWithState of Spark.

Spark starts a process for each stage only to learn what state it has, so what does the work is
imported where it is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from seine.runtime.folder.handover import Handover
from seine.runtime.folder.settings import read_settings
from seine.spark.bucket_state import StateHandles
from seine.storage.local import store_at

if TYPE_CHECKING:
    from seine.algebra.aggregates import UserAggregate


class Stage(StatefulProcessor):
    """Every batch, every bucket gets control records, and passes one on, so every operator steps once."""

    def __init__(
        self, folder: str, number: int, start: int, aggregates: tuple[type[UserAggregate], ...] = ()
    ) -> None:
        """`start` is the entry that handed over to this pipeline, -1 if there was none before it."""
        self.folder = folder
        self.number = number
        self.start = start
        self.aggregates = aggregates

    def init(self, handle: StatefulProcessorHandle) -> None:
        store = store_at(self.folder)
        settings = read_settings(store)
        self.labels = settings.labels
        before = Handover(store, self.start) if self.start >= 0 else None
        stages = settings.before.stages if settings.before is not None else 0
        self.state = StateHandles(handle, settings.cache, self.number, before, stages)
        if self.aggregates:
            from seine.algebra.aggregates import register

            for aggregate in self.aggregates:
                register(aggregate)

    def handleInputRows(self, key: Any, rows: Iterator[SparkRow], timerValues: Any) -> Iterator[SparkRow]:
        from seine.runtime.flow.control_record import ControlRecord
        from seine.runtime.flow.task_output import CONTROL
        from seine.runtime.flow.tasks import step_stage
        from seine.spark.worker_task import begin_task

        begin_task(self.folder)
        controls, blobs = [], []
        for row in rows:
            if row.stage == self.number:
                blobs.append(bytes(row.blob))
            elif row.stage == CONTROL:
                controls.append(ControlRecord.unpacked(bytes(row.blob)))
            else:
                yield row
        control = ControlRecord.merged(controls)
        if control is None:
            raise RuntimeError(f"bucket {key[0]} of stage {self.number} got no control record")
        yield SparkRow(bucket=key[0], stage=CONTROL, blob=control.packed())
        bucket = self.labels.index(key[0])
        state = self.state.open(bucket)
        produced = step_stage(self.folder, self.number, bucket, blobs, control, state)
        self.state.save(state)
        if control.handover:
            self.state.hand_over(bucket, Handover(store_at(self.folder), control.entry))
        for label, stage, blob in produced:
            yield SparkRow(bucket=label, stage=stage, blob=blob)

    def close(self) -> None:
        return
