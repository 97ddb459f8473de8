"""Cardinality estimation: how many rows of a plan are alive at once, and the selectivity of conditions.

Cites: ARGUS 4 (historical data for estimating costs)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of, conjunction, conjuncts
from seine.algebra.plan import Aggregate, Join, Lookup, Plan, Project, Scan, Select, UnionAll
from seine.algebra.user_functions import calls_user_code
from seine.evaluate.evaluate import evaluate, truth
from seine.evaluate.kernels.spending import TooMuchWork, planning
from seine.optimizer.block import Block
from seine.optimizer.column_statistics import ColumnStatistics, describe_column, join_selectivity
from seine.optimizer.estimates import Estimates, Sample, readable
from seine.optimizer.guesses import guess
from seine.optimizer.item_equalities import Sides

UNKNOWN_ROWS = 1_000.0  # of a stream or relation that nothing is known of
SAMPLED_PAIRS = 2_000  # combinations on which a condition over several items is tried


@dataclass(frozen=True)
class RowEstimate:
    """The rows of a plan that are alive at once: how many, and a sample of them if there is one."""

    rows: float
    columns: tuple[pa.Array, ...] = ()
    count: int = 0

    def key(self, expression: Expression) -> ColumnStatistics:
        """The statistics of a key over these rows; without a sample nothing but their number.

        Joins need no spread.
        """
        if not self.count or not readable(expression, list(self.columns)):
            return ColumnStatistics(0, self.rows, 0.0, 0.0)
        try:
            with planning().counting():
                values = evaluate(expression, self.columns, self.count)
        except TooMuchWork:
            return ColumnStatistics(0, self.rows, 0.0, 0.0)
        return describe_column(values, self.rows, deciles=False)


def rows_of(plan: Plan, estimates: Estimates) -> RowEstimate:
    """What is known of a plan's rows. Selections and projections of a stream run on its sample."""
    match plan:
        case Scan(stream, _):
            return _sampled(estimates.samples.get(stream.name), stream.window, len(stream.fields))
        case Lookup(relation, _):
            return _sampled(estimates.samples.get(relation.name), None, len(relation.fields))
        case Select(input, predicate):
            return _selected(rows_of(input, estimates), predicate)
        case Project(input, expressions, _):
            return _projected(rows_of(input, estimates), expressions)
        case Join(left, right, predicate):
            each = [rows_of(side, estimates).rows for side in (left, right)]
            return RowEstimate(each[0] * each[1] * (guess(predicate) if predicate is not None else 1.0))
        case Aggregate(input, keys, _, _):
            return RowEstimate(_groups(rows_of(input, estimates), keys))
        case UnionAll(branches):
            return RowEstimate(sum(rows_of(branch, estimates).rows for branch in branches))
    return RowEstimate(max(rows_of(child, estimates).rows for child in plan.inputs))


def key_selectivity(sides: Sides, items: Sequence[RowEstimate]) -> float:
    """The share of pairs of two items whose keys are equal, by distinct and common values."""
    (one, left), (other, right) = sides
    return join_selectivity(items[one].key(left), items[other].key(right))


def condition_selectivity(block: Block, number: int, items: Sequence[RowEstimate]) -> float:
    """The share of combinations that satisfy one condition of a block, tried on those of sampled rows."""
    condition = block.conditions[number]
    reads = sorted(block.reads[number])
    if not reads or any(not items[item].count for item in reads) or calls_user_code(condition):
        return guess(condition)
    columns: list[pa.Array | None] = [None] * block.offsets[-1]
    for place, item in enumerate(reads):
        chosen = _combined(place, items[item].count)
        for index, column in enumerate(items[item].columns):
            columns[block.offsets[item] + index] = column.take(chosen)
    if any(columns[index] is None for index in columns_of(condition)):
        return guess(condition)
    try:
        with planning().counting():
            hits = int(truth(condition, columns, SAMPLED_PAIRS).sum())
    except TooMuchWork:
        return guess(condition)
    return (hits + guess(condition)) / (SAMPLED_PAIRS + 1)


def _sampled(sample: Sample | None, window: int | None, width: int) -> RowEstimate:
    if sample is None:
        return RowEstimate(UNKNOWN_ROWS)
    return RowEstimate(sample.alive(window), tuple(sample.rows.columns[:width]), sample.rows.num_rows)


def _selected(rows: RowEstimate, predicate: Expression) -> RowEstimate:
    if not rows.count:
        return replace(rows, rows=rows.rows * guess(predicate))
    known_parts = conjunction([part for part in conjuncts(predicate) if readable(part, list(rows.columns))])
    if known_parts is None:
        return rows
    try:
        with planning().counting():
            chosen = np.flatnonzero(truth(known_parts, rows.columns, rows.count))
    except TooMuchWork:
        return replace(rows, rows=rows.rows * guess(known_parts))
    taken = pa.array(chosen)
    return RowEstimate(
        rows.rows * (len(chosen) + guess(known_parts)) / (rows.count + 1),
        tuple(column.take(taken) for column in rows.columns),
        len(chosen),
    )


def _projected(rows: RowEstimate, expressions: Sequence[Expression]) -> RowEstimate:
    if not all(readable(expression, list(rows.columns)) for expression in expressions):
        return RowEstimate(rows.rows)
    try:
        with planning().counting():
            columns = tuple(evaluate(expression, rows.columns, rows.count) for expression in expressions)
    except TooMuchWork:
        return RowEstimate(rows.rows)
    return RowEstimate(rows.rows, columns, rows.count)


def _groups(rows: RowEstimate, keys: Sequence[Expression]) -> float:
    """At most every combination of key values, at most every row."""
    groups = 1.0
    for key in keys:
        stats = rows.key(key)
        groups *= (stats.distinct + (stats.nulls > 0)) if stats.count else max(rows.rows * 0.1, 1.0)
    return min(groups, max(rows.rows, 1.0))


def _combined(place: int, count: int) -> pa.Array:
    """Which rows of the item at a place take part: the same every time, and each item by itself."""
    return pa.array(np.random.default_rng(place).integers(0, count, SAMPLED_PAIRS))
