"""A SparkSession for Seine, and what Seine asks of one that exists."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.scratch_folder import scratch_folder
from seine.spark.home import use_installed_pyspark
from seine.spark.java import require_java
from seine.spark.log_settings import log_settings
from seine.spark.malloc import keep_freed_memory
from seine.spark.master import chosen_master, require_master
from seine.spark.sockets import local_sockets

_logger = logging.getLogger(__name__)

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# The JVM moves few, large rows and plans the same small query again and again: the quick compiler
# is warm after a few batches, and a serial collector leaves the cores to the Python workers.
_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Spark remembers work that is done, a thousand queries and stages, also where no page shows them.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.pollingDelay": "25ms",  # between two looks for an entry, where there was none
    "spark.sql.session.timeZone": "UTC",
    "spark.python.daemon.module": "seine.spark.daemon",
    "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "false",
}

# Where files are local, Hadoop's other way to rename one runs a program (`readlink`) several times a file.
_LOCAL_FILES = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def open_session(master: str | None, log: str, keep: RetentionLimit | None = None) -> SparkSession:
    """Start Spark with its own chatter in a log file, of which so much is kept. Needs Java."""
    require_java()
    keep_freed_memory()
    use_installed_pyspark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("seine")
    url = chosen_master(master)
    if url:
        require_master(url)
        builder = builder.master(url)
    builder = builder.config("spark.driver.memory", os.environ.get("SEINE_DRIVER_MEMORY", "2g"))
    builder = builder.config(
        "spark.driver.extraJavaOptions", f"{_log_options(log, keep)} {_JVM} {_scratch_options()}"
    )
    for name, value in {**SETTINGS, **_LOCAL_FILES, **local_sockets(url)}.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.pyspark.python", os.environ["PYSPARK_PYTHON"])
    try:
        with _stderr_to(log), _temporary_files_in(scratch_folder()):
            session = _quiet_at_the_end(_without_checksums(builder.getOrCreate()))
    except Exception as error:
        raise SeineError(f"Spark did not start: {_first_line(error)}", hint=f"its log is {log}") from error
    _logger.info("Spark started", extra={"master": session.sparkContext.master, "log": log})
    return session


def _without_checksums(spark: SparkSession) -> SparkSession:
    """Hadoop writes a checksum beside each local file and runs a program to set the mode of both."""
    jvm = spark._jvm
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark._jsc.hadoopConfiguration()).setWriteChecksum(False)
    return spark


def _quiet_at_the_end(spark: SparkSession) -> SparkSession:
    """When the JVM dies, the server that it sends counters to would print a traceback: the host says it."""

    def broken_off(request: object, address: object) -> None:
        _logger.debug("Spark broke off a connection", exc_info=True)

    spark.sparkContext._accumulatorServer.handle_error = broken_off
    return spark


@contextmanager
def _stderr_to(log: str) -> Iterator[None]:
    """The JVM inherits standard error, and Python workers print to the JVM's: let it be the log."""
    sys.stderr.flush()
    stderr = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(target, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(target)


@contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    """Let what PySpark writes while it starts lie where it is removed, should we be killed."""
    before, tempfile.tempdir = tempfile.tempdir, folder
    try:
        yield
    finally:
        tempfile.tempdir = before


def _scratch_options() -> str:
    """Where the JVM, and Spark in it, write temporary files: native libraries, blocks, state on its way."""
    folder = tempfile.mkdtemp(dir=scratch_folder(), prefix="java-")
    return f"-Djava.io.tmpdir={folder} -XX:-UsePerfData"


def reopen_session(master: str | None, log: str, keep: RetentionLimit | None = None) -> SparkSession:
    """Start Spark again in this process, after it has died or lost its workers; what is left of it ends."""
    _discard_session()
    return open_session(master, log, keep)


def _discard_session() -> None:
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.kill()
        process.wait()
    if gateway is not None:
        gateway.shutdown()
    context = SparkContext._active_spark_context
    if context is not None and getattr(context, "_accumulatorServer", None) is not None:
        context._accumulatorServer.shutdown()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def require_settings(spark: SparkSession) -> None:
    """Set on a session of the user's what Seine cannot do without."""
    for name, value in SETTINGS.items():
        if name.startswith("spark.sql.streaming."):
            spark.conf.set(name, value)


def _log_options(log: str, keep: RetentionLimit | None) -> str:
    """A log4j2 configuration of our own: everything into one file."""
    folder = tempfile.mkdtemp(dir=scratch_folder(), prefix="log-")
    path = os.path.join(folder, "log4j2.properties")
    with open(path, "w", encoding="utf-8") as file:
        file.write(log_settings(log, keep))
    return f"-Dlog4j2.configurationFile=file:{path}"


def _first_line(error: BaseException) -> str:
    """What went wrong, of a Java error as Java says it."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__
