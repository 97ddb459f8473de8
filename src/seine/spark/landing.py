"""DataFrames in Seine's types, and relations: a DataFrame that is read once, whole, is landed as Parquet."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Field, Kind, Type
from seine.disk_sync import make_folder, sync_to_disk
from seine.errors import SeineError
from seine.intake.marked_rows import MARKERS

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
    make_folder(folder)
    _write(folded(frame).toArrow(), os.path.join(folder, "whole.parquet"))


def folded(frame: DataFrame) -> DataFrame:
    """A DataFrame with its names in lower case; refuses columns that a stream or relation cannot have."""
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
    sync_to_disk(folder)
