"""A DataFrame on its way into intake: landed as Parquet, a streaming one as one file a micro-batch.

Admission is sequential and needs a replayable order, which a DataFrame does not have: its partitions are
side by side. So each micro-batch is ordered by event time, and appears whole under a name made of its number;
a replayed one finds its file there and writes nothing, so every row lands exactly once, in one place. The
driver writes the files, because the driver reads them.
"""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Field, Kind, Type
from seine.errors import SeineError
from seine.intake.marked_rows import MARKERS, PUNCTUATE

_TYPES: dict[type[spark_types.DataType], Type] = {
    spark_types.BooleanType: BOOLEAN,
    spark_types.ByteType: INT,
    spark_types.ShortType: INT,
    spark_types.IntegerType: INT,
    spark_types.LongType: BIGINT,
    spark_types.FloatType: DOUBLE,
    spark_types.DoubleType: DOUBLE,
    spark_types.StringType: STRING,
    spark_types.DateType: DATE,
    spark_types.TimestampType: TIMESTAMP,
    spark_types.TimestampNTZType: TIMESTAMP,
}


def fields_of(frame: DataFrame) -> tuple[Field, ...]:
    """The columns of a DataFrame in Seine's types, their names folded; marker columns are none of them."""
    columns = [column for column in frame.schema.fields if column.name not in MARKERS]
    fields = tuple(Field(column.name.lower(), _type(column)) for column in columns)
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise SeineError(f"column '{name}' is there twice", hint="names are the same in any case")
    return fields


def _type(column: spark_types.StructField) -> Type:
    kind = column.dataType
    if isinstance(kind, spark_types.DecimalType):
        return Type(Kind.DECIMAL, kind.precision, kind.scale)
    if type(kind) not in _TYPES:
        raise SeineError(
            f"column '{column.name}' has type {kind.simpleString()}, which a stream cannot have",
            hint="select scalar columns, or cast it to STRING",
        )
    return _TYPES[type(kind)]


def land_whole(frame: DataFrame, folder: str) -> None:
    """Write all rows of a DataFrame into a folder, in place of what was there."""
    os.makedirs(folder, exist_ok=True)
    _write(_folded(frame).toArrow(), os.path.join(folder, "whole.parquet"))


def land_nothing(fields: tuple[Field, ...], folder: str) -> None:
    """Make a folder with a file of no rows, so that a stream that never has any can be read to its end."""
    os.makedirs(folder, exist_ok=True)
    schema = pa.schema([(field.name, field.type.arrow()) for field in fields])
    _write(schema.empty_table(), os.path.join(folder, "nothing.parquet"))


def land_batches(
    frame: DataFrame, time: str, folder: str, checkpoint: str, available_now: bool
) -> StreamingQuery:
    """Start writing a DataFrame's micro-batches, by the column `time`, into a folder that intake follows."""

    def write(batch: DataFrame, number: int) -> None:
        path = os.path.join(folder, f"{number:012d}.parquet")
        if not os.path.exists(path) and (rows := batch.toArrow()).num_rows:
            _write(in_time(rows, time), path)

    writer = _folded(frame).writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if available_now else writer).start()


def in_time(rows: pa.Table, time: str) -> pa.Table:
    """The rows by event time; those of one instant stay as they came, those without a time come last.

    Behind them come the punctuations: one binds what comes in later micro-batches.

    >>> in_time(pa.table({"t": [2, None, 1, 2], "a": [1, 2, 3, 4]}), "t")["a"].to_pylist()
    [3, 1, 4, 2]
    """
    ordered = rows.take(pc.sort_indices(rows, sort_keys=[(time, "ascending")]))
    if PUNCTUATE not in rows.column_names:
        return ordered
    marked = pc.is_valid(ordered[PUNCTUATE])
    return pa.concat_tables([ordered.filter(pc.invert(marked)), ordered.filter(marked)])


def _folded(frame: DataFrame) -> DataFrame:
    names = [column.name for column in frame.schema.fields]
    fields_of(frame)  # refuses what a stream cannot have
    return frame.toDF(*[name if name in MARKERS else name.lower() for name in names])


def _write(table: pa.Table, path: str) -> None:
    """Let a file appear whole: until then its name is hidden from intake."""
    folder, name = os.path.split(path)
    hidden = os.path.join(folder, f".{name}")
    with open(hidden, "wb") as file:
        pq.write_table(table, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(hidden, path)
