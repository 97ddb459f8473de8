"""Topics as a Spark streaming source whose tasks fetch their own records: no row of Spark's is ever made.

    driver   offsets of a micro-batch, in Spark's log     {"bids": {"0": 14, "1": 3}}
    task     its ranges -> fetch -> parse -> admit -> push -> parcels

Spark starts several short-lived processes that only want the names in here, so what does the work is
imported where it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from seine.spark.journal_source import SCHEMA
from seine.spark.source_task import task_of_batch

if TYPE_CHECKING:
    import pyarrow as pa

    from seine.topics.offset_ranges import Offsets
    from seine.topics.topic_client import TopicClient
    from seine.topics.topic_reading import TopicReading

_READING = "secret.reading"  # Spark shows no option of such a name


def topic_rows(spark: SparkSession, folder: str, start: int, reading: TopicReading) -> DataFrame:
    """What the tasks of a stream of topics give the stages; `start` is the entry that handed over."""
    spark.dataSource.register(TopicSource)
    source = spark.readStream.format(TopicSource.name())
    source = source.option("folder", folder).option("start", start)
    return source.option(_READING, reading.packed()).load()


class TopicSource(DataSource):
    """`spark.readStream.format("seine-topic")`."""

    @classmethod
    def name(cls) -> str:
        return "seine-topic"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: object) -> TopicReader:
        from seine.topics.topic_reading import TopicReading

        reading = TopicReading.unpacked(self.options[_READING])
        return TopicReader(self.options["folder"], int(self.options["start"]), reading)


class TopicReader(DataSourceStreamReader):
    """Offsets are those of Spark's own Kafka source, and never of records that are not committed yet.

    An empty one is that of the source which had the place of this one while its topics could not be read.
    """

    def __init__(self, folder: str, start: int, reading: TopicReading) -> None:
        self._folder, self._start, self._reading = folder, start, reading
        self._client: TopicClient | None = None  # of the one process that plans
        self._latest: Offsets | None = None

    def _offsets_at(self, time_of_record: int) -> Offsets:
        from seine.runtime.folder.deployment import Deployment
        from seine.topics.known_topics import KnownTopics, kept_ids
        from seine.topics.topic_client import TopicClient

        reading = self._reading
        if self._client is None:
            known = KnownTopics.of(kept_ids(Deployment(self._folder).topics), reading.branch)
            self._client = TopicClient(reading.settings, reading.topics, known=known, hosts=reading.hosts)
        return self._client.offsets(time_of_record)

    def initialOffset(self) -> Offsets:
        return self._first()

    def _first(self) -> Offsets:
        from seine.spark.first_offsets import first_offsets

        return first_offsets(
            self._folder, self._reading.branch, lambda: self._offsets_at(self._reading.first)
        )

    def latestOffset(self, start: Offsets, limit: object) -> Offsets:
        from seine.topics.offset_ranges import limited
        from seine.topics.topic_client import LATEST

        self._latest = self._offsets_at(LATEST)
        return limited(start or self._first(), self._latest, self._reading.most)

    def reportLatestOffset(self) -> Offsets | None:
        return self._latest

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        from seine.runtime.folder.settings import read_settings
        from seine.topics.offset_ranges import ranges_between, shared_out

        tasks = read_settings(self._folder).parallelism
        return [
            InputPartition(share) for share in shared_out(ranges_between(start or self._first(), end), tasks)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.read_source import read_source
        from seine.runtime.flow.task_row import to_batch
        from seine.topics.topic_records import read_ranges

        entry, place = task_of_batch(self._start)
        branch, reading = self._reading.branch, self._reading
        records = read_ranges(reading.settings, partition.value, reading.columns)
        yield to_batch(read_source(self._folder, entry, branch.stream, place, records, branch.born))

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()
