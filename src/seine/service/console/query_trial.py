"""Queries tried on the last rows of their streams, in this process, before they are registered.

Law: the records are those that `seine.testing` tells of these rows, as if they were all there ever was.
Nothing is registered, no sink gets anything, and no source is read but files of relations and topics.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq

from seine.algebra.definitions import RelationDef, Source, StreamDef
from seine.algebra.plan import tables_of
from seine.errors import SeineError
from seine.frontends.script.script import Declarations, Script
from seine.operators.state.work_budget import WorkBudget
from seine.rows.delta import data_names
from seine.run import Options
from seine.run_local import carried_here
from seine.scratch_folder import scratch_folder
from seine.service.answers import MOST_QUERIES
from seine.service.console.console_answers import TrialAnswer

_MOST_RECORDS = 200
_BUDGET = WorkBudget(candidates=5_000_000, bytes=64 << 20)

Recent = Callable[[StreamDef], list[pa.RecordBatch]]


class QueryTrials:
    """Tries scripts, one at a time: they run on the machine that the service needs."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def answer(self, script: Script, known: Declarations, recent: Recent) -> TrialAnswer:
        """What the queries of a script say of the recent rows of the streams that are known."""
        if not self._turn.acquire(blocking=False):
            raise SeineError("another script is being tried", hint="try again when it is done")
        try:
            with tempfile.TemporaryDirectory(dir=scratch_folder()) as work:
                return _tried(script, known, recent, work)
        finally:
            self._turn.release()


def _tried(script: Script, known: Declarations, recent: Recent, work: str) -> TrialAnswer:
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
    return _run(Script(declared, script.positions), rows, work)


def _run(script: Script, rows: dict[str, int], work: str) -> TrialAnswer:
    out = os.path.join(work, "out.jsonl")
    folder = os.path.join(work, "state")
    options = Options(
        out=out, dead_letter=os.path.join(work, "dead.jsonl"), checkpoint=folder, budget=_BUDGET
    )
    with carried_here(script, options) as run:
        total, failures = run.sink.totals.output_rows, dict(run.failures.queries)
    with open(out, encoding="utf-8") as file:
        records = [json.loads(line) for line in islice(file, _MOST_RECORDS)]
    failed = {query: failure.reason for query, failure in failures.items()}
    return {"rows": rows, "total": total, "records": records, "failed": failed}


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
