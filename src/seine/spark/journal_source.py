"""The journal as a Spark streaming source: one entry a micro-batch, one slice a task.

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
        return JournalReader(self.options["folder"], int(self.options["start"]))


class JournalReader(DataSourceStreamReader):
    """Offsets are entry numbers; an entry never changes once it is there, so a replay is the same.

    It begins after the entry `start`, and stops after one that hands over to another pipeline.
    """

    def __init__(self, folder: str, start: int) -> None:
        self.folder = folder
        self.start = start

    def initialOffset(self) -> dict[str, int]:
        return {"entry": self.start}

    def latestOffset(self, start: dict[str, int], limit: object) -> dict[str, int]:
        from seine.runtime.folder.deployment import Deployment

        journal, reached = Deployment(self.folder).journal, start["entry"]
        if not journal.exists(reached + 1):
            return start
        if reached > self.start and journal.exists(reached) and journal.load(reached).handover:
            return start
        return {"entry": reached + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        from seine.runtime.flow.tasks import slices_of
        from seine.runtime.folder.deployment import Deployment

        deployment = Deployment(self.folder)
        parallelism = deployment.settings.parallelism
        return [
            InputPartition(slice_)
            for number in range(start["entry"] + 1, end["entry"] + 1)
            for slice_ in slices_of(deployment.journal.load(number), parallelism)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.task_row import to_batch
        from seine.runtime.flow.tasks import read_slice

        yield to_batch(read_slice(self.folder, partition.value))
