"""A pipeline at work in the background of a program.

The results of a program as streaming DataFrames: of all queries as text, of one with its types.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from seine.algebra.aggregates import UserAggregate
from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.plan_text import column_name
from seine.algebra.search_plan import Search
from seine.algebra.types import Field
from seine.errors import RunError, SeineError
from seine.frontends.text.lexer import suggest
from seine.lifecycle.edit import Outcome
from seine.network.plan.output_form import form_of
from seine.run import Run
from seine.spark.source_frames import TYPES, spark_type
from seine.spark.spark_host import run_on_spark


@dataclass(frozen=True)
class RunningStatus:
    """How far a run has come: is it at work, its last entry, lines read, records delivered, lines refused."""

    at_work: bool
    entry: int
    input_rows: int
    output_rows: int
    dead_letters: int


class Running:
    """A run that ends when its input has ended, when it is stopped, or when it fails."""

    def __init__(
        self,
        spark: SparkSession,
        run: Run,
        frames: Mapping[str, DataFrame],
        registered: tuple[type[UserAggregate], ...],
        results: DataFrame | None,
    ) -> None:
        self._spark = spark
        self._run = run
        self._frames = frames
        self._results = results
        self._error: BaseException | None = None
        self._started = time.monotonic()
        self._work = threading.Thread(target=self._carry, args=(registered,), daemon=True)
        self._work.start()

    def results(self, query: str | None = None) -> DataFrame:
        """The records as a streaming DataFrame of `query`, `op`, `t_start`, `t_end` and `row`, all text.

        Those of one `query` have its types: times, and a struct of its columns as `row`.
        """
        if self._results is None:
            raise SeineError("the results of this run go elsewhere", hint="start it without callback and out")
        if query is None:
            return self._results
        return typed_results(self._results, self._query(query))

    def register(self, text: str) -> Outcome:
        """Carry out a script while it runs; it is refused whole if anything is wrong.

        A query counts what arrives from the next micro-batch on, and so it does after the program was started
        again with the same folder and the same declarations.
        """
        self._refuse_ended()
        return self._run.change(text, os.getcwd())

    def drop(self, query: str) -> Outcome:
        """Drop a query while it runs."""
        self._refuse_ended()
        return self._run.change(f"DROP QUERY {column_name(self._query(query).name)};", os.getcwd())

    def _query(self, name: str) -> Query:
        queries = self._run.queries
        if name.lower() not in queries:
            raise SeineError(f"there is no query {name}", hint=suggest(name, [*queries], "queries"))
        return queries[name.lower()]

    def _refuse_ended(self) -> None:
        if not self._work.is_alive():
            raise SeineError("this pipeline has ended", hint="start another one")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; False if it has not come in time. Raises what went wrong, also in one query."""
        self._work.join(seconds)
        if self._work.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True

    def stop(self) -> None:
        """Stop soon, wherever it is; a program that starts with the same folder again goes on from there."""
        self._run.driver.stop()
        self.wait()

    def end_input(self) -> None:
        """Take no more input, process what has come, and end: after that the folder is complete."""
        self._run.driver.end_input()
        self.wait()

    @property
    def status(self) -> RunningStatus:
        """How far it has come, up to the last micro-batch."""
        totals = self._run.sink.totals
        return RunningStatus(
            self._work.is_alive(), totals.entry, totals.input_rows, totals.output_rows, totals.dead_letters
        )

    @property
    def statistics(self) -> dict[str, Any]:
        """The document of `seine run --stats`, up to the last micro-batch."""
        return self._run.statistics(time.monotonic() - self._started).document()

    def _carry(self, registered: tuple[type[UserAggregate], ...]) -> None:
        try:
            run_on_spark(self._spark, self._run, registered, frames=self._frames)
            self._run.drain()
            for query, failure in self._run.failures.items():
                self._error = self._error or RunError(f"query {query} failed: {failure.reason}")
        except BaseException as error:  # whoever waits gets it
            self._error = error
        finally:
            self._run.close()


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
