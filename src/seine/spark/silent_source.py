"""A streaming source that gives nothing: it keeps the place of a stream that has been dropped.

A plan has as many sources as the checkpoint that it goes on from. Until the pipeline hands over to one
without the stream, this source stands for it: its offset, whatever the form, never moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition


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
