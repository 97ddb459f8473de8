"""The work of a task that reads a stream by Spark: parse, admit, push through all that is stateless.

A task has rows of one stream in one micro-batch, as Spark's source gives them. It judges them by what the
entry of the micro-batch says, and sends every bucket a control record with its part of the clock, also if it
has no rows: of all sources in a micro-batch, perhaps only this one has a task.

    rows -> parse strictly -> admit -> push -> parcels, results     and a report: clocks seen, punctuations,
                                                                    dead letters
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.definitions import StreamDef
from seine.intake.admission import Admission, Admitted
from seine.intake.admission_rules import AdmissionRule
from seine.intake.arrived_records import ArrivedRecords, only_topic
from seine.intake.intake_state import SparkState, StreamState
from seine.intake.journal import Entry, run_name
from seine.intake.parsed import DeadLine
from seine.intake.punctuations import PunctuationStore
from seine.intake.record_admission import RecordAdmission, rule_of
from seine.rows.arrow_ipc import ipc_pieces
from seine.rows.clock import ClockPart, largest
from seine.rows.delta import NEVER
from seine.runtime.flow.admitted_rows import punctuation_delta, source_delta
from seine.runtime.flow.control_record import ControlRecord
from seine.runtime.flow.dataflow import CompiledVersion, compiled_version, set_compiled_aside
from seine.runtime.flow.parcels import Emission
from seine.runtime.flow.task_output import CONTROL, Row, rows_of, task_at_work
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.task_pieces import PieceWriter
from seine.runtime.output.task_report import SourceReport, StageReport

_PIECE_ROWS = 50_000  # that are parsed and pushed at once
_PIECE_BYTES = 32 * 1024 * 1024


def read_source(
    folder: str,
    number: int,
    stream: str,
    place: int,
    batches: Iterable[pa.RecordBatch],
    born: int = 0,
    partitions: Sequence[str] = (),
) -> list[Row]:
    """Read the rows of a stream that one task of a micro-batch is given; `place` is that of the task.

    Of topics it has whole partitions, and `partitions` are all that there are. `born` is the entry with which
    that stream began. If it has been dropped since, nobody wants its rows, though the pipeline reads them
    until it hands over.
    """
    deployment = Deployment(folder)
    entry = deployment.journal.load(number)
    with task_at_work(deployment, number) as emission:
        if not _stands(deployment, entry, stream, born):
            return _controls(deployment, entry)
        return _SourceTask(deployment, entry, stream, place, partitions).run(batches, emission)


def _stands(deployment: Deployment, entry: Entry, stream: str, born: int) -> bool:
    """Whether a stream that Spark reads is declared as of an entry, and not another one of its name."""
    state = entry.intake.streams.get(stream)
    if state is not None and (state.spark or SparkState()).born != born:
        return False
    here = compiled_version(deployment.folder, entry.network, entry.withheld)
    return stream in here.version.streams and (state is not None or born == 0)


def _controls(deployment: Deployment, entry: Entry, *parts: ClockPart) -> list[Row]:
    """A control record for every bucket, with parts of the clock."""
    control = ControlRecord.of(entry, parts).packed()
    return [(label, CONTROL, control) for label in deployment.settings.labels]


class _SourceTask:
    """One task: what it has seen so far."""

    def __init__(
        self, deployment: Deployment, entry: Entry, name: str, place: int, partitions: Sequence[str]
    ) -> None:
        self._deployment, self._entry, self._place = deployment, entry, place
        self._here = compiled_version(deployment.folder, entry.network, entry.withheld)
        self._stream: StreamDef = self._here.version.streams[name]
        state = entry.intake.streams.get(name, StreamState())
        self._spark, rule = state.spark or SparkState(), rule_of(self._stream, state, partitions, place)
        admission = _admission(deployment.folder, entry, self._stream, rule)
        self._admission = RecordAdmission(admission, rule, state.latest)
        self._lanes, self._partitions = self._admission.lanes, tuple(partitions)
        self._letters = PieceWriter(deployment.store, entry.number)
        self._dead, self._reason = 0, ""
        self._seen: dict[str, int] = {}
        self._promised: list[pa.RecordBatch] = []
        self._rows = self._late = 0
        self._accepted = NEVER  # the largest timestamp that was let in

    def run(self, batches: Iterable[pa.RecordBatch], emission: Emission) -> list[Row]:
        for piece in _pieces(batches):
            self._take(ArrivedRecords(piece, only_topic(self._stream)), emission)
        set_compiled_aside(self._here)
        known, seen = self._spark.active, self._seen
        if self._lanes is not None:
            self._lanes.end()
            known, seen = self._lanes.active, self._lanes.came_to()
        stream = self._stream
        part = ClockPart(stream.name, stream.domain, stream.lateness, known, seen, self._accepted)
        rows = _controls(self._deployment, self._entry, part)
        report, number = self._report(), self._entry.number
        return rows + rows_of(self._deployment, emission, number, 0, self._place, StageReport(), report)

    def _take(self, arrived: ArrivedRecords, emission: Emission) -> None:
        admitted = self._admission.admit(arrived)
        for letter in admitted.dead:
            line = DeadLine(letter["line"], letter["reason"], letter["record"])
            written = json.dumps(arrived.letter(self._stream.name, line), ensure_ascii=False)
            self._letters.write(written.encode() + b"\n")
            self._dead, self._reason = self._dead + 1, str(letter["reason"])
        self._rows += admitted.rows.num_rows
        self._late += admitted.late
        self._accepted = max(self._accepted, admitted.latest)
        if self._lanes is None:
            self._seen = largest([self._seen, self._clocks(admitted)])
        if admitted.punctuations.num_rows:
            self._promised.append(admitted.punctuations)
        _push(self._here, self._stream, self._entry, admitted, emission)

    def _clocks(self, admitted: Admitted) -> dict[str, int]:
        """The largest timestamp of each clock value among the rows that were let in."""
        if not admitted.rows.num_rows:
            return {}
        if self._stream.clock_column is None:
            return {"": admitted.latest}
        times = admitted.rows.column(f"c{self._stream.time}").cast(pa.int64())
        values = admitted.rows.column(f"c{self._stream.clock_column}").cast(pa.string())
        table = pa.table({"value": pc.fill_null(values, ""), "time": times})
        clocks = table.group_by("value").aggregate([("time", "max")])
        return dict(zip(clocks["value"].to_pylist(), clocks["time_max"].to_pylist(), strict=True))

    def _report(self) -> SourceReport:
        promised = pa.concat_batches(self._promised) if self._promised else None
        packed = b"" if promised is None else b"".join(map(bytes, ipc_pieces(promised)))
        return SourceReport(
            self._stream.name,
            self._place,
            self._rows,
            self._seen,
            packed,
            self._dead,
            self._late,
            self._reason,
            self._letters.close(),
            {} if self._lanes is None else self._lanes.clocks,
            {} if self._lanes is None else self._lanes.reached,
            self._partitions,
            self._accepted,
        )


class _KnownPromises(NamedTuple):
    """Punctuations that a worker has made ready to be looked up, and the runs that they are made of."""

    stream: StreamDef
    runs: list[list[str]]
    stores: list[PunctuationStore]


_known: dict[tuple[str, str], _KnownPromises] = {}  # by folder and stream; runs never change under a name


def _admission(folder: str, entry: Entry, stream: StreamDef, rule: AdmissionRule) -> Admission:
    """The judge of a task; punctuations are made ready once for as long as they are the same."""
    state = entry.intake.streams.get(stream.name, StreamState())
    key, names = (folder, stream.name), state.admission.punctuations
    last = _known.get(key)
    if last is not None and (last.stream, last.runs) == (stream, names):
        return Admission(stream, state.admission, rule=rule, kept=last.stores)
    runs = {name: entry.run(run_name(stream.name, name)) for several in names for name in several}
    admission = Admission(stream, state.admission, runs, rule)
    if any(known != folder for known, _ in _known):
        _known.clear()  # one pipeline at a time is at work here
    _known[key] = _KnownPromises(stream, names, admission.kept)
    return admission


def _push(
    here: CompiledVersion, stream: StreamDef, entry: Entry, admitted: Admitted, emission: Emission
) -> None:
    """Push what was let in to all that follows the stream's source and its punctuations."""
    for source in here.flow.sources.get(stream.name, ()) if admitted.rows.num_rows else ():
        numbered = source.id in here.flow.numbered
        delta = source_delta(stream, admitted.rows, source, entry.epoch, numbered)
        here.flow.push(source.id, delta, emission)
    if admitted.punctuations.num_rows:
        for node in here.flow.punctuations.get(stream.name, ()):
            here.flow.push(node.id, punctuation_delta(stream, admitted.punctuations, node), emission)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches put together: few large pieces cost less than many small ones."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if (
            sum(one.num_rows for one in waiting) >= _PIECE_ROWS
            or sum(one.nbytes for one in waiting) >= _PIECE_BYTES
        ):
            yield pa.concat_batches(waiting)
            waiting = []
    if sum(one.num_rows for one in waiting):
        yield pa.concat_batches(waiting)
