"""What CREATE statements declare: streams, relations, their sources, join edges, views, sinks.

Frozen, with every name resolved: columns are positions.

Where a query of a service begins: at its registration, or with tuples from before.

    CREATE QUERY q WITH (history = 'window') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;

'window': the tuples whose life has not ended at that moment; 'retained': all that the service retains.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from seine.algebra.types import Field, Kind, Type

DEFAULT_AHEAD = 3_652 * 86_400_000_000  # of a TIMESTAMP stream: ten years, so made-up data pass
DEFAULT_PATIENCE = 30_000_000  # microseconds that a partition may be silent
TOPICS = "kafka"  # the format of topics
LARGEST_CLOCK = "largest"  # the clock of a topic that waits for no partition
WINDOW: Final = "window"
RETAINED: Final = "retained"
HISTORIES = (WINDOW, RETAINED)
POSITION_TABLE = "seine_sink_position"  # in which PostgreSQL has the positions of sinks
SinkKind = Literal["folder", "kafka", "postgresql", "webhook", "unknown"]

_KINDS: dict[str, SinkKind] = {
    "kafka": "kafka",
    "postgresql": "postgresql",
    "https": "webhook",
    "http": "webhook",
}


@dataclass(frozen=True)
class Scheme:
    """A punctuation scheme: the columns that its punctuations bind, by position.

    A punctuation says that no later tuple of the stream has the bound values; it holds for `lifespan` units
    of event time, or for ever if that is None. If the columns are `unique` every tuple punctuates its own
    values. With a `timeout` the values of a tuple of another stream count as punctuated, for combinations
    with it, once the stream's time is that far beyond it: punctuations may be missed. If values are `reused`,
    a tuple that has them again after the lifespan begins them anew: it joins no tuple from before.
    """

    columns: tuple[int, ...]
    lifespan: int | None = None
    unique: bool = False
    timeout: int | None = None
    reused: bool = False


@dataclass(frozen=True)
class SparkReader:
    """A streaming source that Spark reads: `spark.readStream.format(format).options(...)`.

    An option may have `${NAME}` in it: a secret, which is looked up when the source is opened and is never
    kept. The format `dataframe` is a streaming DataFrame that a program brings.
    """

    format: str
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """The value of an option, whose name is in any case, as Spark has it.

        >>> SparkReader("kafka", (("Subscribe", "bids"),)).option("subscribe")
        'bids'
        """
        return next((value for key, value in self.options if key.lower() == name.lower()), None)


PUSHED = "push:"  # the path of a stream whose records are sent to a service


@dataclass(frozen=True)
class Source:
    """An external source of records: `path` is an absolute file, a glob, a folder or a database URL.

    With a `reader` it is Spark that reads it, and there is no path. Files that lie outside of the folders
    `within`, if any are named, are no files of it, whatever links lead there; the catalog does not keep that.
    """

    path: str
    format: str = "JSON"  # JSON | CSV | PARQUET | XML
    options: tuple[tuple[str, str], ...] = ()
    reader: SparkReader | None = None
    within: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def is_database(self) -> bool:
        """Whether the path is the URL of a database that can be read.

        >>> Source("postgresql+psycopg://host/db").is_database, Source("jdbc:postgresql://host/db").is_database
        (True, False)
        """
        scheme, mark, _ = self.path.partition("://")
        return bool(mark) and scheme.partition("+")[0] in ("postgresql", "sqlite")


@dataclass(frozen=True)
class StreamDef:
    """A stream. Times, windows and lateness are in units of the time column (microseconds for TIMESTAMP)."""

    name: str
    fields: tuple[Field, ...]
    time: int  # position of the timestamp column
    source: Source | None
    window: int | None = None
    lateness: int = 0
    schemes: tuple[Scheme, ...] = ()
    retractable: bool = False
    importance: int | None = None  # position of the importance column
    arrival: int | None = None  # position of the arrival column, which only a live network sees

    @property
    def declared(self) -> tuple[Field, ...]:
        """The columns that its records have. Behind them come the `since` columns, then the arrival."""
        return self.fields[: self._first_computed]

    @property
    def since(self) -> dict[int, int]:
        """For each scheme whose values are reused, the position of the column that says since when."""
        reused = [number for number, scheme in enumerate(self.schemes) if scheme.reused]
        return {number: self._first_computed + place for place, number in enumerate(reused)}

    @property
    def _first_computed(self) -> int:
        reused = sum(scheme.reused for scheme in self.schemes)
        return len(self.fields) - reused - (self.arrival is not None)

    @property
    def domain(self) -> str:
        """The event-time domain: lifetimes compare only within one, plain units or microseconds of UTC."""
        return "timestamp" if self.fields[self.time].type.kind is Kind.TIMESTAMP else "plain"

    @property
    def idle(self) -> int | None:
        """After how many microseconds of silence, by the wall clock, it holds others back no more."""
        idle = self._option("idle")
        return None if idle is None else int(idle)

    @property
    def ahead(self) -> int | None:
        """How far ahead of its arrival a tuple may be, in units of event time; None if there is no bound."""
        ahead = self._option("ahead")
        if ahead is None:
            return DEFAULT_AHEAD if self.domain == "timestamp" else None
        return None if ahead == "none" else int(ahead)

    @property
    def reader(self) -> SparkReader | None:
        """What reads it by Spark; None if the driver reads it."""
        return self.source.reader if self.source is not None else None

    @property
    def clock_column(self) -> int | None:
        """The position of the column over whose values its clock is the least, if one was named."""
        names = [field.name for field in self.declared]
        clock = self._option("clock")
        return names.index(clock) if clock in names else None

    @property
    def by_partition(self) -> bool:
        """Whether its lines are judged by partition: those of topics, unless the largest clock counts."""
        if self.reader is None or self.reader.format != TOPICS:
            return False
        return self.clock_column is not None or self._option("clock") != LARGEST_CLOCK

    @property
    def patience(self) -> int | None:
        """After how many microseconds of silence a partition or clock value is left out of its clock."""
        return DEFAULT_PATIENCE if self.by_partition and self.idle is None else self.idle

    def _option(self, name: str) -> str | None:
        return dict(self.source.options).get(name) if self.source is not None else None

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns."""
        return tuple(field.type for field in self.fields)


