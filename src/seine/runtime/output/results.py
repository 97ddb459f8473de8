"""Results of one task: JSON Lines on their way to the store, counted by query, cut at limits.

The queries that have records in a task: a number for each, and sums by number.

    numbered(["q7", "q2"])    [0, 1]        names      ["q7", "q2", "q9"]
    numbered(["q2", "q9"])    [1, 2]        records    [2, 3, 1]

A batch may have records of ten thousands of queries, a few each: numbers are looked up and sums are made for
all of them at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, FloatArray, IntArray
from seine.algebra.types import Type
from seine.operators.state.work_budget import NodeFault, WorkBudget, WorkMeter
from seine.operators.state.working_nodes import Form, RecordRows
from seine.rows.column_arrays import text_bytes
from seine.rows.delta import FOREVER, NEVER, concat_batches, data_names
from seine.runtime.output.json_records import json_lines, line_starts
from seine.runtime.output.task_pieces import PieceWriter
from seine.runtime.output.task_report import ANY_TIME, QueryRanges, WrittenResults

START, END, BEGINS, QUERY = "_s", "_e", "_b", "_q"
_PIECE_ROWS = 1 << 16
_PLAIN = "^[A-Za-z_][A-Za-z0-9_]*$"
_COUNTED_ONE_BY_ONE = 64  # records that are counted one by one
# An Arrow array ends at 2**31 bytes of text, and escapes make text up to 6 times longer.
_PIECE_BYTES = 1 << 28


class RecordFormat(NamedTuple):
    """What all records of one kind have in common."""

    names: tuple[str, ...]
    types: tuple[Type, ...]
    changelog: bool
    domain: str
    in_time: bool


class Pieces(NamedTuple):
    """Whose records were written, one after the other, how many bytes, and of what time they are."""

    owners: AnyArray
    sizes: AnyArray
    times: AnyArray


class Results:
    """Collects the records of one task.

    They go to a `writer`. A task delivers no more than a query's limit; the sink, which knows what came
    before, cuts the rest.
    Records of one kind wait for one another, whichever queries they are for: text is made of many at once.
    """

    def __init__(self, writer: PieceWriter, meter: WorkMeter | None = None) -> None:
        self._writer = writer
        self._meter = meter or WorkMeter(WorkBudget())
        self._counts = DeliveredCounts()
        self.importance: dict[str, float] = {}  # of queries whose records have one: the sum of theirs
        self.cut: set[str] = set()
        self._delivered = 0
        self._waiting: dict[RecordFormat, list[pa.RecordBatch]] = {}
        self._pieces: list[Pieces] = []

    def deliver(
        self, form: Form, queries: list[str], plus: RecordRows, minus: RecordRows | None = None
    ) -> None:
        """The records of queries that follow from new rows and from rows that end early.

        Ends come after beginnings, or in event time if it is a changelog.
        """
        kind = RecordFormat(form.names, form.types, form.changelog, form.domain, form.in_time)
        if form.changelog:
            records, picks = _in_event_time(plus, minus, len(form.types))
            self._deliver(kind, form.limit, queries, records, picks)
            return
        for begins, chosen in ((True, plus), (False, minus)):
            if chosen is not None and len(chosen.picks):
                records = _records(chosen.batch, "_e" if begins else "_d", begins, len(form.types))
                weights = _weights(form, chosen.batch) if begins else None
                self._deliver(kind, form.limit, queries, records, chosen.picks, weights)

    def _deliver(
        self,
        kind: RecordFormat,
        limit: int,
        queries: list[str],
        records: pa.RecordBatch,
        picks: IntArray,
        weights: FloatArray | None = None,
    ) -> None:
        within = self._delivered + len(picks) <= limit  # then no single query can be over it
        if within and weights is None and len(picks) < _COUNTED_ONE_BY_ONE:
            few = [self._counts.number(queries[pick]) for pick in picks.tolist()]
            self._counts.add_records(few, 1)
            self._delivered += len(few)
            self._wait(kind, records, few)
            return
        hit, place, counts = _counted(picks, len(queries))
        names = [queries[i] for i in hit.tolist()]
        numbers = self._counts.numbered(names)
        if not within:
            room = np.maximum(limit - self._counts.records(numbers), 0)
            self.cut.update(names[i] for i in np.flatnonzero(counts > room).tolist())
            keep = _earlier(place, counts) < room[place]
            records, place, counts = records.filter(pa.array(keep)), place[keep], np.minimum(counts, room)
            weights = None if weights is None else weights[keep]
        self._counts.add_records(numbers, counts)
        self._delivered += int(counts.sum())
        if weights is not None:
            self._weigh(names, np.bincount(place, weights, len(names)))
        self._wait(kind, records, numbers[place])

    def _wait(self, kind: RecordFormat, records: pa.RecordBatch, numbers: AnyArray | list[int]) -> None:
        """Let records wait for others of their kind, each with the number of its query."""
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(records.append_column(QUERY, pa.array(numbers, pa.int32())))
        if sum(batch.num_rows for batch in waiting) >= _PIECE_ROWS:
            self._flush(kind)

    def close(self) -> WrittenResults | None:
        """Write what waits; what the sink must know of it, or None if there was no record."""
        for kind in self._waiting:
            self._flush(kind)
        written = self._writer.close()
        if not written:
            return None
        owners, sizes, times = map(np.concatenate, zip(*self._pieces, strict=True))
        known = times if (times != ANY_TIME).any() else ()
        ranges, cut = QueryRanges.of(owners, sizes, known), tuple(sorted(self.cut))
        return WrittenResults(written, self._counts.by_name(), self.importance, cut, ranges)

    def _weigh(self, names: list[str], sums: AnyArray) -> None:
        for name, more in zip(names, sums.tolist(), strict=True):
            self.importance[name] = self.importance.get(name, 0.0) + more

    def _flush(self, kind: RecordFormat) -> None:
        """Write the records of a kind that wait."""
        batches, self._waiting[kind] = self._waiting[kind], []
        if not batches:
            return
        whole = concat_batches(batches)
        whole = _by_query_and_time(whole) if kind.in_time else _by_query(whole)
        for start, length in _pieces(whole):
            piece = whole.slice(start, length)
            text = self._text(kind, piece)
            self._spend(piece[QUERY].to_numpy(), len(text))
            self._writer.write(text)

    def _spend(self, numbers: IntArray, size: int) -> None:
        """Count the bytes of records, for each query its share of them."""
        hit, _, counts = _counted(numbers, len(self._counts.names))
        spent = self._counts.add_bytes(hit, size * counts // len(numbers))
        greedy = np.flatnonzero(spent > self._meter.budget.bytes)
        if len(greedy):
            query = self._counts.names[hit[greedy[0]]]
            raise NodeFault("budget", self._meter.budget.too_many_record_bytes, queries=(query,))

    def _text(self, kind: RecordFormat, batch: pa.RecordBatch) -> memoryview:
        columns = [batch.column(name) for name in data_names(len(kind.types))]
        ends = None if kind.changelog else batch[END]
        lines = json_lines(
            self._who(batch[QUERY]),
            _ops(batch[BEGINS]),
            batch[START],
            ends,
            kind.names,
            kind.types,
            columns,
            kind.domain,
        )
        times = _times(batch) if kind.in_time else np.full(batch.num_rows, ANY_TIME)
        self._note_ranges(batch[QUERY].to_numpy(), times, line_starts(lines))
        return text_bytes(lines)

    def _note_ranges(self, numbers: AnyArray, times: AnyArray, starts: IntArray) -> None:
        """Note whose lines these are, and of what times; `starts` has where each begins, and the end."""
        other = (numbers[1:] != numbers[:-1]) | (times[1:] != times[:-1])
        first = np.concatenate([[0], np.flatnonzero(other) + 1])
        sizes = np.diff(starts[np.concatenate([first, [len(numbers)]])])
        self._pieces.append(Pieces(numbers[first], sizes, times[first]))

    def _who(self, numbers: pa.Array) -> pa.Array | str:
        """One name, or the JSON text of the name in each row."""
        first: int = numbers[0].as_py()
        others = numbers.to_numpy()
        if (others == first).all():
            return self._counts.names[first]
        names = self._counts.names
        if len(others) < len(names):
            return json_texts([names[i] for i in others.tolist()])
        return json_texts(names).take(numbers)


def json_texts(names: list[str]) -> pa.Array:
    """Names as JSON strings; most are identifiers, which need quotes alone.

    >>> json_texts(["q1", 'a "b"']).to_pylist()
    ['"q1"', '"a \\\\"b\\\\""']
    """
    texts = pa.array(names, pa.string())
    if pc.all(pc.match_substring_regex(texts, _PLAIN)).as_py():
        return pc.binary_join_element_wise('"', texts, '"', "")
    return pa.array([json.dumps(name, ensure_ascii=False) for name in names], pa.string())


def _by_query(records: pa.RecordBatch) -> pa.RecordBatch:
    """Records of one query side by side, each query's in the order in which they came."""
    numbers = records[QUERY].to_numpy()
    if not (numbers[1:] < numbers[:-1]).any():
        return records
    return records.take(pa.array(np.argsort(numbers, kind="stable")))


