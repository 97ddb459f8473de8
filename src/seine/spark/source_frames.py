"""Streams that Spark reads, as streaming DataFrames: what their tasks make of them for the stages.

Topics are read by tasks themselves. Anything else is a frame of Spark's, whose rows tasks are given:
A source with a column `value` of text or bytes has records, which are read by FORMAT; json and csv files are
read as lines of text, so that they are read as strictly as everything else. Any other source has columns,
which must be those of the stream.

A streaming source that gives nothing: it keeps the place of a stream that has been dropped.

A plan has as many sources as the checkpoint that it goes on from. Until the pipeline hands over to one
without the stream, this source stands for it: its offset, whatever the form, never moves.

Topics as a Spark streaming source whose tasks fetch their own records: no row of Spark's is ever made.

    driver   offsets of a micro-batch, in Spark's log     {"bids": {"0": 14, "1": 3}}
    task     its ranges -> fetch -> parse -> admit -> push -> parcels

Spark starts several short-lived processes that only want the names in here, so what does the work is
imported where it is done.

The function that tasks of a source of Spark's run: the first part of the pipeline, before any shuffle.

Spark numbers micro-batches without gaps, and gives a repeated one its number again: a task knows its entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from seine.algebra.definitions import StreamDef
from seine.algebra.types import Field, Kind, Type
from seine.errors import SeineError, SourceError
from seine.intake.arrived_records import (
    FILE,
    VALUE,
    WALL,
    asks_for_arrival,
)
from seine.intake.marked_rows import MARKERS
from seine.intake.parquet import check_schema
from seine.intake.record_layout import RecordLayout
from seine.intake.spark_feed import SourceBranch
from seine.runtime.folder.deployment import Deployment
from seine.runtime.spark_reading import SparkReading
from seine.spark.journal_source import SCHEMA
from seine.topics.client_settings import topic_reading
from seine.topics.topic_records import TopicReading

if TYPE_CHECKING:
    import pyarrow as pa

    from seine.intake.spark_feed import SourceBranch
    from seine.topics.offset_ranges import Offsets
    from seine.topics.topic_client import TopicClient
    from seine.topics.topic_records import TopicReading


_LINES = ("text", "json", "csv")
_GIVEN_SCHEMA = ("parquet", "orc", "avro")  # their streaming sources want to be told what is in the files
TYPES: dict[Kind, spark_types.DataType] = {
    Kind.BOOLEAN: spark_types.BooleanType(),
    Kind.INT: spark_types.IntegerType(),
    Kind.BIGINT: spark_types.LongType(),
    Kind.DOUBLE: spark_types.DoubleType(),
    Kind.STRING: spark_types.StringType(),
    Kind.XML: spark_types.StringType(),
    Kind.DATE: spark_types.DateType(),
    Kind.TIMESTAMP: spark_types.TimestampType(),
}


def open_frames(
    spark: SparkSession, deployment: Deployment, reading: SparkReading, given: Mapping[str, DataFrame]
) -> dict[SourceBranch, DataFrame]:
    """Rows for the stages from each branch of a pipeline; frames that a program brings are `given` by name.

    Of a stream that has been dropped, or cannot be read now, nothing is read: a source that gives nothing has
    its place.
    """
    known = {stream.name: stream for stream in reading.streams}
    folder, start = deployment.folder, deployment.settings.start
    frames = {}
    for branch in reading.branches:
        stream = known.get(branch.stream)
        topics = None if stream is None else topics_of(stream, reading, branch.born)
        if topics is not None:
            frames[branch] = topic_rows(spark, folder, start, topics)
            continue
        if stream is None:
            frame = silent_frame(spark)
        else:
            frame = open_frame(spark, stream, reading, given.get(branch.stream))
        frames[branch] = frame.mapInArrow(ReadSource(folder, start, branch), SCHEMA)
    return frames


def topics_of(stream: StreamDef, reading: SparkReading, born: int = 0) -> TopicReading | None:
    """How tasks read the topics of a stream; None if it has none. Refuses what they are not read with."""
    if stream.reader is None:
        return None
    options = reading.secrets.resolved(stream.name, stream.reader)
    return topic_reading(stream, options, reading.batch_rows, born, reading.hosts)


def open_frame(
    spark: SparkSession, stream: StreamDef, reading: SparkReading, given: DataFrame | None = None
) -> DataFrame:
    """The frame of one stream, with the columns that its tasks want."""
    return _prepared(stream, _opened(spark, stream, reading) if given is None else given)


def _opened(spark: SparkSession, stream: StreamDef, reading: SparkReading) -> DataFrame:
    assert stream.reader is not None
    name = stream.reader.format
    options = _options(stream, reading)
    reader = spark.readStream.format("text" if name in _LINES else name).options(**options)
    if name in _GIVEN_SCHEMA:
        reader = reader.schema(schema_of(stream))
    try:
        return reader.load()
    except (PySparkException, Py4JError) as error:
        raise _refusal(stream, name, reading.secrets.hide(str(error))) from None


def _refusal(stream: StreamDef, name: str, text: str) -> SeineError:
    """Why a source cannot be opened, in one line."""
    if (
        "DATA_SOURCE_NOT_FOUND" in text
        or "ClassNotFoundException" in text
        or "Failed to find data source" in text
    ):
        hint = "start Spark with its package, by spark.jars.packages in conf/spark-defaults.conf"
        return SeineError(
            f"Spark here cannot read stream {stream.name}: it has no format '{name}'", hint=hint
        )
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")
    return SeineError(f"Spark cannot open stream {stream.name}: {first}")


def _options(stream: StreamDef, reading: SparkReading) -> dict[str, str]:
    assert stream.reader is not None
    options = reading.secrets.resolved(stream.name, stream.reader)
    return {key: value for key, value in options.items() if key.lower() != "header"}


def _prepared(stream: StreamDef, frame: DataFrame) -> DataFrame:
    """The columns that tasks want, with the time of the micro-batch, which a repeated one has again."""
    assert stream.reader is not None
    wall = [F.current_timestamp().alias(WALL)] if asks_for_arrival(stream) else []
    if stream.reader.format in _LINES:
        return frame.select(_value(frame), F.col("_metadata.file_path").alias(FILE), *wall)
    types = {column.name: column.dataType for column in frame.schema.fields}
    declared = {field.name for field in stream.declared}
    record = isinstance(types.get("value"), (spark_types.StringType, spark_types.BinaryType))
    if record and "value" not in declared and not declared <= {name.lower() for name in types}:
        return frame.select(_value(frame), *wall)
    _check(stream, frame)
    return frame.select("*", *wall)


def _value(frame: DataFrame) -> Column:
    return frame["value"].cast("binary").alias(VALUE)


def _check(stream: StreamDef, frame: DataFrame) -> None:
    """Refuse a source whose columns are not those of its stream."""
    try:
        arrow = to_arrow_schema(frame.schema, timezone="UTC")
        check_schema(f"stream {stream.name}", arrow, RecordLayout.of(stream))
    except SourceError as error:
        raise SeineError(error.message, hint=error.hint) from None


def schema_of(stream: StreamDef) -> spark_types.StructType:
    """The columns of a stream in Spark's types, marker columns included where they may come."""
    columns = [spark_types.StructField(field.name, spark_type(field)) for field in stream.declared]
    marked = stream.retractable, bool(stream.schemes)
    names = [name for name, wanted in zip(MARKERS, marked, strict=True) if wanted]
    return spark_types.StructType(
        [*columns, *[spark_types.StructField(name, spark_types.StringType()) for name in names]]
    )


