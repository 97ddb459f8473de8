"""The offline optimum of a memory-limited query over finite streams: a bound for every shedding policy.

All tuples of finite streams, admitted exactly as a run admits them: parsing, lateness, punctuations.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Expression
from seine.algebra.memory_limit import memory_limit
from seine.algebra.plan import Lookup, Plan, Query, Scan
from seine.archive.exact_join import ArchivedBlock, Places
from seine.errors import SeineError
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.intake.record_layout import RecordLayout
from seine.intake.relations import load_relation
from seine.network.plan.importance import importance_of
from seine.optimizer.block import Block, block_of
from seine.scratch_folder import scratch_folder
from seine.shedding.divided_windows import ExactCombinations
from seine.shedding.exact import ExactResults, find_optimum
from seine.shedding.several_windows import BestWindows, best_windows


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
        intake = Intake(streams, Journal(folder))
        try:
            while (entry := intake.next_entry()) is not None:
                for name in entry.rows:
                    pieces[name].append(entry.batch(name))
        finally:
            intake.close()
        return {stream.name: _whole(stream, pieces[stream.name]) for stream in streams}


def _whole(stream: StreamDef, pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    """All pieces of a stream as one batch."""
    schema = pa.schema([pa.field("_q", pa.int64()), *RecordLayout.of(stream).schema])
    none = pa.RecordBatch.from_pylist([], schema)
    return pa.concat_batches([none, *(piece.select(schema.names).cast(schema) for piece in pieces)])
