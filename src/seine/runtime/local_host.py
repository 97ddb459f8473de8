"""A host without Spark: the tasks of a pipeline in the same order, in this process, state in memory."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from seine.runtime.flow.control_record import ControlRecord
from seine.runtime.flow.task_output import CONTROL, REPORT, Row
from seine.runtime.flow.tasks import read_slices, step_stage, task_slices
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.handover import StateHead
from seine.runtime.folder.segments import Parts, Segments
from seine.runtime.output.task_report import TaskReport


class LocalHost:
    """Runs entries of a deployment one after the other, for tests and for trying things out."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self.heads: dict[tuple[int, int], bytes] = {}
        self.blobs: dict[str, bytes] = {}
        self._at_hand: dict[str, Parts] = {}  # the same as the blobs, as a worker's cache has it

    def run(self, number: int, read: Sequence[Row] = ()) -> list[TaskReport]:
        """One micro-batch; its reports. If it fails, state is as it was before.

        `read` is what tasks have made of streams that are not in the journal.
        """
        heads, blobs, at_hand = dict(self.heads), dict(self.blobs), dict(self._at_hand)
        try:
            return self._run(number, read)
        except BaseException:
            self.heads, self.blobs, self._at_hand = heads, blobs, at_hand
            raise

    def _run(self, number: int, read: Sequence[Row]) -> list[TaskReport]:
        settings, journal = self._deployment.settings, self._deployment.journal
        tasks = task_slices(journal.load(number), settings.parallelism) if journal.is_offered(number) else []
        rows = [*read, *(row for slices in tasks for row in read_slices(self._deployment.folder, slices))]
        labels = list(enumerate(settings.labels))
        for stage in range(1, settings.depth + 1):
            rows = [row for bucket, label in labels for row in self._stage(stage, bucket, label, rows)]
        return [TaskReport.unpacked(blob) for _, stage, blob in rows if stage == REPORT]

    def _stage(self, stage: int, bucket: int, label: int, rows: list[Row]) -> list[Row]:
        mine = [row for row in rows if row[0] == label]
        controls = [ControlRecord.unpacked(blob) for _, number, blob in mine if number == CONTROL]
        control = ControlRecord.merged(controls)
        if control is None:
            raise RuntimeError(f"bucket {bucket} of stage {stage} got no control record")
        blobs = [blob for _, number, blob in mine if number == stage]
        saved = self.heads.get((stage, bucket))
        before = StateHead.unpacked(saved) if saved else None
        state = Segments(before, lambda name: pa.py_buffer(self.blobs[name]), bucket, self._at_hand)
        produced = step_stage(self._deployment.folder, stage, bucket, blobs, control, state)
        head, added, gone = state.changes()
        self.heads[stage, bucket] = head.packed()
        self.blobs.update(added)
        self._at_hand.update(state.fresh())
        for name in gone:
            del self.blobs[name]
            self._at_hand.pop(name, None)  # a host that goes on for another one has nothing at hand
        return [row for row in mine if row[1] != stage] + produced
