"""All sinks of a service or a run: each has a thread, a position and a target of its own.

A folder of files, each with the records of one piece; its name says which, so that it is there once.

    alerts/part-<sink>-<start>-<end>.jsonl                 FORMAT JSON: records as they are delivered
    alerts/query=q1/part-<sink>-<start>-<end>.parquet      FORMAT PARQUET: a folder a query, typed columns

A file appears whole, by a rename. A consumer may take files away in the order of their names.

A webhook: a piece is the body of a POST, signed, with a key that is the same whenever it is sent again.

    POST /hook            Content-Type: application/x-ndjson       a line for each record
    Idempotency-Key       <identity of the sink>-<start>-<end>
    Seine-Signature       sha256=<HMAC of the secret over the key, a dot and the body, in hexadecimal>

Law (at least once): a piece is sent until it is answered by 2xx, or given up after so many attempts; whoever
keeps the keys that it has seen sees each record once. No redirect is followed.

Output records as an Arrow table: op, t_start, t_end and the row, with the types of the query.

The row is a struct of the query's columns; that of a SEARCH or XSCL query is its JSON text.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Lock
from typing import Any
from urllib.parse import quote, urlsplit

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.algebra.types import Kind, Type
from seine.catalog.tables.stored import StoredSink
from seine.disk_sync import make_folder, sync_to_disk
from seine.errors import RunError, SeineError
from seine.intake.allowed_hosts import Hosts
from seine.intake.retention_limit import RetentionLimit
from seine.network.plan.output_form import form_of
from seine.postgres_timeouts import SilenceGuard
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.query_figures import SinkStatistics
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.delivery import UndeliveredFiles
from seine.sinks.kafka_target import KafkaTarget
from seine.sinks.record_piece import RecordPiece, Waiting
from seine.sinks.sink_checks import STARTS_OVER
from seine.sinks.sink_progress import MissedResults, SinkProgress, SinkTarget, forget_others, progress_of
from seine.sinks.sink_thread import SinkThread
from seine.storage.store import Store


@dataclass(frozen=True)
class SinkStatus:
    """What a sink is doing: a `trouble` is why it cannot deliver, and since when."""

    sink: StoredSink
    records: int
    position: int
    lag: int
    trouble: tuple[str, str] | None
    undelivered: int  # records that were given up
    missed: MissedResults | None  # what was no longer kept when it came to it
    waiting: Waiting | None  # None while nothing waits


class SinkThreads:
    """Starts and ends the threads of sinks as these come and go."""

    def __init__(
        self,
        store: Store,
        undelivered: str,
        index: ResultIndex,
        secrets: OptionSecrets,
        keep: RetentionLimit | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        """How far each has come is in the store.

        Of what could not be delivered so much is kept for each sink as `keep` says. Brokers are of `hosts`,
        if these are given.
        """
        self._store, self._undelivered, self._index, self._secrets = store, undelivered, index, secrets
        self._keep, self._hosts = keep, hosts
        self._lock = Lock()
        self._followed: Mapping[str, StoredSink] | None = None
        self._threads: dict[str, SinkThread] = {}  # by identity

    def follow(self, sinks: Mapping[str, StoredSink], query_of: Callable[[str], Query]) -> None:
        """Let these sinks deliver, and no others, for there may be more to deliver."""
        with self._lock:
            if sinks is not self._followed:
                self._followed = sinks
                self._start_and_stop({one.identity: one for one in sinks.values()}, query_of)
            for thread in self._threads.values():
                thread.wake()

    def _start_and_stop(self, standing: Mapping[str, StoredSink], query_of: Callable[[str], Query]) -> None:
        for identity in [*self._threads]:
            if identity not in standing:
                self._threads.pop(identity).stop()
        for identity, sink in standing.items():
            if identity not in self._threads:
                read = {name: query_of(name) for name in sink.definition.queries}
                opening = partial(open_target, sink, read, self._secrets, self._hosts)
                aside = UndeliveredFiles(os.path.join(self._undelivered, identity), self._keep)
                progress, hide = progress_of(self._store, identity), self._secrets.hide
                self._threads[identity] = SinkThread(sink, self._index, progress, aside, opening, hide)

    def clear(self, sinks: Mapping[str, StoredSink]) -> None:
        """Remove the positions of sinks that are gone, before all begins."""
        forget_others(self._store, {one.identity for one in sinks.values()})

    def states(self) -> list[SinkStatus]:
        """What each sink is doing, in the order of their creation."""
        return [_status(thread) for thread in [*self._threads.values()]]

    def behind(self) -> list[SinkThread]:
        """Those that have not delivered all that is committed."""
        return [thread for thread in self._threads.values() if thread.lag]

    def troubles(self) -> list[tuple[str, str | None]]:
        """The name of each sink, and why it cannot deliver if it cannot."""
        return [(one.sink.definition.name, one.trouble and one.trouble[0]) for one in self._threads.values()]

    def close(self) -> None:
        """End all threads."""
        with self._lock:
            for thread in self._threads.values():
                thread.stop()
            for thread in self._threads.values():
                thread.join()


def _status(thread: SinkThread) -> SinkStatus:
    progress = thread.progress
    return SinkStatus(
        thread.sink,
        progress.records,
        progress.position,
        thread.lag,
        thread.trouble,
        progress.undelivered,
        progress.missed,
        thread.waiting(),
    )


def open_target(
    sink: StoredSink, queries: Mapping[str, Query], secrets: OptionSecrets, hosts: Hosts | None = None
) -> SinkTarget:
    """The target of a sink, which is not connected to yet; brokers are of `hosts`, if these are given."""
    if sink.definition.kind == "kafka":
        return KafkaTarget(sink, secrets, hosts)
    if sink.definition.kind == "webhook":
        return WebhookTarget(sink, secrets)
    if sink.definition.kind == "postgresql":
        from seine.sinks.postgres_target import PostgresTarget  # its driver is an extra

        return PostgresTarget(sink, queries, secrets)
    return FolderTarget(sink, queries)


_MOST_NAME = 150  # characters of a query's name in a folder's


class FolderTarget(SinkTarget):
    """Writes a piece as files that replace themselves when they are written again."""

    def __init__(self, sink: StoredSink, queries: Mapping[str, Query]) -> None:
        self._folder = sink.definition.target
        self._identity = sink.identity[:12]
        self._parquet = sink.definition.format == "PARQUET"
        self._schemas = {name: record_schema(query) for name, query in queries.items()}

    def write(self, piece: RecordPiece) -> None:
        """Write the files of a piece."""
        name = f"part-{self._identity}-{piece.start:015d}-{piece.end:015d}"
        if not self._parquet:
            self._write_lines(f"{name}.jsonl", b"".join(lines for _, lines in piece.portions))
            return
        for query in dict.fromkeys(query for query, _ in piece.portions):
            lines = b"".join(lines for one, lines in piece.portions if one == query)
            self._write_table(f"query={_file_name(query)}", f"{name}.parquet", query, lines)

    def _write_lines(self, name: str, lines: bytes) -> None:
        make_folder(self._folder)
        temporary = os.path.join(self._folder, f".{name}.tmp")
        with open(temporary, "wb") as file:
            file.write(lines)
        _publish(temporary, os.path.join(self._folder, name))

    def _write_table(self, part: str, name: str, query: str, lines: bytes) -> None:
        folder = os.path.join(self._folder, part)
        make_folder(folder)
        temporary = os.path.join(folder, f".{name}.tmp")
        pq.write_table(record_table(lines, self._schemas[query]), temporary)
        _publish(temporary, os.path.join(folder, name))


def _publish(temporary: str, path: str) -> None:
    """Let a file appear whole, and stay."""
    sync_to_disk(temporary)
    os.replace(temporary, path)
    sync_to_disk(os.path.dirname(path))


def _file_name(query: str) -> str:
    """A name that any file system takes, another one for each query.

    >>> _file_name("q1"), _file_name("a/b c")
    ('q1', 'a%2Fb%20c')
    """
    name = quote(query, safe="")
    if len(name) <= _MOST_NAME:
        return name
    return name[:_MOST_NAME] + hashlib.sha256(query.encode()).hexdigest()[:16]


ATTEMPTS, SECONDS = 12, 10.0  # unless the options say otherwise


class WebhookTarget(SinkTarget):
    """Sends pieces to a URL, a connection for each."""

    most_piece = 256 << 10

    def __init__(self, sink: StoredSink, secrets: OptionSecrets) -> None:
        self._sink, self._identity, self._secrets = sink.definition, sink.identity, secrets
        self.attempts = int(sink.definition.option("attempts", str(ATTEMPTS)))
        self._seconds = float(sink.definition.option("timeout", str(SECONDS)))

    def begin(self, progress: SinkProgress) -> None:
        """Look up the secrets."""
        self._options = self._secrets.values(f"sink {self._sink.name}", self._sink.options)

    def write(self, piece: RecordPiece) -> None:
        """Send a piece; an error unless it is accepted."""
        body = b"".join(lines for _, lines in piece.portions)
        status = self._post(body, f"{self._identity}-{piece.start}-{piece.end}")
        if not 200 <= status < 300:
            raise SeineError(f"the webhook answers {status}")

    def _post(self, body: bytes, key: str) -> int:
        parts = urlsplit(self._sink.target)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection = self._connection(parts.scheme, parts.hostname or "", parts.port)
        try:
            connection.connect()
            with SilenceGuard(self._seconds) as guard:  # one that sends a byte now and then is cut off, too
                guard.watch(connection.sock.fileno())
                connection.request("POST", path, body, self._headers(body, key))
                return connection.getresponse().status
        except ValueError:  # which repeats the header, and that may be a secret
            raise SeineError(
                "the request cannot be made: a header has a line end or another letter"
            ) from None
        except (OSError, HTTPException) as error:
            raise SeineError(f"the webhook cannot be reached: {error or type(error).__name__}") from None
        finally:
            connection.close()

    def _connection(self, scheme: str, host: str, port: int | None) -> HTTPConnection:
        if scheme.lower() == "https":
            return HTTPSConnection(host, port, timeout=self._seconds, context=ssl.create_default_context())
        return HTTPConnection(host, port, timeout=self._seconds)

    def _headers(self, body: bytes, key: str) -> dict[str, str]:
        signed = hmac.new(self._options["secret"].encode(), key.encode() + b"." + body, hashlib.sha256)
        headers = {
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": key,
            "Seine-Signature": f"sha256={signed.hexdigest()}",
            "User-Agent": "seine",
        }
        if "authorization" in self._options:
            headers["Authorization"] = self._options["authorization"]
        return headers


def record_schema(query: Query) -> pa.Schema:
    """The columns of a query's records."""
    time = pa.timestamp("us", "UTC") if form_of(query).domain == "timestamp" else pa.int64()
    row: pa.DataType = pa.string()
    if not isinstance(query.plan, Search | DocumentQuery):
        row = pa.struct([(field.name, _column_type(field.type)) for field in query.record_fields])
    return pa.schema([("op", pa.string()), ("t_start", time), ("t_end", time), ("row", row)])


