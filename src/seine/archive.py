"""The offline optimum of a memory-limited query over finite streams: a bound for every shedding policy.

All tuples of finite streams, admitted exactly as a run admits them: parsing, lateness, punctuations.

A batch multi-way window join: every combination of tuples that a block of joins emits, by hash joins.

    SELECT ... FROM r, s, edges WHERE r.k = edges.a AND edges.b = s.k

is evaluated left-deep: a stream first, then the items that equal keys lead to, relations first. A join of two
streams is also by time: tuples are hashed by a slab of time as long as the longest lifetime, and probe their
own slab and its neighbours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, FloatArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Expression
from seine.algebra.plan import Lookup, Plan, Query, Scan
from seine.algebra.star import memory_limit
from seine.errors import SeineError
from seine.evaluate.evaluate import evaluate, truth
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.intake.record_layout import RecordLayout
from seine.intake.relations import load_relation
from seine.network.plan.output_form import importance_of
from seine.operators.state.relation_index import RelationIndex
from seine.optimizer.block import Block, block_of
from seine.optimizer.equalities import is_equality, one_type
from seine.rows.delta import FOREVER
from seine.scratch_folder import scratch_folder
from seine.shedding.exact import ExactResults, find_optimum
from seine.shedding.several_windows import BestWindows, ExactCombinations, best_windows
from seine.storage.local import LocalStore

Places = dict[int, IntArray]  # for each item joined so far, the place of its tuple in each combination
Key = tuple[Expression, Expression]  # equal sides: over the items joined so far, and over the next one


@dataclass(frozen=True)
class BestWindow:
    """The optimal window of one stream: each tuple's arrival number, and when it is held: [ts, until)."""

    alias: str
    number: IntArray
    ts: IntArray
    until: IntArray


@dataclass(frozen=True)
class ArchiveOptimum:
    """What a query emits at best with `capacity` tuples in each window, beside what it emits exactly.

    `bound` is what no choice of tuples exceeds: of importance, or of outputs if these were to be most. It is
    reached where the best choice is proved to be it: always of two streams, and of small joins of more.
    """

    query: str
    domain: str
    capacity: int
    importance: float
    outputs: int
    exact_importance: float
    exact_outputs: int
    bound: float
    is_proved: bool
    windows: tuple[BestWindow, ...]


def optimum_of(query: Query, by_outputs: bool = False) -> ArchiveOptimum:
    """Read the sources of a query to their end, and find the optimum of its memory limit.

    The optimum has the largest total importance or, with `by_outputs`, the most results.
    """
    block = block_of(query.plan)
    scans = _streams(query, block)
    if not by_outputs:
        _refuse_no_importance(query, block)
    capacity, how = _limit(query, len(scans))
    streams = admitted(list({scan.stream.name: scan.stream for scan in scans}.values()))
    combining = ArchivedBlock(block, [_tuples(item, streams) for item in block.items])
    exact = _exact(query, block, combining, how)
    total = _total(query, exact.importance)
    wanted = replace(exact, importance=np.ones(len(exact.importance))) if by_outputs else exact
    best = _best_choice(wanted, capacity)
    kept = exact.reported(best.until)
    windows = [
        BestWindow(scan.alias, streams[scan.stream.name].column("_q").to_numpy(), starts, until)
        for scan, starts, until in zip(scans, exact.starts, best.until, strict=True)
    ]
    return ArchiveOptimum(
        query.name,
        scans[0].stream.domain,
        capacity,
        fsum(exact.importance[kept].tolist()),
        int(kept.sum()),
        total,
        len(exact.importance),
        float(best.bound),
        best.bound == best.importance,
        tuple(windows),
    )


def _best_choice(wanted: ExactCombinations, capacity: int) -> BestWindows:
    """What windows hold at best: windows of two streams one by one, of more together."""
    if len(wanted.starts) > 2:
        return best_windows(wanted, capacity)
    (left, right), (left_starts, right_starts) = wanted.places, wanted.starts
    pairs = ExactResults(left, right, left_starts[left], right_starts[right], wanted.importance)
    best = find_optimum(pairs, (left_starts, right_starts), capacity)
    importance = Fraction(best.importance)
    return BestWindows(importance, importance, best.until)


def _limit(query: Query, streams: int) -> tuple[int, str]:
    """How many tuples each window may hold, and how importances are combined."""
    limit = memory_limit(query)
    if limit is None:
        raise SeineError(
            f"query {query.name} has no memory limit, so its answer is exact",
            hint="CREATE QUERY ... WITH (memory = n) AS ...",
        )
    if limit.tuples is None:
        raise SeineError(
            f"the memory of query {query.name} is in bytes; the optimum needs a number of tuples",
            hint="memory = 1000 counts tuples",
        )
    return limit.tuples // streams, limit.importance