def spark_type(field: Field) -> spark_types.DataType:
    """The type of a column as Spark has it."""
    kind: Type = field.type
    if kind.kind is Kind.DECIMAL:
        return spark_types.DecimalType(kind.precision, kind.scale)
    return TYPES[kind.kind]


class SilentSource(DataSource):
    """`spark.readStream.format("seine-silent")`."""

    @classmethod
    def name(cls) -> str:
        return "seine-silent"

    def schema(self) -> str:
        return "value binary"

    def streamReader(self, schema: object) -> _SilentReader:
        return _SilentReader()


class _SilentReader(DataSourceStreamReader):
    """Takes any offset for its own, and has no rows after it."""

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:
        return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[bytes]]:
        return iter(())


def silent_frame(spark: SparkSession) -> DataFrame:
    """A streaming DataFrame without rows."""
    spark.dataSource.register(SilentSource)
    return spark.readStream.format(SilentSource.name()).load()


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
        from seine.topics.topic_records import TopicReading

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
        from seine.topics.topic_client import KnownTopics, TopicClient, kept_ids

        reading = self._reading
        if self._client is None:
            known = KnownTopics.of(kept_ids(Deployment(self._folder).topics.read()), reading.branch)
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
        from seine.storage.local import store_at
        from seine.topics.offset_ranges import shared_out

        tasks = read_settings(store_at(self._folder)).parallelism
        return [InputPartition(share) for share in shared_out(start or self._first(), end, tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.read_source import read_source
        from seine.runtime.flow.task_output import to_batch
        from seine.topics.topic_records import read_ranges

        entry, place = task_of_batch(self._start)
        branch, reading = self._reading.branch, self._reading
        ranges, partitions = partition.value
        records = read_ranges(reading.settings, ranges, reading.columns)
        rows = read_source(self._folder, entry, branch.stream, place, records, branch.born, partitions)
        yield to_batch(rows)

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()


BATCH_NUMBER = "streaming.sql.batchId"  # the property of a task that Spark sets


def task_of_batch(start: int) -> tuple[int, int]:
    """The entry of the micro-batch that this task is of, and the place of the task in it.

    `start` is the entry that handed over to this pipeline, -1 if there was none before it.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    batch = None if context is None else context.getLocalProperty(BATCH_NUMBER)
    if context is None or batch is None:
        raise RuntimeError("a source of Spark's is read outside of a micro-batch")
    return start + 1 + int(batch), context.partitionId()


class ReadSource:
    """Reads a stream in the tasks of its source; sent to them as it is."""

    def __init__(self, folder: str, start: int, branch: SourceBranch) -> None:
        """`start` is the entry that handed over to this pipeline, -1 if there was none before it."""
        self.folder = folder
        self.start = start
        self.stream = branch.stream
        self.born = branch.born

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from seine.runtime.flow.read_source import read_source
        from seine.runtime.flow.task_output import to_batch
        from seine.spark.worker_task import begin_task

        begin_task(self.folder)
        entry, place = task_of_batch(self.start)
        yield to_batch(read_source(self.folder, entry, self.stream, place, batches, self.born))