def _column_type(type_: Type) -> pa.DataType:
    """That of a column; intervals and values of JSON are texts."""
    return type_.arrow() if type_.kind in _TYPED else pa.string()


_TYPED = {
    *(Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL),
    *(Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.XML),
}


def record_table(lines: bytes, schema: pa.Schema) -> pa.Table:
    """The records of JSON Lines, with the types of a schema.

    >>> row = pa.struct([("a", pa.int64()), ("x", pa.float64())])
    >>> schema = pa.schema([("op", pa.string()), ("row", row)])
    >>> record_table(b'{"query": "q", "op": "+", "row": {"a": 1}}\\n', schema).to_pylist()
    [{'op': '+', 'row': {'a': 1, 'x': None}}]
    >>> record_table(b'{"query": "q", "op": "+", "row": {"x": "Infinity"}}\\n', schema).to_pylist()
    [{'op': '+', 'row': {'a': None, 'x': inf}}]
    """
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    block = pj.ReadOptions(block_size=max(len(lines), 1))
    if pa.types.is_struct(schema.field("row").type):
        try:
            return pj.read_json(io.BytesIO(lines), block, options).select(schema.names)
        except pa.ArrowInvalid:  # dates, and numbers that are not finite, are texts
            pass
    rows = [_typed_record(json.loads(line, parse_float=_ExactFloat), schema) for line in lines.splitlines()]
    return pa.Table.from_pylist(rows, schema)


