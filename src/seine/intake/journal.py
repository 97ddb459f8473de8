"""The journal: every micro-batch as it was admitted, durable before anything computes with it.

    journal/<entry>               the entry: what it says of itself, and its rows
    amended/<entry>/withheld/     a register: the queries that failed after it was written
    amended/<entry>/tried/        while an entry is tried without some queries: which
    amended/<entry>/offered       it is blank, and to be worked on all the same
    punctuations/<run>            punctuations that entries name; a run that nobody names is removed

Law: a crash at any moment, a power cut too, leaves an entry whole or not at all, and its runs with it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import asdict

from seine.errors import RunError
from seine.intake.bundle import Bundle, bundle
from seine.intake.intake_state import IntakeState
from seine.intake.spark_feed import SourceBranch
from seine.rows.arrow_ipc import Piece, ipc_pieces, read_ipc
from seine.rows.clock import Clock
from seine.storage.log import Register, claim_surely
from seine.storage.store import MissingObjectError, Store
from seine.typed_json import read_json, write_json

JOURNAL = "journal/"  # what the names of entries begin with
_AMENDED = "amended/"
_RUNS = "punctuations/"
_WITHHELD, _TRIED, _OFFERED = "withheld", "tried", "offered"
DEAD = "dead"  # the part of an entry that has its dead letters


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


class EntryRecord(Struct, frozen=True, omit_defaults=True):
    """What an entry says of itself; `written` is when that was, Unix time."""

    number: int
    network: int
    clock: Clock
    rows: dict[str, int]  # streams that have rows, and how many
    punctuation_counts: dict[str, int]  # streams that have punctuations, and how many
    dead: int = 0
    end: bool = False
    intake: IntakeState = IntakeState()
    runs: dict[str, str] = {}  # of punctuations that admission keeps after it, and where each is
    epoch: int = 0
    handover: int = 0
    branches: tuple[SourceBranch, ...] = ()
    since: int | None = None
    withheld: tuple[str, ...] = ()
    replays: tuple[ReplayedRows, ...] = ()
    blank: bool = False  # it waits for rows that Spark reads: see `Journal.offer`
    written: float = 0.0


class Entry(EntryRecord, frozen=True, kw_only=True):
    """One micro-batch of the journal; its batches are mapped, not read.

    Among the queries that are `withheld` from it are those that failed after it was written.
    """

    store: Store

    def batch(self, stream: str) -> pa.RecordBatch | None:
        return self._read(rows_part(stream)) if self.rows.get(stream) else None

    def replayed(self, number: int, stream: str) -> pa.RecordBatch | None:
        """The rows of the past that a replay brings, by its number among those of the entry."""
        wanted = self.replays[number].rows.get(stream)
        return self._read(replayed_part(number, stream)) if wanted else None

    def punctuations(self, stream: str) -> pa.RecordBatch | None:
        return self._read(punctuations_part(stream)) if self.punctuation_counts.get(stream) else None

    def kept_punctuations(self, stream: str) -> list[list[str]]:
        """The runs of punctuations that admission keeps after this entry, by scheme; see `run`."""
        state = self.intake.streams.get(stream)
        runs = state.admission.punctuations if state else []
        return [[run_name(stream, name) for name in names] for names in runs]

    def run(self, name: str) -> pa.RecordBatch:
        """A run of punctuations that admission keeps after this entry."""
        return read_ipc(self.store.local(run_place(self.runs[name])))

    def dead_letters(self) -> list[dict[str, Any]]:
        lines = self._bundle().part(DEAD).to_pybytes().splitlines()
        return [json.loads(line) for line in lines]

    def _read(self, part: str) -> pa.RecordBatch:
        return self._bundle().batch(part)

    def _bundle(self) -> Bundle:
        return Bundle(self.store.local(entry_name(self.number)))


class Journal:
    """The entries in a store, numbered from 0 without gaps.

    One process writes it, through one object whose threads take turns; any number may read it.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._last: Entry | None = None
        self._turn = threading.Lock()
        self._keep: Callable[[Entry], None] = lambda entry: None

    def __reduce__(self) -> tuple[type[Journal], tuple[Store]]:
        return Journal, (self.store,)

    def numbers(self) -> list[int]:
        names = (name.removeprefix(JOURNAL) for name in self.store.list(JOURNAL))
        return [int(name) for name in names if name.isdigit()]

    def exists(self, number: int) -> bool:
        return self._is_there(entry_name(number))

    def last(self) -> Entry | None:
        if self._last is not None:
            return self._last
        numbers = self.numbers()
        return self.load(numbers[-1]) if numbers else None

    def load(self, number: int) -> Entry:
        record = self._record(number)
        withheld = {*record.withheld}
        for name in self.store.list(_amended(number)):
            withheld |= self._left_out(name)
        return Entry(**{**asdict(record), "withheld": tuple(sorted(withheld))}, store=self.store)

    def _record(self, number: int) -> EntryRecord:
        name = entry_name(number)
        try:
            return read_json(Bundle(self.store.local(name)).record, EntryRecord)
        except MissingObjectError:
            raise RunError(f"the journal {self.store.place} has no entry {number}") from None
        except ValueError:
            raise RunError(
                f"the checkpoint is damaged: '{self.store.place}/{name}' is no journal entry",
                hint="name a new checkpoint folder",
            ) from None

    def _left_out(self, name: str) -> set[str]:
        """The queries that an object beside an entry names; it may go, or be replaced, at any time."""
        kind = name.split("/")[2]
        if kind == _WITHHELD:
            return {*self._failed(_number_of(name))}
        try:
            return {*read_json(self.store.get(name), list[str])} if kind == _TRIED else set()
        except MissingObjectError:
            return set()

    def entries(self) -> list[Entry]:
        """All there are; while they are read the writer discards none of them."""
        with self._turn:
            return [self.load(number) for number in self.numbers()]

    def append(self, draft: Draft) -> Entry:
        """Make a draft the next entry; when this returns it is durable."""
        with self._turn:
            self._last = self._append(draft)
            return self._last

    def _append(self, draft: Draft) -> Entry:
        last = self.last()
        number = last.number + 1 if last is not None else 0
        runs = {name: self._put_run(batch, name, last) for name, batch in sorted(draft.runs.items())}
        if not claim_surely(self.store, entry_name(number), b"".join(_entry(number, draft, runs))):
            raise RunError(
                f"another process writes the journal {self.store.place}", hint="let one of them alone run"
            )
        return self.load(number)

    def _put_run(self, batch: pa.RecordBatch, name: str, last: Entry | None) -> str:
        """Where a run of punctuations is: where the last entry has it, or at a new place."""
        if last is not None and name in last.runs:
            return last.runs[name]
        place = uuid.uuid4().hex
        self.store.put(run_place(place), ipc_pieces(batch))
        return place

    def withhold(self, number: int, queries: Iterable[str]) -> None:
        """Let an entry that is written run without some queries; when this returns that is durable."""
        queries = {*queries}
        if not queries:
            return
        with self._turn:
            failed = self._failed(number)
            known = {*self._record(number).withheld, *failed}
            if not queries <= known:
                content = write_json(sorted(queries.union(failed)))
                self._withheld(number).change(lambda _: content)
                self._look_again(number)

    def _failed(self, number: int) -> list[str]:
        content = self._withheld(number).read()
        return [] if content is None else read_json(content, list[str])

    def _withheld(self, number: int) -> Register:
        return Register(self.store, f"{_amended(number)}{_WITHHELD}")

    def try_without(self, number: int, queries: Collection[str]) -> None:
        """Let an entry run without some queries until this is called again: what it makes is not delivered.

        Nobody may be running it.
        """
        place = f"{_amended(number)}{_TRIED}/"
        with self._turn:
            before = [*self.store.list(place)]
            if queries:
                self.store.put(f"{place}{uuid.uuid4().hex}", write_json(sorted(queries)))
            self.store.delete(before)
            if queries or before:
                self._look_again(number)

    def _look_again(self, number: int) -> None:
        if self._last is not None and self._last.number == number:
            self._last = self.load(number)

    def offer(self, number: int) -> None:
        """Let a blank entry be worked on, though no rows have come for it: news wait behind it.

        A power cut may take that back: whoever goes on offers it again.
        """
        self.store.put(_offered(number), b"", settled=False)

    def is_offered(self, number: int) -> bool:
        """Whether an entry is to be worked on without waiting for rows that Spark reads."""
        last = self._last  # the writer asks again and again, and need not read what it wrote
        entry = last if last is not None and last.number == number else self.load(number)
        return not self._is_idle(entry)

    def _is_idle(self, entry: Entry) -> bool:
        return entry.blank and not self._is_there(_offered(entry.number))

    def _is_there(self, name: str) -> bool:
        try:
            self.store.get(name, 0, 0)
        except MissingObjectError:
            return False
        return True

    def waiting_after(self, done: int) -> int:
        """How many entries after this one there is work to do for; any thread may ask.

        The last one may be there for rows that Spark reads, should some come: until then it does not wait.
        """
        last = self.last()
        if last is None or last.number <= done:
            return 0
        return last.number - done - self._is_idle(last)

    def keep_discarded(self, keep: Callable[[Entry], None]) -> None:
        """Give every entry to somebody before it is removed."""
        self._keep = keep

    def discard_before(self, number: int) -> None:
        """Remove the entries before one; the newest always stays, for its resume state."""
        old = [one for one in self.numbers()[:-1] if one < number]
        for one in old:
            self._keep(self.load(one))
        with self._turn:
            self._remove(old)
            self._sweep_runs()

    def recover(self) -> None:
        """Remove what a crash left behind; the writer calls this before it appends.

        What was removed before a power cut may be there again, and then something may be missing behind it.
        """
        with self._turn:
            numbers = self.numbers()
            gaps = [i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1]
            self._remove(numbers[: gaps[-1]] if gaps else [])
            kept = {*self.numbers()}
            amended = [name for name in self.store.list(_AMENDED) if _number_of(name) not in kept]
            self.store.delete(amended)
            self._sweep_runs()

    def _remove(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.store.delete([entry_name(number), *self.store.list(_amended(number))])

    def _sweep_runs(self) -> None:
        """Remove runs that no entry names."""
        runs = [*self.store.list(_RUNS)]
        named = (
            {run for number in self.numbers() for run in self._record(number).runs.values()}
            if runs
            else set()
        )
        self.store.delete([name for name in runs if name.removeprefix(_RUNS) not in named])


def entry_name(number: int) -> str:
    """The object that has an entry."""
    return f"{JOURNAL}{number:012d}"


def _amended(number: int) -> str:
    return f"{_AMENDED}{number:012d}/"


def _offered(number: int) -> str:
    return f"{_amended(number)}{_OFFERED}"


def _number_of(name: str) -> int:
    """The entry that an object is beside."""
    return int(name.split("/")[1])


def run_place(place: str) -> str:
    """The object that has a run of punctuations."""
    return f"{_RUNS}{place}"


def rows_part(stream: str) -> str:
    """The part of an entry, or of a retained segment, with the rows of a stream."""
    return f"s-{stream}"


def punctuations_part(stream: str) -> str:
    """The part of an entry with the punctuations of a stream."""
    return f"p-{stream}"


def replayed_part(number: int, stream: str) -> str:
    """The part of an entry with the rows of a stream that a replay brings."""
    return f"r{number}-{stream}"


def file_name(stream: str) -> str:
    """A name for what belongs to a stream that is safe whatever the stream is called."""
    return hashlib.blake2b(stream.encode(), digest_size=12).hexdigest()


def run_name(stream: str, name: str) -> str:
    """The name of a run of punctuations of a stream."""
    return f"{file_name(stream)}-{name}"


def _entry(number: int, draft: Draft, runs: dict[str, str]) -> list[Piece]:
    """The pieces of the object that an entry is."""
    lines = "".join(json.dumps(letter, ensure_ascii=False) + "\n" for letter in draft.dead)
    parts: dict[str, list[Piece]] = {DEAD: [lines.encode()]}
    parts |= {rows_part(stream): ipc_pieces(batch) for stream, batch in draft.rows.items()}
    parts |= {punctuations_part(stream): ipc_pieces(batch) for stream, batch in draft.punctuations.items()}
    for i, replay in enumerate(draft.replays):
        parts |= {replayed_part(i, stream): ipc_pieces(batch) for stream, batch in replay.rows.items()}
    record = EntryRecord(
        number,
        draft.network,
        draft.clock,
        {stream: batch.num_rows for stream, batch in draft.rows.items()},
        {stream: batch.num_rows for stream, batch in draft.punctuations.items()},
        len(draft.dead),
        draft.end,
        draft.intake,
        runs,
        draft.epoch,
        draft.handover,
        draft.branches,
        draft.since,
        draft.withheld,
        tuple(map(_replay, draft.replays)),
        draft.blank,
        time.time(),
    )
    return bundle(write_json(record), parts)


def _replay(draft: ReplayDraft) -> ReplayedRows:
    rows = {stream: batch.num_rows for stream, batch in draft.rows.items()}
    return ReplayedRows(draft.query, draft.receivers, draft.clock, rows, draft.done)
