"""The work of one task, in whichever host: reading a slice of input, or stepping a stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seine.graph.node import Node
from seine.intake.journal import Entry
from seine.runtime.flow.admitted_rows import kept_punctuations, punctuation_delta, source_delta
from seine.runtime.flow.control_record import ControlRecord
from seine.runtime.flow.dataflow import CompiledVersion, compiled_version, set_compiled_aside
from seine.runtime.flow.parcels import Emission
from seine.runtime.flow.stage_step import run_stage
from seine.runtime.flow.task_output import CONTROL, Row, get_blob, rows_of, task_at_work
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.segments import Segments
from seine.runtime.output.task_report import StageReport

_SLICE_ROWS = 50_000  # fewer rows are not worth a task of their own


@dataclass(frozen=True)
class Slice:
    """Rows [start, start + length) of one stream in one entry; the first slice speaks for the entry.

    The last slice of a stream brings its punctuations, if there are any. With a `replay`, the rows are those
    that it brings from the past.
    """

    entry: int
    stream: str | None
    start: int
    length: int
    first: bool
    punctuations: bool = False
    replay: int | None = None


def slices_of(entry: Entry, parallelism: int) -> list[Slice]:
    """Split an entry's rows evenly; an entry without rows still has its control records."""
    slices: list[Slice] = []
    size = _task_rows(entry, parallelism)
    punctuated = {*entry.punctuation_counts}
    if entry.since is not None or any(replay.done for replay in entry.replays):
        punctuated |= {stream for stream in entry.intake.streams if any(entry.kept_punctuations(stream))}
    for i, replay in enumerate(entry.replays):
        for stream, count in replay.rows.items():
            slices.append(Slice(entry.number, stream, 0, count, not slices, replay=i))
    for stream in dict.fromkeys((*entry.rows, *sorted(punctuated))):
        count = entry.rows.get(stream, 0)
        pieces = max(1, -(-count // size))
        for i in range(pieces):
            start, end = count * i // pieces, count * (i + 1) // pieces
            punctuations = i == pieces - 1 and stream in punctuated
            slices.append(Slice(entry.number, stream, start, end - start, not slices, punctuations))
    return slices or [Slice(entry.number, None, 0, 0, True)]


def task_slices(entry: Entry, parallelism: int) -> list[list[Slice]]:
    """The slices of each task: those of streams with few rows share one."""
    size, tasks, rows = _task_rows(entry, parallelism), list[list[Slice]](), 0
    for slice_ in slices_of(entry, parallelism):
        if tasks and rows + slice_.length <= size:
            tasks[-1].append(slice_)
            rows += slice_.length
        else:
            tasks.append([slice_])
            rows = slice_.length
    return tasks


def _task_rows(entry: Entry, parallelism: int) -> int:
    return max(_SLICE_ROWS, -(-sum(entry.rows.values()) // parallelism))


def read_slices(folder: str, slices: Sequence[Slice]) -> list[Row]:
    """Push the slices of a task through all that is stateless and route what is left; the first adds control
    records.
    """
    deployment = Deployment(folder)
    entry = deployment.journal.load(slices[0].entry)
    with task_at_work(deployment, entry.number) as emission:
        return _read_slices(deployment, entry, slices, emission)


def _read_slices(
    deployment: Deployment, entry: Entry, slices: Sequence[Slice], emission: Emission
) -> list[Row]:
    rows: list[Row] = []
    if slices[0].first:
        control = ControlRecord.of(entry).packed()
        rows += [(label, CONTROL, control) for label in deployment.settings.labels]
    for slice_ in slices:
        if slice_.stream is not None:
            here = compiled_version(deployment.folder, entry.network, entry.withheld)
            _push_slice(here, entry, slice_, slice_.stream, emission)
            if slice_.punctuations:
                _push_punctuations(here, entry, slice_.stream, emission)
            set_compiled_aside(here)
    return rows + rows_of(deployment, emission, entry.number, 0, slices[0].start, StageReport())


def _push_slice(here: CompiledVersion, entry: Entry, slice_: Slice, name: str, emission: Emission) -> None:
    """Push rows of a stream to all that follow its source; rows of the past, to those they are for alone."""
    batch = entry.batch(name) if slice_.replay is None else entry.replayed(slice_.replay, name)
    if batch is None:
        return
    rows = batch.slice(slice_.start, slice_.length)
    receivers = None if slice_.replay is None else {*entry.replays[slice_.replay].receivers}
    for source in here.flow.sources.get(name, ()):
        stream, numbered = here.version.streams[name], source.id in here.flow.numbered
        delta = source_delta(stream, rows, source, entry.epoch, numbered)
        here.flow.push(
            source.id, delta, emission, None if receivers is None else lambda to: to.id in receivers
        )


def _push_punctuations(here: CompiledVersion, entry: Entry, name: str, emission: Emission) -> None:
    """The punctuations of a stream in this entry; nodes that are new get all that it has made so far.

    Nodes that are given rows of the past get them when they have caught up.
    """
    punctuations = entry.punctuations(name)
    behind = {node for replay in entry.replays for node in replay.receivers if not replay.done}
    caught_up = {node for replay in entry.replays for node in replay.receivers if replay.done}

    def is_new(to: Node) -> bool:
        return to.id in caught_up or (
            entry.since is not None and to.id >= entry.since and to.id not in behind
        )

    kept = entry.kept_punctuations(name) if entry.since is not None or caught_up else []
    for node in here.flow.punctuations.get(name, ()):
        if punctuations is not None:
            made = punctuation_delta(here.version.streams[name], punctuations, node)
            here.flow.push(node.id, made, emission, lambda to: not is_new(to))
        runs = [entry.run(run) for run in kept[node.scheme]] if kept else []
        if runs:
            here.flow.push(node.id, kept_punctuations(runs), emission, is_new)


def step_stage(
    folder: str, number: int, bucket: int, blobs: Iterable[bytes], control: ControlRecord, state: Segments
) -> list[Row]:
    """Step all operators of a stage in a bucket; the caller makes the state durable."""
    deployment = Deployment(folder)
    here = compiled_version(folder, control.network, control.withheld)
    with task_at_work(deployment, control.entry) as emission:
        arrived = (get_blob(deployment.store, blob) for blob in blobs)
        held = run_stage(here.flow, number, bucket, arrived, control.clock_of, state, emission)
        rows = rows_of(deployment, emission, control.entry, number, bucket, held)
    set_compiled_aside(here)
    return rows