class _ExactFloat(float):
    """A number with a point, and its text, which a decimal is made of."""

    def __new__(cls, text: str) -> _ExactFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number

    text: str


def _typed_record(record: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {field.name: _typed(record.get(field.name), field.type) for field in schema}


def _typed(value: Any, type_: pa.DataType) -> Any:
    """A value of JSON as Arrow takes it."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _typed(value.get(field.name), field.type) for field in type_}
    if pa.types.is_floating(type_):
        return float(value)
    if pa.types.is_decimal(type_):
        return Decimal(value.text if isinstance(value, _ExactFloat) else value)
    if pa.types.is_date(type_):
        return date.fromisoformat(value)
    if pa.types.is_timestamp(type_):
        return datetime.fromisoformat(value)
    if pa.types.is_string(type_) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value


MOST_SECONDS_STUCK = 600.0  # that the end of the input waits for a target that takes nothing
MOST_SECONDS_STOPPED = 10.0  # that a stop waits in all
_GOES_ON = "with the same --checkpoint it goes on from there"
_POLL_SECONDS = 0.02


class RunSinks:
    """Tells of the sinks of a run, and lets it end when they have everything."""

    def __init__(self, threads: SinkThreads, notice: Callable[[str], None], *, lasting: bool) -> None:
        """`lasting` is a folder that the next process finds again. `notice` hears which target is down."""
        self._threads, self._lasting, self._notice = threads, lasting, notice
        self._down: set[str] = set()  # sinks whose trouble was told

    def tell_trouble(self) -> None:
        """Say once of each sink that its target is down, and once that it is back."""
        for name, trouble in self._threads.troubles():
            if trouble is not None and name not in self._down:
                self._notice(f"sink {name} cannot deliver, and tries again: {trouble}")
                self._down.add(name)
            elif trouble is None and name in self._down:
                self._notice(f"sink {name} goes on")
                self._down.remove(name)

    def statistics(self) -> dict[str, SinkStatistics]:
        """What each sink has delivered, and given up."""
        states = self._threads.states()
        return {
            one.sink.definition.name: SinkStatistics(
                one.records, one.undelivered, 0 if one.missed is None else one.missed.bytes
            )
            for one in states
        }

    def finish(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until all is delivered; when stopped, only for a moment. A sink that cannot is a RunError.

        A target may take as long as it wants while it takes something.
        """
        for thread in self._drain(is_stopped):
            reason = f": {thread.trouble[0]}" if thread.trouble else ""
            message = f"sink {thread.sink.definition.name} has not delivered all{reason}"
            hint = _GOES_ON if self._lasting else STARTS_OVER
            if not is_stopped():
                raise RunError(message, hint=hint)
            self._notice(f"{message}; {hint}")
        for name, sink in self.statistics().items():
            if sink.missed_bytes:
                gone = f"{sink.missed_bytes:,} bytes of results were no longer kept"
                self._notice(f"sink {name} was too far behind: {gone}")

    def _drain(self, is_stopped: Callable[[], bool]) -> list[SinkThread]:
        """Those that have not got all when patience is over."""
        patience = _Patience(is_stopped)
        while (behind := self._threads.behind()) and patience.goes_on(behind):
            self.tell_trouble()
            time.sleep(_POLL_SECONDS)
        self.tell_trouble()
        return behind


class _Patience:
    """Says how long those that are behind are waited for."""

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped
        self._positions: list[int] = []
        self._moved = time.monotonic()
        self._stopped: float | None = None  # since when

    def goes_on(self, behind: list[SinkThread]) -> bool:
        """Whether to wait on for these."""
        now = time.monotonic()
        positions = [thread.progress.position for thread in behind]
        if positions != self._positions or all(thread.trouble is None for thread in behind):
            self._positions, self._moved = positions, now
        if self._is_stopped():
            self._stopped = self._stopped or now
            return now - self._stopped < MOST_SECONDS_STOPPED
        return now - self._moved < MOST_SECONDS_STUCK
