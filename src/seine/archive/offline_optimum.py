"""The offline optimum of a memory-limited query over finite streams: a bound for every shedding policy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import FloatArray, IntArray
from seine.algebra.expressions import Expression
from seine.algebra.memory_limit import memory_limit
from seine.algebra.plan import Lookup, Plan, Query, Scan
from seine.archive.admitted import admitted
from seine.archive.exact_join import ArchivedBlock, Places
from seine.errors import SeineError
from seine.intake.relations import load_relation
from seine.network.plan.importance import importance_of
from seine.optimizer.block import Block, block_of
from seine.shedding.exact import ExactResults
from seine.shedding.optimum import find_optimum


@dataclass(frozen=True)
class BestWindow:
    """The optimal window of one stream: each tuple's arrival number, and when it is held: [ts, until)."""

    alias: str
    number: IntArray
    ts: IntArray
    until: IntArray


@dataclass(frozen=True)
class ArchiveOptimum:
    """What a query emits at best with `capacity` tuples in each window, beside what it emits exactly."""

    query: str
    domain: str
    capacity: int
    importance: float
    outputs: int
    exact_importance: float
    exact_outputs: int
    windows: tuple[BestWindow, BestWindow]


def optimum_of(query: Query, by_outputs: bool = False) -> ArchiveOptimum:
    """Read the sources of a query to their end, and find the optimum of its memory limit.

    The optimum has the largest total importance or, with `by_outputs`, the most results.
    """
    block = block_of(query.plan)
    scans = _streams(query, block)
    if not by_outputs:
        _refuse_no_importance(query, block)
    capacity, how = _limit(query)
    streams = admitted(list({scan.stream.name: scan.stream for scan in scans}.values()))
    combining = ArchivedBlock(block, [_tuples(item, streams) for item in block.items])
    exact = _exact(query, block, combining, how)
    total = _total(query, exact.importance)
    left, right = combining.lives.values()
    wanted = replace(exact, importance=np.ones(len(exact.importance))) if by_outputs else exact
    best = find_optimum(wanted, (left[0], right[0]), capacity)
    kept = exact.reported(*best.until)
    windows = [
        BestWindow(scan.alias, streams[scan.stream.name].column("_q").to_numpy(), starts, until)
        for scan, (starts, _), until in zip(scans, (left, right), best.until, strict=True)
    ]
    return ArchiveOptimum(
        query.name,
        scans[0].stream.domain,
        capacity,
        fsum(exact.importance[kept].tolist()),
        best.outputs,
        total,
        len(exact.importance),
        (windows[0], windows[1]),
    )


def _limit(query: Query) -> tuple[int, str]:
    """How many tuples each of two windows may hold, and how importances are combined."""
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
    return limit.tuples // 2, limit.importance


def _streams(query: Query, block: Block) -> list[Scan]:
    """The two streams of a query; refuses queries whose optimum cannot be computed."""
    scans = [item for item in block.items if isinstance(item, Scan)]
    others = [item for item in block.items if not isinstance(item, Scan | Lookup)]
    if others or len(scans) != 2:
        what = "more than joins" if others else f"{len(scans)} stream{'s' * (len(scans) != 1)}"
        raise SeineError(
            f"the optimum is known for joins of two streams; query {query.name} has {what}",
            hint="two streams, joined directly or through relations",
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


def _exact(query: Query, block: Block, combining: ArchivedBlock, how: str) -> ExactResults:
    """The exact results of the query, with their importances."""
    combinations = combining.all()
    (left, left_lives), (right, right_lives) = combining.lives.items()
    lefts, rights = combinations[left], combinations[right]
    values = _importances(query, importance_of(block, how), combining, combinations)
    return ExactResults(lefts, rights, left_lives[0][lefts], right_lives[0][rights], values)


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
