"""Seine for people who already have a SparkSession.

    engine = seine.Engine(spark)
    engine.stream("bid", bids, timestamp="ts", window=20)      # any streaming DataFrame
    engine.relation("item", items)                             # any DataFrame
    engine.register("CREATE QUERY big AS SELECT b.item FROM bid b, item i WHERE b.item = i.item")
    running = engine.start(print)                              # or out="alerts.jsonl"
    running.wait()
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from seine.algebra import aggregates
from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.algebra.types import Kind
from seine.engine import Options, Run
from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script
from seine.network.explain import explain_text
from seine.spark.host import run_on_spark
from seine.spark.landing import fields_of, land
from seine.spark.session import require_settings

Record = dict[str, Any]
RESULT_SCHEMA = "query string, op string, t_start string, t_end string, row string"


class Engine:
    """Declares streams, relations and queries, then runs them all in one pipeline."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._declared = Declarations()
        self._positions: dict[str, Any] = {}
        self._frames: dict[str, DataFrame] = {}
        self._aggregates: list[type[aggregates.Aggregate]] = []
        self._folder = tempfile.mkdtemp(prefix="seine-engine-")

    def stream(
        self,
        name: str,
        frame: DataFrame,
        *,
        timestamp: str,
        window: int | dt.timedelta | None = None,
        lateness: int | dt.timedelta = 0,
    ) -> None:
        """Declare a streaming DataFrame; windows are in units of its time column, or a timedelta."""
        fields = fields_of(frame)
        names = [field.name for field in fields]
        if timestamp.lower() not in names:
            raise SeineError(f"stream {name} has no column '{timestamp}'", hint=f"columns: {', '.join(names)}")
        time = names.index(timestamp.lower())
        if fields[time].type.kind not in (Kind.BIGINT, Kind.TIMESTAMP):
            raise SeineError(f"the timestamp of stream {name} must be BIGINT or TIMESTAMP, not {fields[time].type}")
        source = Source(os.path.join(self._folder, "landing", str(len(self._frames))), "PARQUET")
        os.makedirs(source.path)
        self._declare(name)
        self._frames[name.lower()] = frame
        self._declared.streams[name.lower()] = StreamDef(
            name.lower(),
            fields,
            time,
            source,
            None if window is None else _units(window, fields[time].type.kind),
            _units(lateness, fields[time].type.kind),
        )

    def relation(self, name: str, frame: DataFrame) -> None:
        """Declare a DataFrame as a relation; it is read once, now."""
        self._declare(name)
        path = os.path.join(self._folder, "relations", name.lower())
        frame.coalesce(1).write.parquet(path)
        self._declared.relations[name.lower()] = RelationDef(name.lower(), fields_of(frame), Source(path, "PARQUET"))

    def aggregate(self, aggregate: type[aggregates.Aggregate]) -> None:
        """Register an algebraic aggregate for use in queries."""
        aggregates.register(aggregate)
        self._aggregates.append(aggregate)

    def register(self, text: str) -> None:
        """Add the statements of a script text; it is refused whole if anything in it is wrong."""
        script = parse_script(text, file="<register>", folder=os.getcwd(), known=self._declared)
        self._declared = script.declarations
        self._positions.update(script.positions)
        self._positions = {name: at for name, at in self._positions.items() if name in self._declared.queries}

    def explain(self) -> str:
        """The shared network as text."""
        from seine.network.network import build_network

        network = build_network(self._declared.queries.values())
        return explain_text(network, self._declared.streams, relations=self._declared.relations)

    def start(
        self,
        callback: Callable[[Record], None] | None = None,
        *,
        out: str | None = None,
        dead_letter: str | None = None,
        available_now: bool = False,
    ) -> Running:
        """Start the pipeline; each record goes to the callback, or as JSON Lines to a file.

        With `available_now`, what the DataFrames have now is processed and the run ends.
        """
        if (callback is None) == (out is None):
            raise SeineError("a run needs a callback or an output file, one of them")
        require_settings(self._spark)
        script = Script(self._declared.copy(), dict(self._positions))
        options = Options(
            out=out,
            dead_letter=dead_letter,
            checkpoint=os.path.join(self._folder, "pipeline"),
            follow=bool(self._frames),
            buckets=self._spark.sparkContext.defaultParallelism,
            deliver=callback,
        )
        run = Run(script, options)
        return Running(self._spark, run, self._land(available_now), tuple(self._aggregates))

    def _land(self, available_now: bool) -> list[StreamingQuery]:
        queries = []
        for name, frame in self._frames.items():
            source = self._declared.streams[name].source
            assert source is not None
            checkpoint = os.path.join(self._folder, "checkpoints", os.path.basename(source.path))
            queries.append(land(frame, source.path, checkpoint, available_now))
        return queries

    def _declare(self, name: str) -> None:
        if name.lower() in self._declared.tables:
            raise SeineError(f"there is already a stream or relation '{name}'")


class Running:
    """A pipeline at work in the background."""

    def __init__(
        self,
        spark: SparkSession,
        run: Run,
        landings: list[StreamingQuery],
        registered: tuple[type[aggregates.Aggregate], ...],
    ) -> None:
        self._run = run
        self._landings = landings
        self._error: BaseException | None = None
        self._work = threading.Thread(target=self._carry, args=(spark, registered), daemon=True)
        self._work.start()
        threading.Thread(target=self._end_with_landings, daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; False if it has not come in time. Raises what went wrong."""
        self._work.join(seconds)
        if self._error is not None:
            raise self._error
        return not self._work.is_alive()

    def stop(self) -> None:
        """Take no more input, process what has landed, and end."""
        for landing in self._landings:
            landing.stop()
        self.wait()

    @property
    def statistics(self) -> dict[str, Any]:
        return self._run.statistics(0.0)

    def _carry(self, spark: SparkSession, registered: tuple[type[aggregates.Aggregate], ...]) -> None:
        try:
            run_on_spark(spark, self._run, registered)
        except BaseException as error:
            self._error = error
        finally:
            self._run.close()

    def _end_with_landings(self) -> None:
        for landing in self._landings:
            landing.awaitTermination()
        self._run.driver.stop_following()


def _units(length: int | dt.timedelta, kind: Kind) -> int:
    if isinstance(length, dt.timedelta):
        if kind is not Kind.TIMESTAMP:
            raise SeineError("a timedelta needs a TIMESTAMP time column", hint="give plain units as an int")
        return length // dt.timedelta(microseconds=1)
    return length