def with_since(stream: StreamDef) -> StreamDef:
    """A declared stream with a column more for each scheme whose values are reused: since when a tuple's
    values have their present meaning, in the type of the timestamp. Admission computes it, and no query can
    name it.

    >>> from seine.algebra.types import BIGINT
    >>> fields = (Field("id", BIGINT), Field("ts", BIGINT))
    >>> packets = with_since(StreamDef("p", fields, 1, None, schemes=(Scheme((0,), 9, reused=True),)))
    >>> [field.name for field in packets.fields], len(packets.declared), packets.since
    (['id', 'ts', 'since(id)'], 2, {0: 2})
    """
    time = stream.fields[stream.time].type
    names = [[stream.fields[c].name for c in scheme.columns] for scheme in stream.schemes if scheme.reused]
    computed = [Field(f"since({', '.join(columns)})", time) for columns in names]
    return replace(stream, fields=(*stream.fields, *computed)) if computed else stream


@dataclass(frozen=True)
class RelationDef:
    """A relation: a table of tuples; with `valid` each is active in [begin, end), NULL being open."""

    name: str
    fields: tuple[Field, ...]
    source: Source | None
    valid: tuple[int, int] | None = None  # positions of begin and end

    @property
    def followed(self) -> bool:
        """Whether changes of its source are read while queries run."""
        return self.source is not None and dict(self.source.options).get("follow") == "true"

    @property
    def domain(self) -> str | None:
        """The event-time domain of its validity; None if its tuples are always valid."""
        if self.valid is None:
            return None
        return "timestamp" if self.fields[self.valid[0]].type.kind is Kind.TIMESTAMP else "plain"

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns."""
        return tuple(field.type for field in self.fields)


@dataclass(frozen=True)
class JoinEdge:
    """An edge of the join graph that keyword queries walk: CREATE JOIN left.column = right.column."""

    left: str
    left_column: int
    right: str
    right_column: int


@dataclass(frozen=True)
class ViewDef:
    """A view: its text, the names of its columns if it states them, and which tables and views it reads."""

    name: str
    text: str
    columns: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class SinkDef:
    """A sink: the records of some queries go to a place outside, from its creation on.

        CREATE SINK s FROM q1, q2 INTO 'alerts/' FORMAT PARQUET;

    `queries` are names as they were registered; `target` is an absolute folder or a URL.
    """

    name: str
    queries: tuple[str, ...]
    target: str
    format: str = "JSON"  # JSON | PARQUET
    options: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> SinkKind:
        """What sort of place the target is.

        >>> SinkDef("s", ("q",), "/data/alerts").kind, SinkDef("s", ("q",), "https://host/hook").kind
        ('folder', 'webhook')
        """
        scheme, mark, _ = self.target.partition("://")
        return _KINDS.get(scheme.partition("+")[0].lower(), "unknown") if mark else "folder"

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the option `key`, by the names that they have in records.

        >>> SinkDef("s", ("q",), "kafka://host:9092/t", options=(("key", '["item"]'),)).key
        ('item',)
        """
        return tuple(json.loads(self.option("key", "[]")))

    def option(self, name: str, default: str = "") -> str:
        """The value of a WITH option, or the default if it is not given."""
        return dict(self.options).get(name, default)
