"""The journal: every micro-batch as it was admitted, durable before anything computes with it.

Law: a crash at any moment, a power cut too, leaves an entry whole or not at all. An entry is written under a
temporary name, its files are synced, and then it is renamed; one that goes is renamed, and its files are
removed once that name lasts. Punctuations are kept beside the entries as immutable runs that entries name; a
run nobody names is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from seine.disk_sync import make_folder, sync_to_disk
from seine.errors import RunError
from seine.intake.intake_state import IntakeState
from seine.intake.spark_feed import SourceBranch
from seine.rows.clock import Clock
from seine.typed_json import read_json, write_json

_TEMPORARY = "."  # what an entry's name starts with until it is whole, and when it is being removed
_OLD = f"{_TEMPORARY}old-"

_OFFERED = "offered"  # a file of a blank entry that is to be worked on all the same
_WITHHELD = "withheld-"  # what the names of an entry's amendments start with
_TRIED = "tried-without.json"  # a file of an entry whose next attempt is a trial: who is left out of it


@dataclass(frozen=True)
class ReplayDraft:
    """Rows from a query's past that an entry brings to its nodes, the `receivers`, and to no others.

    These nodes step by a `clock` of their own until they have caught up (`done`), and then by the entry's.
    `next` is the entry of the past that follows.
    """

    query: str
    receivers: tuple[int, ...]
    clock: Clock
    next: int
    rows: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    done: bool = False


class ReplayedRows(Struct, frozen=True, omit_defaults=True):
    """A `ReplayDraft` as an entry has it: `rows` says of which streams there are rows, and how many."""

    query: str
    receivers: tuple[int, ...]
    clock: Clock
    rows: dict[str, int] = {}
    done: bool = False


@dataclass(frozen=True)
class Draft:
    """What becomes an entry. `runs` are the punctuations that the intake state names, by file name.

    `epoch` is what a query's birth epoch is compared with: it grows when a registration takes effect.
    Nodes with the id `since` or a later one are new: they also get the punctuations that were made before.
    With a `handover` the entry is the last of its pipeline: the one that goes on has so many stages, and the
    `branches` that are named with it.
    It runs on its network version without the queries that are `withheld`: they failed. `replays` are rows of
    the past for queries that begin with history. A `blank` one has nothing that stages would have to hear of.
    """

    network: int
    clock: Clock
    rows: Mapping[str, pa.RecordBatch]
    punctuations: Mapping[str, pa.RecordBatch]
    dead: list[dict[str, Any]]
    intake: IntakeState = field(default_factory=IntakeState)
    runs: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    end: bool = False
    epoch: int = 0
    handover: int = 0
    branches: tuple[SourceBranch, ...] = ()
    since: int | None = None
    withheld: tuple[str, ...] = ()
    replays: Sequence[ReplayDraft] = ()
    blank: bool = False


class Entry(Struct, frozen=True, omit_defaults=True):
    """One micro-batch of the journal; its batches are mapped, not read.

    All but its folder, which may be moved, is in its `entry.json`; queries that failed after it was
    written are named in further files, which are added and never changed.
    """

    number: int
    network: int
    clock: Clock
    rows: dict[str, int]  # streams that have rows, and how many
    punctuation_counts: dict[str, int]  # streams that have punctuations, and how many
    dead: int = 0
    end: bool = False
    intake: IntakeState = IntakeState()
    runs: tuple[str, ...] = ()
    epoch: int = 0
    handover: int = 0
    branches: tuple[SourceBranch, ...] = ()
    since: int | None = None
    withheld: tuple[str, ...] = ()
    replays: tuple[ReplayedRows, ...] = ()
    blank: bool = False  # it waits for rows that Spark reads: see `Journal.offer`
    folder: str = ""

    def path(self, stream: str) -> str:
        """The Arrow file of a stream's rows; it exists only if the entry has some."""
        return os.path.join(self.folder, f"s-{file_name(stream)}.arrow")

    def batch(self, stream: str) -> pa.RecordBatch | None:
        return _map(self.path(stream)) if self.rows.get(stream) else None

    def replayed(self, number: int, stream: str) -> pa.RecordBatch | None:
        """The rows of the past that a replay brings, by its number among those of the entry."""
        wanted = self.replays[number].rows.get(stream)
        return _map(_replay_path(self.folder, number, stream)) if wanted else None

    def punctuations(self, stream: str) -> pa.RecordBatch | None:
        path = os.path.join(self.folder, f"p-{file_name(stream)}.arrow")
        return _map(path) if self.punctuation_counts.get(stream) else None

    def kept_punctuations(self, stream: str) -> list[list[str]]:
        """The runs of punctuations that admission keeps after this entry, by scheme; see `Journal.run`."""
        state = self.intake.streams.get(stream)
        runs = state.admission.punctuations if state else []
        return [[run_name(stream, name) for name in names] for names in runs]

    def dead_letters(self) -> list[dict[str, Any]]:
        with open(os.path.join(self.folder, "dead.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]


class Journal:
    """A folder of entries, numbered from 0 without gaps.

    One process writes it, through one object whose threads take turns; any number may read it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._entries = os.path.join(folder, "entries")
        self._runs = os.path.join(folder, "punctuations")
        self._last: Entry | None = None
        self._turn = threading.Lock()
        self._keep: Callable[[Entry], None] = lambda entry: None

    def __reduce__(self) -> tuple[type[Journal], tuple[str]]:
        return Journal, (self.folder,)

    def numbers(self) -> list[int]:
        names = os.listdir(self._entries) if os.path.isdir(self._entries) else []
        return sorted(int(name) for name in names if name.isdigit())

    def exists(self, number: int) -> bool:
        return os.path.isdir(self._folder(number))

    def last(self) -> Entry | None:
        if self._last is not None:
            return self._last
        numbers = self.numbers()
        return self.load(numbers[-1]) if numbers else None

    def load(self, number: int) -> Entry:
        folder = self._folder(number)
        try:
            with open(os.path.join(folder, "entry.json"), "rb") as file:
                entry = read_json(file.read(), Entry)
            left_out = [_queries(os.path.join(folder, name)) for name in _amendments(folder)]
            left_out.append(_tried_without(os.path.join(folder, _TRIED)))
        except FileNotFoundError:
            raise RunError(f"the journal {self.folder} has no entry {number}") from None
        except ValueError:
            raise RunError(
                f"the checkpoint is damaged: '{folder}' is no journal entry",
                hint="name a new checkpoint folder",
            ) from None
        withheld = {*entry.withheld}.union(*left_out)
        return replace(entry, folder=folder, withheld=tuple(sorted(withheld)))

    def entries(self) -> list[Entry]:
        """All there are; while they are read the writer discards none of them."""
        with self._turn:
            return [self.load(number) for number in self.numbers()]

    def append(self, draft: Draft) -> Entry:
        """Make a draft the next entry; when this returns it is durable."""
        with self._turn:
            self._make_folders()
            self._last = self._append(draft)
            return self._last

    def _append(self, draft: Draft) -> Entry:
        last = self.last()
        number = last.number + 1 if last is not None else 0
        self._write_runs(draft, set(last.runs) if last is not None else set())
        temporary = os.path.join(self._entries, f"{_TEMPORARY}new-{number}")
        shutil.rmtree(temporary, ignore_errors=True)
        os.mkdir(temporary)
        _write_entry(temporary, number, draft)
        sync_to_disk(temporary)
        os.rename(temporary, self._folder(number))
        sync_to_disk(self._entries)
        self._remove_old()
        return self.load(number)

    def withhold(self, number: int, queries: Iterable[str]) -> None:
        """Let an entry that is written run without some queries; when this returns that is durable."""
        queries, folder = [*queries], self._folder(number)
        if not queries:
            return
        with self._turn:
            amendments = [os.path.join(folder, name) for name in _amendments(folder)]
            with open(os.path.join(folder, "entry.json"), "rb") as file:
                known = read_json(file.read(), Entry).withheld
            fresh = sorted({*queries}.difference(known, *map(_queries, amendments)))
            if fresh:
                path = os.path.join(folder, f"{_WITHHELD}{len(amendments)}.json")
                self._put_beside(number, path, write_json(fresh))
                sync_to_disk(folder)

    def try_without(self, number: int, queries: Collection[str]) -> None:
        """Let an entry run without some queries until this is called again: what it makes is not delivered.

        Nobody may be running it. It is not synced: after a power cut nobody is on trial.
        """
        path = os.path.join(self._folder(number), _TRIED)
        with self._turn:
            if queries:
                self._put_beside(number, path, write_json(sorted(queries)))
            elif os.path.exists(path):
                os.unlink(path)
                self._look_again(number)

    def _put_beside(self, number: int, path: str, content: bytes) -> None:
        """Add a file to an entry that is written, whole or not at all."""
        temporary = os.path.join(self._folder(number), f"{_TEMPORARY}beside")
        _write_bytes(temporary, content)
        os.rename(temporary, path)
        self._look_again(number)

    def _look_again(self, number: int) -> None:
        if self._last is not None and self._last.number == number:
            self._last = self.load(number)

    def offer(self, number: int) -> None:
        """Let a blank entry be worked on, though no rows have come for it: news wait behind it."""
        _write_bytes(os.path.join(self._folder(number), _OFFERED), b"")

    def is_offered(self, number: int) -> bool:
        """Whether an entry is to be worked on without waiting for rows that Spark reads."""
        last = self._last  # the writer asks again and again, and need not read what it wrote
        entry = last if last is not None and last.number == number else self.load(number)
        return not self._is_idle(entry)

    def _is_idle(self, entry: Entry) -> bool:
        return entry.blank and not os.path.exists(os.path.join(self._folder(entry.number), _OFFERED))

    def waiting_after(self, done: int) -> int:
        """How many entries after this one there is work to do for; any thread may ask.

        The last one may be there for rows that Spark reads, should some come: until then it does not wait.
        """
        last = self.last()
        if last is None or last.number <= done:
            return 0
        return last.number - done - self._is_idle(last)

    def run(self, name: str) -> pa.RecordBatch:
        """A run of punctuations that an entry names."""
        return _map(self._run_path(name))

    def keep_discarded(self, keep: Callable[[Entry], None]) -> None:
        """Give every entry to somebody before it is removed."""
        self._keep = keep

    def discard_before(self, number: int) -> None:
        """Remove the entries before one; the newest always stays, for its resume state."""
        for old in self.numbers()[:-1]:
            if old < number:
                self._keep(self.load(old))
        with self._turn:
            for old in self.numbers()[:-1]:
                if old < number:
                    # A crash half way must not leave half an entry under its name: see `_remove_old`.
                    os.rename(self._folder(old), os.path.join(self._entries, f"{_OLD}{old}"))
            self._sweep_runs()

    def recover(self) -> None:
        """Remove what a crash left behind; the writer calls this before it appends."""
        with self._turn:
            self._make_folders()
            sync_to_disk(self._entries)
            for name in os.listdir(self._entries):
                if name.startswith(_TEMPORARY):
                    shutil.rmtree(os.path.join(self._entries, name))
            self._sweep_runs()

    def _make_folders(self) -> None:
        """Only the writer makes anything: a reader may be there before it, or after the journal has gone."""
        make_folder(self._entries)
        make_folder(self._runs)

    def _remove_old(self) -> None:
        """Remove the files of entries that were discarded, whose new names are durable by now."""
        for name in os.listdir(self._entries):
            if name.startswith(_OLD):
                shutil.rmtree(os.path.join(self._entries, name))

    def _sweep_runs(self) -> None:
        """Remove runs that no entry names."""
        self._make_folders()
        named = {run for number in self.numbers() for run in self.load(number).runs}
        for name in os.listdir(self._runs):
            if name.removesuffix(".arrow") not in named:
                os.unlink(os.path.join(self._runs, name))

    def _write_runs(self, draft: Draft, known: set[str]) -> None:
        fresh = draft.runs.keys() - known
        for name in fresh:
            _write_batch(self._run_path(name), draft.runs[name])
        if fresh:
            sync_to_disk(self._runs)

    def _run_path(self, name: str) -> str:
        return os.path.join(self._runs, f"{name}.arrow")

    def _folder(self, number: int) -> str:
        return os.path.join(self._entries, f"{number:012d}")


def file_name(stream: str) -> str:
    """A name for a stream's files that is safe whatever the stream is called."""
    return hashlib.blake2b(stream.encode(), digest_size=12).hexdigest()


def run_name(stream: str, name: str) -> str:
    """The name of a run of punctuations of a stream."""
    return f"{file_name(stream)}-{name}"


def _write_entry(folder: str, number: int, draft: Draft) -> None:
    for stream, batch in draft.rows.items():
        _write_batch(os.path.join(folder, f"s-{file_name(stream)}.arrow"), batch)
    for stream, batch in draft.punctuations.items():
        _write_batch(os.path.join(folder, f"p-{file_name(stream)}.arrow"), batch)
    for i, replay in enumerate(draft.replays):
        for stream, batch in replay.rows.items():
            _write_batch(_replay_path(folder, i, stream), batch)
    lines = "".join(json.dumps(letter, ensure_ascii=False) + "\n" for letter in draft.dead)
    _write_bytes(os.path.join(folder, "dead.jsonl"), lines.encode())
    entry = Entry(
        number,
        draft.network,
        draft.clock,
        {stream: batch.num_rows for stream, batch in draft.rows.items()},
        {stream: batch.num_rows for stream, batch in draft.punctuations.items()},
        len(draft.dead),
        draft.end,
        draft.intake,
        tuple(sorted(draft.runs)),
        draft.epoch,
        draft.handover,
        draft.branches,
        draft.since,
        draft.withheld,
        tuple(map(_replay, draft.replays)),
        draft.blank,
    )
    _write_bytes(os.path.join(folder, "entry.json"), write_json(entry))


def _replay(draft: ReplayDraft) -> ReplayedRows:
    rows = {stream: batch.num_rows for stream, batch in draft.rows.items()}
    return ReplayedRows(draft.query, draft.receivers, draft.clock, rows, draft.done)


def _replay_path(folder: str, number: int, stream: str) -> str:
    return os.path.join(folder, f"r{number}-{file_name(stream)}.arrow")


def _amendments(folder: str) -> list[str]:
    """The files of an entry that name queries which failed after it was written."""
    return sorted(name for name in os.listdir(folder) if name.startswith(_WITHHELD))


def _queries(path: str) -> list[str]:
    """The queries that a file beside an entry names."""
    with open(path, "rb") as file:
        return read_json(file.read(), list[str])


def _tried_without(path: str) -> list[str]:
    """The queries without which an entry is tried; the file may go at any time."""
    try:
        return _queries(path)
    except FileNotFoundError:
        return []


def _write_batch(path: str, batch: pa.RecordBatch) -> None:
    with open(path, "wb") as file:
        with pa.ipc.new_file(file, batch.schema) as writer:
            writer.write_batch(batch)
        file.flush()
        os.fsync(file.fileno())


def _write_bytes(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _map(path: str) -> pa.RecordBatch:
    return pa.ipc.open_file(pa.memory_map(path)).get_batch(0)