def _streams(query: Query, block: Block) -> list[Scan]:
    """The streams of a query; refuses queries whose optimum cannot be computed."""
    scans = [item for item in block.items if isinstance(item, Scan)]
    others = [item for item in block.items if not isinstance(item, Scan | Lookup)]
    if others or len(scans) < 2:
        what = "more than joins" if others else f"{len(scans)} stream{'s' * (len(scans) != 1)}"
        raise SeineError(
            f"the optimum is known for joins of streams; query {query.name} has {what}",
            hint="two streams or more, joined directly or through relations",
        )
    return scans


def _refuse_no_importance(query: Query, block: Block) -> None:
    if importance_of(block, "min") is None:
        raise SeineError(
            f"no stream of query {query.name} has an importance",
            hint="CREATE STREAM ... IMPORTANCE BY column, or ask for the most results: --by outputs",
        )


def _tuples(item: Plan, streams: dict[str, pa.RecordBatch]) -> pa.RecordBatch:
    """All tuples of a stream or a relation."""
    if isinstance(item, Scan):
        return streams[item.stream.name]
    assert isinstance(item, Lookup)
    return load_relation(item.relation)[0]


def _exact(query: Query, block: Block, combining: ArchivedBlock, how: str) -> ExactCombinations:
    """The exact results of the query, with their importances."""
    combinations = combining.all()
    values = _importances(query, importance_of(block, how), combining, combinations)
    places = tuple(combinations[item] for item in combining.lives)
    return ExactCombinations(places, tuple(starts for starts, _ in combining.lives.values()), values)


def _importances(
    query: Query, importance: Expression | None, combining: ArchivedBlock, combinations: Places
) -> FloatArray:
    """The importance of each result; 1 if no stream has IMPORTANCE BY."""
    if importance is None:
        return np.ones(len(next(iter(combinations.values()))))
    values = combining.values(importance, combinations)
    if values.null_count:
        raise SeineError(f"the importance of a result of query {query.name} is beyond all numbers")
    importances: FloatArray = values.to_numpy()
    return importances


def _total(query: Query, importances: FloatArray) -> float:
    """The sum of importances, correctly rounded."""
    try:
        return fsum(importances.tolist())
    except OverflowError as error:
        raise SeineError(f"the importances of query {query.name} add up to more than any number") from error


def admitted(streams: Sequence[StreamDef]) -> dict[str, pa.RecordBatch]:
    """For each stream its tuples as `_q` (arrival number), c0, c1, ..; rejected lines are left out."""
    pieces: dict[str, list[pa.RecordBatch]] = {stream.name: [] for stream in streams}
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        intake = Intake(streams, Journal(LocalStore(folder)))
        try:
            while (entry := intake.next_entry()) is not None:
                batches = ((name, entry.batch(name)) for name in entry.rows)
                for name, batch in batches:
                    if batch is not None:
                        pieces[name].append(batch)
        finally:
            intake.close()
        return {stream.name: _whole(stream, pieces[stream.name]) for stream in streams}