def _by_query_and_time(records: pa.RecordBatch) -> pa.RecordBatch:
    """Records of one query side by side, in the order of their times."""
    order = np.lexsort((_times(records), records[QUERY].to_numpy()))
    return records.take(pa.array(order))


def _times(records: pa.RecordBatch) -> IntArray:
    """When records begin; those that tell an end come behind all that tell a beginning."""
    begins = records[BEGINS].to_numpy(zero_copy_only=False)
    times: IntArray = np.where(begins, records[START].to_numpy(), FOREVER)
    return times


def _weights(form: Form, batch: pa.RecordBatch) -> FloatArray | None:
    """The importance of each record, which follows the columns of its row; NULL counts nothing."""
    if form.importance is None:
        return None
    weights: FloatArray = batch[f"c{len(form.types)}"].fill_null(0.0).to_numpy()
    return weights


def _ops(begins: pa.Array) -> pa.Array | str:
    mask = begins.to_numpy(zero_copy_only=False)
    if mask.all() or not mask.any():
        return "+" if mask[0] else "-"
    signs = pa.py_buffer(np.where(mask, b"+", b"-"))
    return pa.Array.from_buffers(pa.string(), len(mask), [None, _unit_offsets(len(mask)), signs])


def _unit_offsets(count: int) -> pa.Buffer:
    """Where texts of one byte begin and end."""
    return pa.py_buffer(np.arange(count + 1, dtype=np.int32))


