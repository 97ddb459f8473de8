"""The results of a program as streaming DataFrames: of all queries as text, of one with its types."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.algebra.types import Field
from seine.network.plan.output_form import form_of
from seine.spark.source_frames import TYPES, spark_type

_SCHEMA = "query STRING, op STRING, t_start STRING, t_end STRING, row STRING"


def follow_results(spark: SparkSession, folder: str) -> DataFrame:
    """A folder of results as a streaming DataFrame; a row is its JSON text.

    A micro-batch of it is one of the pipeline, so that a `-` never comes before its `+`.
    """
    return spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).json(folder)


def typed_results(results: DataFrame, query: Query) -> DataFrame:
    """The records of one query: `op`, `t_start` and `t_end` as times of the query, `row` as a struct.

    The row of a SEARCH or XSCL query stays its JSON text.
    """
    time = "timestamp" if form_of(query).domain == "timestamp" else "bigint"
    row = F.col("row")
    if not isinstance(query.plan, Search | DocumentQuery):
        columns = [spark_types.StructField(one.name, _column_type(one)) for one in query.record_fields]
        row = F.from_json(row, spark_types.StructType(columns))
    times = [F.col(name).cast(time).alias(name) for name in ("t_start", "t_end")]
    return results.where(F.col("query") == query.name).select("op", *times, row.alias("row"))


def _column_type(field: Field) -> spark_types.DataType:
    """That of a column; intervals and values of JSON are texts."""
    known = field.type.kind in TYPES or field.type.precision
    return spark_type(field) if known else spark_types.StringType()
