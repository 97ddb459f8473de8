"""A SparkSession for Seine, and what Seine asks of one that exists.

A SPARK_HOME whose Python workers import pyspark from where it is installed.

Spark puts SPARK_HOME/python/lib/pyspark.zip in front of the path of every Python process that it
starts, and Python compiles what it imports from a zip each time anew: about a second a process,
and a pipeline starts some ten before its first batch. A home that has everything but that zip makes
them use the installed, compiled package.

Spark settings: Unix domain sockets between Spark and its Python processes on one machine.

By default it uses TCP, and writes what a worker has to do in two small pieces. The second waits until
the first is acknowledged, which Linux may put off by 40 ms, in any task of a micro-batch.

The log of Spark: a configuration of log4j that writes one file, and keeps so much of it as is wanted.

What Java and the workers print themselves goes to the file that was there when Spark was started.

Finds the Java that Spark runs on, so that nobody has to set JAVA_HOME by hand.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.scratch_folder import scratch_folder
from seine.spark.malloc import keep_freed_memory
from seine.spark.master import chosen_master, require_master

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


def use_installed_pyspark() -> None:
    """Set SPARK_HOME to a folder of links to the installed Spark; one that the user chose is left alone."""
    if "SPARK_HOME" in os.environ:
        return
    installed = os.path.dirname(os.path.abspath(pyspark.__file__))
    home = tempfile.mkdtemp(dir=scratch_folder(), prefix="home-")
    for name in ("bin", "conf", "jars", "sbin"):
        if os.path.isdir(os.path.join(installed, name)):
            os.symlink(os.path.join(installed, name), os.path.join(home, name))
    os.environ["SPARK_HOME"] = home


_LONGEST_FOLDER_NAME = 55  # the folder's name in bytes: with that of a socket in it, any system takes it


def local_sockets(master: str | None) -> dict[str, str]:
    """The settings for a master on this machine; none for another, whose workers are elsewhere.

    >>> local_sockets("spark://here:7077")
    {}
    """
    if master is None or not master.startswith("local"):
        return {}
    folder = tempfile.mkdtemp(dir=scratch_folder(), prefix="s-")  # nobody else may enter it
    if len(folder.encode()) > _LONGEST_FOLDER_NAME:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


_PARTS = 8  # files that what is kept is in
_HOUR, _DAY = 3_600, 86_400

_ONE_FILE = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = {kind}
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c: %m%n%ex
"""
_ROLLED = """\
appender.file.filePattern = {pattern}
appender.file.policies.type = Policies
appender.file.policies.one.type = {policy}
appender.file.strategy.type = DefaultRolloverStrategy
"""
_BY_SIZE = """\
appender.file.policies.one.size = {size}
appender.file.strategy.max = {files}
"""
_BY_AGE = """\
appender.file.strategy.action.type = Delete
appender.file.strategy.action.basePath = {folder}
appender.file.strategy.action.name.type = IfFileName
appender.file.strategy.action.name.glob = {names}
appender.file.strategy.action.age.type = IfLastModified
appender.file.strategy.action.age.age = PT{seconds}S
"""


def log_settings(log: str, keep: RetentionLimit | None) -> str:
    """The text of `log4j2.properties`.

    >>> print(log_settings("/x/spark.log", RetentionLimit(bytes=8_000_000)).splitlines()[5])
    appender.file.layout.type = PatternLayout
    """
    if keep is None:
        return _ONE_FILE.format(kind="File", log=log)
    text = _ONE_FILE.format(kind="RollingFile", log=log)
    if keep.bytes is not None:
        text += _ROLLED.format(pattern=f"{log}.%i", policy="SizeBasedTriggeringPolicy")
        return text + _BY_SIZE.format(size=max(keep.bytes // _PARTS, 1), files=_PARTS - 1)
    seconds = keep.seconds or 0
    text += _ROLLED.format(pattern=f"{log}.%d{{{_period(seconds)}}}", policy="TimeBasedTriggeringPolicy")
    folder, name = os.path.split(os.path.abspath(log))
    return text + _BY_AGE.format(folder=folder, names=f"{name}.*", seconds=seconds)


def _period(seconds: int) -> str:
    """How the name of a file says when it was written: what is in one is a small part of what is kept.

    >>> _period(7 * 86_400), _period(600)
    ('yyyy-MM-dd-HH', 'yyyy-MM-dd-HH-mm')
    """
    if seconds >= _PARTS * _DAY:
        return "yyyy-MM-dd"
    return "yyyy-MM-dd-HH" if seconds >= _PARTS * _HOUR else "yyyy-MM-dd-HH-mm"


OLDEST = 17
_FOLDERS = (
    "/usr/lib/jvm/*-17*",
    "/usr/lib/jvm/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
)


def find_java() -> str | None:
    """The home of a Java 17 or newer: JAVA_HOME first, then PATH, then the usual folders."""
    return next((home for home in _candidates() if (java_version(home) or 0) >= OLDEST), None)


def require_java() -> str:
    """Set JAVA_HOME for this process to a Java that suits, or refuse with what to install."""
    home = find_java()
    if home is None:
        raise SeineError(
            f"Spark needs Java {OLDEST} or newer and none was found",
            hint="install one (e.g. apt-get install openjdk-17-jre-headless) or set JAVA_HOME to its folder",
        )
    os.environ["JAVA_HOME"] = home
    return home


def java_version(home: str) -> int | None:
    """The major version of the Java in a folder, None if there is none that runs."""
    program = Path(home, "bin", "java")
    if not program.is_file():
        return None
    try:
        command = [str(program), "-version"]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(printed.stderr + printed.stdout)


def parse_version(text: str) -> int | None:
    """Read the major version out of what `java -version` prints.

    >>> parse_version('openjdk version "17.0.9" 2023-10-17'), parse_version('java version "1.8.0_392"')
    (17, 8)
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def _candidates() -> Iterator[str]:
    if home := os.environ.get("JAVA_HOME"):
        yield home
    if program := shutil.which("java"):
        yield str(Path(program).resolve().parent.parent)
    for pattern in _FOLDERS:
        yield from sorted(glob(pattern))
