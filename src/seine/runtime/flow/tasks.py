"""The work of one task, whoever hosts it: reading a slice of input, or stepping a stage."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seine.intake.journal import Entry, Journal
from seine.rows.clock import Clock
from seine.runtime.flow import blob_store
from seine.runtime.flow.admitted_rows import kept_punctuations, punctuation_delta, source_delta
from seine.runtime.flow.emission import Emission
from seine.runtime.flow.parcels import encode
from seine.runtime.flow.stage_step import run_stage
from seine.runtime.flow.task_row import CONTROL, REPORT, Row
from seine.runtime.folder.deployment import Deployment, Runtime
from seine.runtime.folder.segments import Segments
from seine.runtime.output.results import Results

_SLICE_ROWS = 50_000  # smaller slices are not worth a task of their own


@dataclass(frozen=True)
class Slice:
    """Rows [start, start + length) of one stream in one entry; the first slice speaks for the entry.

    The last slice of a stream brings its promises, if there are any.
    """

    entry: int
    stream: str | None
    start: int
    length: int
    first: bool
    punctuations: bool = False


def slices_of(entry: Entry, parallelism: int) -> list[Slice]:
    """Split an entry's rows evenly; an entry without rows still has its control records."""
    slices: list[Slice] = []
    size = max(_SLICE_ROWS, -(-sum(entry.rows.values()) // parallelism))
    told = {*entry.punctuation_counts}
    if entry.since is not None:
        told |= {stream for stream in entry.intake["streams"] if any(entry.kept_punctuations(stream))}
    for stream in dict.fromkeys((*entry.rows, *sorted(told))):
        count = entry.rows.get(stream, 0)
        pieces = max(1, -(-count // size))
        for i in range(pieces):
            start, end = count * i // pieces, count * (i + 1) // pieces
            punctuations = i == pieces - 1 and stream in told
            slices.append(Slice(entry.number, stream, start, end - start, not slices, punctuations))
    return slices or [Slice(entry.number, None, 0, 0, True)]


def read_slice(folder: str, slice_: Slice) -> list[Row]:
    """Push a slice through all that is stateless and route what is left; the first adds control records."""
    deployment = Deployment(folder)
    entry = deployment.journal.load(slice_.entry)
    labels = deployment.settings["labels"]
    rows: list[Row] = []
    if slice_.first:
        control = {
            "entry": entry.number,
            "network": entry.network,
            "clock": entry.clock.to_json(),
            "handover": entry.handover,
        }
        rows += [(label, CONTROL, json.dumps(control).encode()) for label in labels]
    emission = _new_emission(deployment, entry.number)
    if slice_.stream is not None:
        _push_slice(runtime(folder, entry.network), entry, slice_, slice_.stream, emission)
        if slice_.punctuations:
            _push_punctuations(
                runtime(folder, entry.network), entry, deployment.journal, slice_.stream, emission
            )
    report = {"entry": entry.number, "stage": 0, "bucket": slice_.start}
    return rows + _rows_of(deployment, emission, report)


def _push_slice(here: Runtime, entry: Entry, slice_: Slice, name: str, emission: Emission) -> None:
    source, batch = here.flow.sources.get(name), entry.batch(name)
    if source is not None and batch is not None:
        rows = batch.slice(slice_.start, slice_.length)
        stream, numbered = here.version.streams[name], source.id in here.flow.numbered
        here.flow.push(source.id, source_delta(stream, rows, source, entry.epoch, numbered), emission)


def _push_punctuations(here: Runtime, entry: Entry, journal: Journal, name: str, emission: Emission) -> None:
    """What a stream promised in this entry; nodes that are new get all that it has promised so far."""
    punctuations = entry.punctuations(name)
    kept = entry.kept_punctuations(name) if entry.since is not None else []
    for node in here.flow.punctuations.get(name, ()):
        if punctuations is not None:
            made = punctuation_delta(here.version.streams[name], punctuations, node)
            here.flow.push(node.id, made, emission, lambda to: entry.since is None or to.id < entry.since)
        runs = [journal.run(run) for run in kept[node.scheme]] if kept else []
        if runs:
            here.flow.push(node.id, kept_punctuations(runs), emission, lambda to: to.id >= (entry.since or 0))


def step_stage(
    folder: str, number: int, bucket: int, blobs: Iterable[bytes], control: Mapping[str, Any], state: Segments
) -> list[Row]:
    """Step all operators of a stage in a bucket; the caller makes the state durable."""
    deployment = Deployment(folder)
    flow = runtime(folder, control["network"]).flow
    emission = _new_emission(deployment, control["entry"])
    clock = Clock.from_json(control["clock"])
    told = run_stage(flow, number, bucket, map(blob_store.get, blobs), clock, state, emission)
    report = {"entry": control["entry"], "stage": number, "bucket": bucket, **told._asdict()}
    return _rows_of(deployment, emission, report)


_running: dict[str, Runtime] = {}


def runtime(folder: str, version: int) -> Runtime:
    """A network version, compiled once in each process; the next one is made from the last."""
    last = _running.get(folder)
    if last is None or last.version.number != version:
        _running.clear()  # one pipeline at a time is at work here
        newer = last is not None and last.version.number < version
        _running[folder] = Deployment(folder).load(version, last if newer else None)
    return _running[folder]


def _new_emission(deployment: Deployment, entry: int) -> Emission:
    """Results go to a file that no other attempt of any task can have."""
    return Emission(Results(os.path.join(deployment.results(entry), f"{uuid.uuid4().hex}.jsonl")))


def _rows_of(deployment: Deployment, emission: Emission, report: dict[str, Any]) -> list[Row]:
    """What a task sends on: its parcels, and its report for the sink."""
    labels, folder = deployment.settings["labels"], deployment.results(report["entry"])
    rows = [
        (labels[bucket], stage, blob_store.put(folder, encode(parcels)))
        for (stage, bucket), parcels in emission.parcels.items()
    ]
    report["results"] = emission.results.close()
    return [*rows, (labels[0], REPORT, json.dumps(report).encode())]
