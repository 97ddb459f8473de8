"""The journal as a Spark streaming source: one entry a micro-batch, some slices of it a task.

Spark starts several short-lived processes that only want the names in here, so what does the work
is imported where it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "bucket int, stage int, blob binary"


class JournalSource(DataSource):
    """`spark.readStream.format("seine").option("folder", ...)`."""

    @classmethod
    def name(cls) -> str:
        return "seine"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: object) -> JournalReader:
        paced = self.options.get("paced") == "true"
        until = int(self.options["until"]) if "until" in self.options else None
        return JournalReader(self.options["folder"], int(self.options["start"]), paced, until)


class JournalReader(DataSourceStreamReader):
    """Offsets are entry numbers; an entry never changes once it is there, so a replay is the same.

    It begins after the entry `start`, and stops after one that hands over to another pipeline. Where entries
    are `paced` the last one is that of the next micro-batch, and a blank one is not offered by itself: rows
    of another source may use it up. It may be told the last entry that it offers, `until`.
    """

    def __init__(self, folder: str, start: int, paced: bool = False, until: int | None = None) -> None:
        self.folder = folder
        self.start = start
        self.paced = paced
        self.until = until

    def initialOffset(self) -> dict[str, int]:
        return {"entry": self.start}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        from seine.runtime.folder.deployment import Deployment

        journal, reached = Deployment(self.folder).journal, start["entry"]
        if self.until is not None and reached >= self.until:
            return start
        if self.paced:
            last = max(journal.numbers(), default=reached)
            last = last if self.until is None else min(last, self.until)
            return {"entry": last} if last > reached and journal.is_offered(last) else start
        if not journal.exists(reached + 1):
            return start
        if reached > self.start and journal.exists(reached) and journal.load(reached).handover:
            return start
        return {"entry": reached + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        from seine.runtime.flow.tasks import task_slices
        from seine.runtime.folder.deployment import Deployment

        if start == end:
            return []
        deployment = Deployment(self.folder)
        entry = deployment.journal.load(end["entry"])  # those between were used up by rows of other sources
        return [InputPartition(slices) for slices in task_slices(entry, deployment.settings.parallelism)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.task_output import to_batch
        from seine.runtime.flow.tasks import read_slices
        from seine.spark.worker_task import begin_task

        begin_task(self.folder)
        yield to_batch(read_slices(self.folder, partition.value))
