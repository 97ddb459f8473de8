"""Spark as a host: it runs the tasks of a pipeline."""

from __future__ import annotations

import logging
from functools import partial
from typing import Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.aggregates import UserAggregate
from seine.errors import RunError, SeineError
from seine.runtime.driver import Driver
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.task_report import TaskReport
from seine.spark.pipeline import start_pipeline

_logger = logging.getLogger(__name__)


class Hosted(Protocol):
    """What a host carries to its end: a run of a script, or a service."""

    @property
    def deployment(self) -> Deployment: ...

    @property
    def driver(self) -> Driver: ...


def run_on_spark(spark: SparkSession, run: Hosted, aggregates: tuple[type[UserAggregate], ...] = ()) -> None:
    """Feed a run to its end; a pipeline that dies is a RunError."""
    if run.driver.finished:
        return
    refused: list[SeineError] = []

    def commit(_: int, reports: list[TaskReport]) -> None:
        try:
            run.driver.commit(reports)
        except SeineError as error:
            refused.append(error)
            raise

    def watch(query: StreamingQuery) -> None:
        if not query.isActive:
            raise refused[0] if refused else RunError(f"the pipeline stopped: {reason_of(query.exception())}")

    run.driver.renew()  # what was wanted before is what we start with
    while True:
        query = start_pipeline(spark, run.deployment, aggregates, commit)
        stages = {"stages": run.deployment.settings.depth}
        _logger.info("pipeline started", extra=stages)
        try:
            run.driver.drive(partial(watch, query))
        except SeineError as error:
            query.stop()
            if not refused and run.driver.settle_fault():
                continue
            _logger.error("pipeline failed: %s", error.message, extra=stages)
            raise
        finally:
            query.stop()
        _logger.info("pipeline stopped", extra=stages)
        if run.driver.stopped or not run.driver.renew():
            return


def reason_of(error: BaseException | None) -> str:
    """The last line of a Python worker's traceback, or the first of Spark's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if line.split(":")[0].endswith(("Error", "Exception")) and ": " in line]
    return (python or lines or ["no reason given"])[-1 if python else 0]
