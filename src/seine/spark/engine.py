"""The Python API: Seine for programs that already have a SparkSession.

engine = seine.Engine(spark)
engine.stream("bid", bids, timestamp="ts", window=20)      # any streaming DataFrame
engine.stream("sale", sales, timestamp="ts", punctuated_on=["item"])   # "@punctuate" marks punctuations
engine.relation("item", items)                             # any DataFrame
engine.register("CREATE QUERY big AS SELECT b.item FROM bid b, item i WHERE b.item = i.item")
running = engine.start()                                   # or start(print), or start(out="alerts.jsonl")
running.results()                                          # a streaming DataFrame
running.wait()

DataFrames in Seine's types, and relations: a DataFrame that is read once, whole, is landed as Parquet.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from seine.algebra import aggregates
from seine.algebra.definitions import RelationDef, Scheme, Source, SparkReader, StreamDef, with_since
from seine.algebra.functions.user_modules import register_function
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Field, Kind, Type
from seine.algebra.user_functions import UserFunction
from seine.disk_sync import make_folder, sync_to_disk
from seine.errors import Position, SeineError
from seine.frontends.script.script import Declarations, Script
from seine.intake.journal import file_name
from seine.intake.marked_rows import MARKERS
from seine.intake.retention_limit import RetentionLimit
from seine.network.network import build_network
from seine.network.show.explain import explain_text
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.runtime.folder.sampling import MOST_SAMPLED
from seine.runtime.output.outlets import Folder
from seine.runtime.output.overwriting import refuse_remote
from seine.runtime.source_samples import source_estimates
from seine.safety.verdict import read_statements
from seine.scratch_folder import scratch_folder
from seine.spark.running import Running, follow_results
from seine.spark.session import require_settings
from seine.user_code.limits import given_limits
from seine.user_code.process import place_of_function

_logger = logging.getLogger(__name__)

Record = dict[str, Any]


class Engine:
    """Declares streams, relations and queries, then runs them all in one pipeline.

    State lives in `folder`; a program that died and is started again with the same folder and the
    same declarations goes on where it was. Without a folder, state ends with the process. On
    a cluster the folder must be one that all machines share.
    """

    def __init__(self, spark: SparkSession, folder: str | None = None) -> None:
        self._spark = spark
        self._declared = Declarations()
        self._positions: dict[str, Position] = {}
        self._frames: dict[str, DataFrame] = {}
        self._aggregates: list[type[aggregates.UserAggregate]] = []
        refuse_remote(folder, "the folder")
        self._folder = os.path.abspath(folder) if folder else _temporary()
        self._started = False

    def stream(
        self,
        name: str,
        frame: DataFrame,
        *,
        timestamp: str,
        window: int | dt.timedelta | None = None,
        lateness: int | dt.timedelta = 0,
        punctuated_on: Sequence[str | Sequence[str]] = (),
        lifespan: int | dt.timedelta | None = None,
        reused_after: int | dt.timedelta | None = None,
        retractable: bool = False,
        clock: str | None = None,
        idle: dt.timedelta | None = None,
    ) -> None:
        """Declare a streaming DataFrame. Its rows go through Spark's tasks alone, and must be replayable: a
        step that is not deterministic before this makes exactly-once impossible.

        Rows are admitted by micro-batch: late is against the clock with which the one before ended. `clock`
        names a column over whose values the clock is the least; with `idle` one that was silent so long is
        left out.
        Lengths of time are whole numbers for a BIGINT time column, timedeltas for a TIMESTAMP one. A scheme
        in `punctuated_on` is a column or several; its punctuations hold for ever, or for `lifespan`, or for
        `reused_after`, after which the values begin anew and join no tuple from before. A row
        whose column `@punctuate` names the columns of a scheme is a punctuation of its values in them, behind
        all tuples of its micro-batch. A row whose column `@op` is `-` is a negative tuple of a stream that is
        `retractable`.
        """
        self._refuse_name(name)
        if not frame.isStreaming:
            raise SeineError(
                f"the DataFrame of stream {name} is not streaming", hint="declare it by relation()"
            )
        fields = fields_of(frame)
        time = _time_column(name, fields, timestamp)
        plain = fields[time].type.kind is Kind.BIGINT
        lifetime = None if window is None else _length(window, plain, 1)
        delay = _length(lateness, plain, 0) if lateness else 0
        key = name.lower()
        holds = _held_for(name, lifespan, reused_after, retractable)
        span = None if holds is None else _length(holds, plain, 1)
        options, reused = _clock_options(name, fields, clock, idle), reused_after is not None
        source = Source("", options=options, reader=SparkReader("dataframe"))
        schemes = tuple(_schemes(name, fields, punctuated_on, span, reused))
        self._declared.streams[key] = with_since(
            StreamDef(key, fields, time, source, lifetime, delay, schemes, retractable)
        )
        self._frames[key] = folded(frame)

    def relation(self, name: str, frame: DataFrame, *, valid: tuple[str, str] | None = None) -> None:
        """Declare a DataFrame as a relation; it is read once, now.

        `valid` names the columns of a tuple's active interval [begin, end): it joins a combination whose
        stream tuples are all within it, as VALID FROM begin TO end says in a script.
        """
        self._refuse_name(name)
        if frame.isStreaming:
            raise SeineError(f"the DataFrame of relation {name} is streaming", hint="declare it by stream()")
        key = name.lower()
        path = self._path("relations", file_name(key))
        land_whole(frame, path)
        fields = fields_of(frame)
        interval = None if valid is None else _interval(name, fields, valid)
        self._declared.relations[key] = RelationDef(key, fields, Source(path, "PARQUET"), interval)

    def aggregate(self, aggregate: type[aggregates.UserAggregate]) -> None:
        """Register an algebraic aggregate for use in queries."""
        self._refuse_started()
        aggregates.register(aggregate)
        self._aggregates.append(aggregate)

    def function(self, function: UserFunction) -> None:
        """Register a function that @seine.function has declared, in a module, this program or a notebook."""
        self._refuse_started()
        if not isinstance(function, UserFunction):
            raise SeineError(f"{function!r} is no function for queries", hint="declare it by @seine.function")
        place_of_function(function)  # which refuses what workers cannot have
        register_function(function)

    def register(self, text: str) -> None:
        """Add the statements of a script text; it is refused whole if anything in it is wrong."""
        self._refuse_started()
        script = read_statements(text, "<register>", os.getcwd(), self._declared)
        self._declared = script.declarations
        known = {**self._positions, **script.positions}
        self._positions = {name: at for name, at in known.items() if name in self._declared.queries}

    def explain(self) -> str:
        """The shared network as text."""
        estimates = source_estimates(self._declared.tables, MOST_SAMPLED)
        network = build_network(self._declared.queries.values(), estimates=estimates)
        return explain_text(network, self._declared.streams, relations=self._declared.relations)

    def start(
        self,
        callback: Callable[[Record], None] | None = None,
        *,
        out: str | None = None,
        dead_letter: str | None = None,
        available_now: bool = False,
        depth: int = 0,
        keep: str | None = None,
        function_seconds: float | None = None,
        function_bytes: int | None = None,
    ) -> Running:
        """Start the pipeline; records go to the callback, as JSON Lines to a file, or to `results()`.

        Queries, and what they read FROM files, come and go while it runs, by `running.register`. It has as
        many stages as the queries need that are there now, and at least `depth`, for those to come: where
        Spark reads streams, one that needs more is refused.
        With `keep` results and dead letters are kept for a time, "7d", or up to a size, "10GB".
        Sinks get them besides, and the run ends when these have everything; `${NAME}` is in the environment.
        Functions of your own take at most `function_seconds` for a batch, 10, and their processes have at
        most `function_bytes` of memory for themselves, 2 GiB: else the queries that call them fail.
        What the workers themselves may take is the session's affair, which may have other jobs for them.
        With `available_now`, what the DataFrames have now is processed and the run ends. After a
        crash a callback may get the records of one micro-batch again; the others never do.
        """
        self._refuse_started()
        if callback is not None and out is not None:
            raise SeineError("records go to a callback or to a file, not to both")
        limits = given_limits(function_seconds, function_bytes)
        folder = self._path("results") if callback is None and out is None else None
        frames = {name: frame for name, frame in self._frames.items() if name in self._declared.streams}
        options = Options(
            out=Folder(folder) if folder else out,
            dead_letter=dead_letter,
            checkpoint=self._path("pipeline"),
            follow=bool(frames) and not available_now,
            buckets=self._spark.sparkContext.defaultParallelism,
            deliver=callback,
            notice=_notice,
            live=True,
            depth=depth,
            keep=None if keep is None else RetentionLimit.parse(keep),
            budget=WorkBudget(functions=limits),
        )
        run = Run(Script(self._declared.copy(), dict(self._positions)), options)
        self._started = True
        results = follow_results(self._spark, folder) if folder else None
        session = self._spark.newSession()  # the settings of the user's session stay as they are
        require_settings(session)
        return Running(session, run, frames, tuple(self._aggregates), results)

    def _refuse_name(self, name: str) -> None:
        self._refuse_started()
        if name.lower() in self._declared.tables:
            raise SeineError(f"there is already a stream or relation '{name}'")

    def _refuse_started(self) -> None:
        if self._started:
            raise SeineError("this engine has been started", hint="declare everything first, or make another")

    def _path(self, *parts: str) -> str:
        return os.path.join(self._folder, *parts)


def _clock_options(
    stream: str, fields: tuple[Field, ...], clock: str | None, idle: dt.timedelta | None
) -> tuple[tuple[str, str], ...]:
    """The options of a stream that say how its clock goes."""
    options = [] if clock is None else [("clock", fields[_column(stream, fields, clock)].name)]
    if idle is not None:
        options.append(("idle", str(idle // dt.timedelta(microseconds=1))))
    return tuple(options)


def _notice(text: str) -> None:
    """What a user should know although nothing is wrong; not a Python warning, which may be made to raise."""
    _logger.warning("%s", text)
    sys.stderr.write(f"seine: {text}\n")


def _temporary() -> str:
    return tempfile.mkdtemp(dir=scratch_folder(), prefix="engine-")


def _held_for(
    stream: str,
    lifespan: int | dt.timedelta | None,
    reused_after: int | dt.timedelta | None,
    retractable: bool,
) -> int | dt.timedelta | None:
    """How long punctuations of a stream hold; None if for ever."""
    if reused_after is not None and (lifespan is not None or retractable):
        message = (
            f"stream {stream}: reused_after goes with no lifespan, and with no stream that is retractable"
        )
        raise SeineError(message, hint="leave one of them out")
    return lifespan if reused_after is None else reused_after


def _schemes(
    stream: str,
    fields: tuple[Field, ...],
    schemes: Sequence[str | Sequence[str]],
    lifespan: int | None,
    reused: bool,
) -> Iterator[Scheme]:
    """The punctuation schemes of a stream; refuses unknown columns, and two schemes of the same columns."""
    seen: set[frozenset[int]] = set()
    for scheme in schemes:
        names = [scheme] if isinstance(scheme, str) else list(scheme)
        columns = tuple(_column(stream, fields, name) for name in names)
        if not columns or len({*columns}) < len(columns) or frozenset(columns) in seen:
            raise SeineError(
                f"stream {stream}: a punctuation scheme has some columns, each once, and not those of another"
            )
        seen.add(frozenset(columns))
        yield Scheme(columns, lifespan, reused=reused)


def _interval(relation: str, fields: tuple[Field, ...], names: tuple[str, str]) -> tuple[int, int]:
    """The columns of an active interval; both BIGINT, or both TIMESTAMP."""
    begin, end = (_column(relation, fields, name) for name in names)
    kinds = {fields[begin].type.kind, fields[end].type.kind}
    if not (kinds <= {Kind.INT, Kind.BIGINT} or kinds == {Kind.TIMESTAMP}):
        message = f"the interval of {relation} needs two BIGINT or two TIMESTAMP columns"
        raise SeineError(message, hint="cast them")
    return begin, end


def _column(table: str, fields: tuple[Field, ...], name: str) -> int:
    names = [field.name for field in fields]
    if name.lower() not in names:
        raise SeineError(f"{table} has no column '{name}'", hint=f"columns: {', '.join(names)}")
    return names.index(name.lower())


def _time_column(stream: str, fields: tuple[Field, ...], timestamp: str) -> int:
    names = [field.name for field in fields]
    if timestamp.lower() not in names:
        raise SeineError(f"stream {stream} has no column '{timestamp}'", hint=f"columns: {', '.join(names)}")
    position = names.index(timestamp.lower())
    if fields[position].type.kind not in (Kind.BIGINT, Kind.TIMESTAMP):
        raise SeineError(
            f"the timestamp of stream {stream} must be BIGINT or TIMESTAMP, not {fields[position].type}",
            hint="cast it",
        )
    return position


def _length(length: int | dt.timedelta, plain: bool, least: int) -> int:
    if isinstance(length, dt.timedelta) == plain:
        wanted = "a whole number" if plain else "a timedelta"
        raise SeineError(f"a {'BIGINT' if plain else 'TIMESTAMP'} time needs {wanted}, not {length!r}")
    units = length // dt.timedelta(microseconds=1) if isinstance(length, dt.timedelta) else length
    if units < least:
        raise SeineError(f"a window or lateness of {length!r} is too short", hint=f"at least {least}")
    return units


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
