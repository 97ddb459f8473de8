"""The Spark plan, the same whatever queries exist: journal and other sources, stages, the sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra.aggregates import UserAggregate
from seine.disk_sync import sync_tree
from seine.intake.source_branch import SourceBranch
from seine.runtime.flow.task_row import REPORT
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.task_report import TaskReport
from seine.spark.journal_source import SCHEMA, JournalSource
from seine.spark.stage import Stage
from seine.spark.unfinished import discard_unfinished
from seine.spark.worker_task import synced_after

Commit = Callable[[int, list[TaskReport]], None]


def start_pipeline(
    spark: SparkSession,
    deployment: Deployment,
    aggregates: tuple[type[UserAggregate], ...],
    commit: Commit,
    frames: Mapping[SourceBranch, DataFrame],
    *,
    paced: bool,
    until: int | None = None,
) -> StreamingQuery:
    """Start the micro-batches; `commit(batch, reports)` is called at the end of each, in order.

    `frames` are what tasks make of the streams that Spark reads. Each is a branch of its own beside the
    journal's, whose entries are `paced` where there are such; no entry is offered beyond `until`.

    Law: when a batch is committed, Spark's plan of it and the state after it are durable, on every machine.
    The state of a stage is there when the next operator of its task has all its rows: on a cluster that one
    syncs what its machine wrote; where all is on this machine it is synced at once, after the last task.
    """
    settings, elsewhere = deployment.settings, not spark.sparkContext.master.startswith("local")
    discard_unfinished(deployment.spark)
    spark.dataSource.register(JournalSource)
    spark.conf.set("spark.sql.shuffle.partitions", str(len(settings.labels)))
    source = spark.readStream.format(JournalSource.name()).option("folder", deployment.folder)
    source = source.option("start", settings.start).option("paced", str(paced).lower())
    rows = (source if until is None else source.option("until", until)).load()
    for frame in frames.values():
        rows = rows.union(frame)
    for number in range(1, settings.depth + 1):
        stage = Stage(deployment.folder, number, settings.start, aggregates)
        rows = rows.groupBy("bucket").transformWithState(stage, SCHEMA, "Append", "None")
        if elsewhere:
            rows = rows.mapInArrow(partial(synced_after, folder=deployment.spark), SCHEMA)

    def finish(batch: DataFrame, batch_id: int) -> None:
        blobs = [bytes(row.blob) for row in batch.collect() if row.stage == REPORT]
        sync_tree(deployment.spark)
        commit(batch_id, [*map(TaskReport.unpacked, blobs)])

    writer = rows.writeStream.queryName(f"seine {deployment.folder}").foreachBatch(finish)
    return writer.option("checkpointLocation", deployment.spark).start()
