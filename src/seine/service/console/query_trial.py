"""Queries tried on the last rows of their streams before they are registered, each trial in its own process.

Law: the records are those that `seine.testing` tells of these rows, as if they were all there ever was.
Nothing is registered, no sink gets anything, and no source is read but files of relations and topics. A trial
that takes too much memory or time ends, and nothing else does.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import BoundedSemaphore

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Raw, json

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.algebra.plan import tables_of
from seine.errors import Position, RunError, SeineError
from seine.frontends.script.script import Declarations, Script
from seine.operators.state.work_budget import WorkBudget
from seine.rows.delta import data_names
from seine.scratch_folder import scratch_folder
from seine.service.answers import MOST_QUERIES
from seine.service.console.trial_process import TrialProcesses
from seine.service.console.trial_worker import (
    ANSWER,
    RECORDS,
    REQUEST,
    TrialLimits,
    TrialOutcome,
    TrialRequest,
)
from seine.service.refusal_form import RefusalReason
from seine.typed_json import read_json, write_json

_MOST_TRIALS = 4  # at a time
_MOST_RECORDS = 200
_MOST_RECORD_BYTES = 8 << 20  # of the records that are told
_LIMITS = TrialLimits(WorkBudget(candidates=5_000_000, bytes=64 << 20))

Recent = Callable[[StreamDef], list[pa.RecordBatch]]

_logger = logging.getLogger(__name__)


class BusyError(SeineError):
    """As many scripts are being tried as may be."""


@dataclass(frozen=True)
class TriedScript:
    """Of each stream how many rows there were; how many records, the first of them as they are written."""

    rows: dict[str, int]
    total: int
    records: list[Raw]
    failed: dict[str, str]

    def to_json(self) -> bytes:
        """As `TrialAnswer`: numbers keep all their digits."""
        return json.encode(self)


class QueryTrials:
    """Tries scripts, a few at a time: they run on the machine that the service needs.

    `functions` is the folder of the pipeline, which keeps the functions of users.
    """

    def __init__(self, functions: str) -> None:
        self._places = BoundedSemaphore(_MOST_TRIALS)
        self._processes = TrialProcesses(functions)

    def expect(self) -> None:
        """Somebody may want to try something soon: a process that is ready then answers at once."""
        self._processes.prepare()

    def close(self) -> None:
        self._processes.close()

    def answer(self, script: Script, known: Declarations, recent: Recent) -> TriedScript:
        """What the queries of a script say of the recent rows of the streams that are known."""
        if not self._places.acquire(blocking=False):
            hint = "try again when one of them is done"
            raise BusyError(f"{_MOST_TRIALS} scripts are being tried already", hint=hint)
        try:
            with tempfile.TemporaryDirectory(dir=scratch_folder(), ignore_cleanup_errors=True) as work:
                apart, rows = _own_script(script, known, recent, work)
                return self._tried(apart, rows, work)
        finally:
            self._places.release()

    def _tried(self, script: Script, rows: dict[str, int], work: str) -> TriedScript:
        with open(os.path.join(work, REQUEST), "wb") as file:
            file.write(write_json(TrialRequest.of(script, _LIMITS)))
        self._processes.run(work, _LIMITS)
        with open(os.path.join(work, ANSWER), "rb") as file:
            outcome = read_json(file.read(), TrialOutcome)
        if outcome.fault is not None:
            _logger.error("trial failed", extra={"reason": outcome.fault})
            raise RunError("the trial failed: internal error", hint="the service's log says more")
        if outcome.refusal is not None:
            raise _refusal(outcome.refusal)
        return TriedScript(rows, outcome.total, _first_records(os.path.join(work, RECORDS)), outcome.failed)


def _refusal(reason: RefusalReason) -> SeineError:
    place = reason.get("where")
    where = None if place is None else Position(place["file"], place["line"], place["column"])
    return SeineError(reason["message"], hint=reason.get("hint"), where=where)


def _first_records(path: str) -> list[Raw]:
    """The first records of a file, as they are written, that are not too long together."""
    records: list[Raw] = []
    with open(path, "rb") as file:
        left = _MOST_RECORD_BYTES
        while len(records) < _MOST_RECORDS:
            line = file.readline(left)
            if not line.endswith(b"\n"):
                return records
            left -= len(line)
            records.append(Raw(line.rstrip(b"\n")))
    return records


def _own_script(
    script: Script, known: Declarations, recent: Recent, work: str
) -> tuple[Script, dict[str, int]]:
    """The queries of a script over streams that read their recent rows from files, and how many these are."""
    queries = {key: script.declarations.queries[key] for key in script.positions}
    if not queries:
        raise SeineError("the script creates no query", hint="add CREATE QUERY name AS SELECT ...")
    if len(queries) > MOST_QUERIES:
        raise SeineError(
            f"the script creates {len(queries)} queries", hint=f"at most {MOST_QUERIES} are tried"
        )
    named = sorted({table for query in queries.values() for table in tables_of(query)})
    declared, rows = Declarations(edges=script.declarations.edges, queries=queries), {}
    for name in named:
        if name in script.declarations.relations:
            declared.relations[name] = _of_file(script.declarations.relations[name])
            continue
        stream, pieces = _recent_rows(name, script.declarations, known, recent)
        rows[stream.name] = sum(piece.num_rows for piece in pieces)
        declared.streams[name] = _reading(stream, pieces, work)
    return Script(declared, script.positions), rows


def _recent_rows(
    name: str, declared: Declarations, known: Declarations, recent: Recent
) -> tuple[StreamDef, list[pa.RecordBatch]]:
    stream = known.streams.get(name)
    if stream is None or declared.streams.get(name) != stream:
        raise SeineError(f"nothing has come of {name} yet", hint="register the stream first")
    return stream, recent(stream)


def _of_file(relation: RelationDef) -> RelationDef:
    if relation.source is not None and relation.source.is_database:
        raise SeineError(f"relation {relation.name} is in a database, which is not read to try a query")
    return relation


def _reading(stream: StreamDef, pieces: list[pa.RecordBatch], work: str) -> StreamDef:
    """The stream as it reads these rows from a file."""
    path = os.path.join(work, f"{len(os.listdir(work))}.parquet")
    names = [field.name for field in stream.fields]
    fields = zip(names, stream.types, strict=True)
    schema = pa.schema([pa.field(name, type_.arrow()) for name, type_ in fields])
    tables = [_table(stream, piece, schema) for piece in pieces]
    marks = pa.schema([*schema, pa.field("@op", pa.string())]) if stream.retractable else schema
    pq.write_table(pa.concat_tables([marks.empty_table(), *tables]), path)
    return replace(stream, source=Source(path, "PARQUET"))


def _table(stream: StreamDef, piece: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    columns = [piece.column(name) for name in data_names(len(stream.fields))]
    table = pa.Table.from_arrays(columns, schema=schema)
    if not stream.retractable:
        return table
    positive = piece.column("_o").to_numpy() > 0
    return table.append_column("@op", pa.array([None if plus else "-" for plus in positive], pa.string()))
