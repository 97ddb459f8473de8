"""A streaming DataFrame on its way into intake: landed as Parquet, one file a micro-batch.

Admission is sequential and needs a replayable order, which a DataFrame does not have. Each of its
micro-batches appears whole under a name made of its number; a replayed one finds its
file there and writes nothing, so every row lands exactly once.
"""

from __future__ import annotations

import glob
import os
import shutil

from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Field, Kind, Type
from seine.errors import SeineError

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
    """The columns of a DataFrame in Seine's types."""
    return tuple(Field(column.name.lower(), _type(column)) for column in frame.schema.fields)


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


def land(frame: DataFrame, folder: str, checkpoint: str, available_now: bool) -> StreamingQuery:
    """Start writing a DataFrame's micro-batches into a folder that intake follows."""
    os.makedirs(folder, exist_ok=True)
    exact = frame.select(
        *[
            frame[column.name].cast(_stored(field.type)).alias(field.name)
            for column, field in zip(frame.schema.fields, fields_of(frame), strict=True)
        ]
    )

    def write(batch: DataFrame, number: int) -> None:
        landed = os.path.join(folder, f"{number:012d}.parquet")
        if os.path.exists(landed):
            return
        temporary = os.path.join(checkpoint, f"landing-{number}")
        batch.coalesce(1).write.mode("overwrite").parquet(temporary)
        for part in glob.glob(os.path.join(temporary, "*.parquet")):
            os.replace(part, landed)
        shutil.rmtree(temporary)

    writer = exact.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if available_now else writer).start()


def _stored(type_: Type) -> str:
    return "timestamp" if type_.kind is Kind.TIMESTAMP else str(type_).lower()