def _counted(picks: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """The different numbers below `size` that occur, the place of each one given among them, how often each.

    >>> [a.tolist() for a in _counted(np.array([7, 3, 7]), 8)]
    [[3, 7], [1, 0, 1], [1, 2]]
    """
    if size > len(picks):  # a table of all numbers would be longer than what is counted
        hit, place, counts = np.unique(picks, return_inverse=True, return_counts=True)
        return hit, place, counts
    often = np.bincount(picks, minlength=size)
    hit = np.flatnonzero(often)
    place = np.zeros(len(picks), np.int64) if len(hit) == 1 else (np.cumsum(often > 0) - 1)[picks]
    return hit, place, often[hit]


def _records(batch: pa.RecordBatch, end: str, begins: bool, width: int) -> pa.RecordBatch:
    """Rows as records: lifetime, whether they begin, and columns."""
    names = data_names(width)
    arrays = [batch["_s"], batch[end], pa.array(np.full(batch.num_rows, begins))]
    return pa.RecordBatch.from_arrays(arrays + [batch[name] for name in names], [START, END, BEGINS, *names])


def _in_event_time(plus: RecordRows, minus: RecordRows | None, width: int) -> tuple[pa.RecordBatch, IntArray]:
    """The changes of a changelog as they happen; an old row ends before a new one begins."""
    names = data_names(width)
    times, picks, parts = plus.batch["_s"].to_numpy(), plus.picks, [plus.batch.select(names)]
    if minus is not None and len(minus.picks):
        times = np.concatenate([times, minus.batch["_d"].to_numpy()])
        picks = np.concatenate([picks, minus.picks])
        parts.append(minus.batch.select(names))
    begins = np.arange(len(times)) < plus.batch.num_rows
    # What is there before all time has to begin before it can end.
    order = np.lexsort((np.where(times == NEVER, ~begins, begins), times))
    at = pa.array(order)
    data = concat_batches(parts)
    arrays = [pa.array(times[order]), pa.array(begins[order]), *(data[name].take(at) for name in names)]
    return pa.RecordBatch.from_arrays(arrays, [START, BEGINS, *names]), picks[order]


def _earlier(place: IntArray, counts: IntArray) -> IntArray:
    """For each position, how many before it have the same value; `counts` says how often each occurs."""
    order = np.argsort(place, kind="stable")
    earlier = np.empty(len(place), np.int64)
    earlier[order] = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return earlier


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose text is surely short enough for one Arrow array."""
    fitting = _PIECE_BYTES * batch.num_rows // max(batch.nbytes, 1)
    length = max(1, min(_PIECE_ROWS, fitting))
    for start in range(0, batch.num_rows, length):
        yield start, min(length, batch.num_rows - start)


_LEAST_GROWTH = 64  # queries


class DeliveredCounts:
    """Numbers of queries in the order in which they come, and how much each has delivered."""

    def __init__(self) -> None:
        self.names: list[str] = []  # by number
        self._numbers: dict[str, int] = {}
        self._records = np.zeros(0, np.int64)
        self._bytes = np.zeros(0, np.int64)

    def numbered(self, queries: Sequence[str]) -> IntArray:
        """The number of each of these queries; one that was not there gets the next."""
        known = self._numbers
        fresh = list(dict.fromkeys(query for query in queries if query not in known))
        if fresh:
            known.update(zip(fresh, range(len(known), len(known) + len(fresh)), strict=True))
            self.names += fresh
            self._grow()
        return np.fromiter(map(known.__getitem__, queries), np.int32, len(queries))

    def number(self, query: str) -> int:
        """The number of one query; ten times quicker than an array of one."""
        number = self._numbers.setdefault(query, len(self.names))
        if number == len(self.names):
            self.names.append(query)
            self._grow()
        return number

    def add_records(self, numbers: IntArray | list[int], records: IntArray | int) -> None:
        """Count records of queries; of a query that occurs several times, each time."""
        np.add.at(self._records, numbers, records)

    def add_bytes(self, numbers: IntArray, sizes: IntArray) -> IntArray:
        """Count bytes of queries that are all different; what each of them has now."""
        self._bytes[numbers] += sizes
        return self._bytes[numbers]

    def records(self, numbers: IntArray) -> IntArray:
        """How many records queries have."""
        return self._records[numbers]

    def by_name(self) -> dict[str, int]:
        """How many records each query has, in the order of their numbers."""
        return dict(zip(self.names, self._records[: len(self.names)].tolist(), strict=True))

    def _grow(self) -> None:
        more = len(self.names) - len(self._records)
        if more > 0:
            more = max(more, len(self._records), _LEAST_GROWTH)
            self._records, self._bytes = _padded(self._records, more), _padded(self._bytes, more)


def _padded(sums: AnyArray, more: int) -> AnyArray:
    return np.concatenate([sums, np.zeros(more, sums.dtype)])