def _whole(stream: StreamDef, pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    """All pieces of a stream as one batch."""
    schema = pa.schema([pa.field("_q", pa.int64()), *RecordLayout.of(stream).schema])
    none = pa.RecordBatch.from_pylist([], schema)
    return pa.concat_batches([none, *(piece.select(schema.names).cast(schema) for piece in pieces)])


class ArchivedBlock:
    """A block of streams and relations, and all of their tuples as batches with columns c0, c1, ...

    Law: `all()` gives the combinations of one tuple of each item that satisfy the block's conditions and in
    which the lifetimes [ts, ts + window) of the stream tuples overlap.
    """

    def __init__(self, block: Block, batches: Sequence[pa.RecordBatch]) -> None:
        self._block = block
        self._batches = batches
        self.lives = {
            number: _lives(item, batches[number])
            for number, item in enumerate(block.items)
            if isinstance(item, Scan)
        }
        self._width = max(_longest(*lives) for lives in self.lives.values())

    def all(self) -> Places:
        """All combinations of the block."""
        first, *streams = self.lives
        relations = [number for number in range(len(self._batches)) if number not in self.lives]
        combinations = self._holding({first: np.arange(self._batches[first].num_rows)})
        while len(combinations) < len(self._batches):
            left = [number for number in (*relations, *streams) if number not in combinations]
            linked = [number for number in left if self._keys(combinations, number)]
            combinations = self._joined(combinations, (linked or left)[0])
        return combinations

    def values(self, expression: Expression, combinations: Places) -> pa.Array:
        """The value of an expression over the columns of all items, in each combination."""
        return evaluate(expression, _Columns(self._block, self._batches, combinations), _count(combinations))

    def _joined(self, combinations: Places, number: int) -> Places:
        """Join the combinations so far with one more item."""
        pieces = [
            self._holding({**{item: places[rows] for item, places in combinations.items()}, number: partners})
            for rows, partners in self._candidates(combinations, number)
        ]
        items = [*combinations, number]
        none = np.zeros(0, np.int64)
        return {item: np.concatenate([none, *(piece[item] for piece in pieces)]) for item in items}

    def _candidates(self, combinations: Places, number: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (combination, tuple of the next item) of equal keys, of streams near in time; in chunks."""
        keys = self._keys(combinations, number)
        next_item = {number: np.arange(self._batches[number].num_rows)}
        build_keys = [self.values(expression, next_item) for _, expression in keys]
        probe_keys = [self.values(expression, combinations) for expression, _ in keys]
        met = next((item for item in combinations if item in self.lives), None)
        if number not in self.lives or met is None:
            index = RelationIndex(self._batches[number], build_keys)
            yield from index.candidates(probe_keys, _count(combinations))
            return
        index = RelationIndex(self._batches[number], [*build_keys, self._slab(number, next_item)])
        slabs = self._slab(met, combinations)
        for shift in (-1, 0, 1):
            yield from index.candidates([*probe_keys, pc.add(slabs, shift)], _count(combinations))

    def _slab(self, number: int, combinations: Places) -> pa.Array:
        """The slab of time that a stream tuple begins in, each as long as the longest lifetime.

        Law: tuples whose lifetimes overlap begin in the same slab or in neighbours.
        """
        return pa.array(self.lives[number][0][combinations[number]] // self._width)

    def _keys(self, combinations: Places, number: int) -> list[Key]:
        """The equalities between what is joined so far and the next item."""
        keys = []
        for condition in filter(is_equality, self._block.conditions):
            sides = [self._block.items_of(side) for side in condition.args]
            left, right = one_type(*condition.args)
            if sides[1] == {number} and sides[0] and sides[0] <= combinations.keys():
                keys.append((left, right))
            elif sides[0] == {number} and sides[1] and sides[1] <= combinations.keys():
                keys.append((right, left))
        return keys

    def _holding(self, combinations: Places) -> Places:
        """The combinations that have a lifetime and satisfy every condition on the items joined so far."""
        mask = self._alive(combinations)
        columns = _Columns(self._block, self._batches, combinations)
        for condition, reads in zip(self._block.conditions, self._block.reads, strict=True):
            if reads <= combinations.keys():
                mask &= truth(condition, columns, len(mask))
        return {item: places[mask] for item, places in combinations.items()}

    def _alive(self, combinations: Places) -> BoolArray:
        """The combinations whose lifetimes overlap."""
        streams = [(self.lives[item], places) for item, places in combinations.items() if item in self.lives]
        starts = np.maximum.reduce([begin[places] for (begin, _), places in streams])
        ends = np.minimum.reduce([end[places] for (_, end), places in streams])
        alive: BoolArray = starts < ends
        return alive


class _Columns:
    """The columns of combinations, all items side by side, each gathered when it is read."""

    def __init__(self, block: Block, batches: Sequence[pa.RecordBatch], combinations: Places) -> None:
        self._block, self._batches, self._combinations = block, batches, combinations

    def __getitem__(self, index: int) -> pa.Array:
        item = self._block.owner(index)
        column = self._batches[item].column(f"c{index - self._block.offsets[item]}")
        return pc.take(column, pa.array(self._combinations[item]))


def _lives(scan: Scan, batch: pa.RecordBatch) -> tuple[IntArray, IntArray]:
    """The lifetimes of the tuples of a stream: starts and ends."""
    starts = batch.column(f"c{scan.stream.time}").view(pa.int64()).to_numpy()
    window = FOREVER if scan.stream.window is None else scan.stream.window
    return starts, np.where(starts > FOREVER - window, FOREVER, starts + window)


def _longest(starts: IntArray, ends: IntArray) -> int:
    """A bound of all lifetimes, at least 1; open ones are cut at the last start of the stream."""
    if not len(starts):
        return 1
    span = int(starts.max()) - int(starts.min()) + 1
    lives = np.minimum(ends - starts.min(), span) - (starts - starts.min())
    return max(1, int(lives.max()))


def _count(combinations: Places) -> int:
    return len(next(iter(combinations.values())))
