"""Interval join bounds: how long a row must be kept, by the time conditions of the join.

A condition `b.ts <= a.ts + 20` lets a row of `a` go when the watermark of `b` has passed a.ts + 20, whatever
its window. Of a join that several queries share the weakest condition counts, and where one of them has none,
none does. A younger query may ask for more than its elders: it counts tuples from its birth on only, and
those that have come since have been kept for it.

Law: no partner that starts at a row's `until` or later has its keys and satisfies a filter with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjuncts
from seine.algebra.linear import Terms, UpperBound, is_time, time_column, upper_bounds
from seine.graph.node import Filter
from seine.operators.match.any_of import Tables
from seine.rows.delta import FOREVER, NEVER

if TYPE_CHECKING:
    from seine.operators.join.join import JoinNode

_LARGEST_SUM = 2.0**62  # sums beyond it bound nothing
Bound = tuple[Terms, int]  # the sum of some columns, and what is added to it


@dataclass(frozen=True)
class Reach:
    """Partners start no later than each of `all_of` says, and no later than the latest of `any_of`.

    `any_of` is None if some filter has no bound.
    """

    all_of: tuple[Bound, ...]
    any_of: tuple[Bound, ...] | None

    @property
    def columns(self) -> set[int]:
        return {column for terms, _ in (*self.all_of, *(self.any_of or ())) for column, _ in terms}

    def until(self, batch: pa.RecordBatch, ends: AnyArray) -> AnyArray:
        """When rows are of no more use: at their end or before it."""
        for bound in self.all_of:
            ends = np.minimum(ends, after(batch, *bound))
        if self.any_of is None:
            return ends
        latest = np.full(len(ends), NEVER)
        for bound in self.any_of:
            latest = np.maximum(latest, after(batch, *bound))
        earliest: AnyArray = np.minimum(ends, latest)
        return earliest


def reaches(node: JoinNode, tables: Tables) -> list[Reach | None]:
    """For each side of a join how late partners of its rows may start; None where nothing bounds it."""
    return [reach(node, tables, side, node.times[1 - side]) for side in (0, 1)]


def reach(node: JoinNode, tables: Tables, side: int, place: int | None) -> Reach | None:
    """How large the column at a place of the other side is in partners of a side's rows."""
    if place is None:
        return None
    keys = [*zip(node.ports[side].key, node.ports[1 - side].key, strict=True)]
    all_of = [bound for mine, other in keys if (bound := _equal(mine, other, place))]
    width = len(node.ports[0].types)
    first, other_first = (0, width) if side == 0 else (width, 0)
    same = [(time_column(mine), time_column(other)) for mine, other in keys]
    alike = {other_first + b: first + a for a, b in same if a is not None and b is not None}
    waiting = _WaitingRow(other_first + place, first, first + len(node.ports[side].types), alike)
    bounds = [_weakest(filter_, tables, waiting) for filter_ in node.filters if len(tables[filter_.table])]
    any_of = tuple(dict.fromkeys(bound for bound in bounds if bound is not None))
    is_bounded = bool(bounds) and None not in bounds
    return Reach(tuple(all_of), any_of if is_bounded else None) if all_of or is_bounded else None


def _equal(mine: Expression, other: Expression, place: int) -> Bound | None:
    """The bound of a key that is a column and a constant, where the other side's is its time and another."""
    ours, theirs = shifted(mine), shifted(other)
    if ours is None or theirs is None or theirs[0] != place:
        return None
    return ((ours[0], 1),), ours[1] - theirs[1]


def shifted(expression: Expression) -> tuple[int, int] | None:
    """The column, and what is added to it.

    >>> from seine.algebra.types import BIGINT
    >>> shifted(Call("sub", (Column(2, BIGINT), Literal(5, BIGINT)), BIGINT))
    (2, -5)
    """
    match expression:
        case Call("add", (Column(index) as time, Literal(int(value)))) if is_time(time):
            return index, value
        case Call("sub", (Column(index) as time, Literal(int(value)))) if is_time(time):
            return index, -value
    column = time_column(expression)
    return None if column is None else (column, 0)


class _WaitingRow(NamedTuple):
    """The partner's time, and the columns [first, last) of the row that waits; keys make some alike."""

    time: int
    first: int
    last: int
    alike: Mapping[int, int] = MappingProxyType({})

    def terms_of_row(self, terms: Terms) -> Terms | None:
        """The columns of the row with their signs; None if there are others."""
        places = [self.alike.get(column, column) for column, _ in terms]
        if not all(self.first <= place < self.last for place in places):
            return None
        return tuple((place - self.first, sign) for place, (_, sign) in zip(places, terms, strict=True))


def _weakest(filter_: Filter, tables: Tables, waiting: _WaitingRow) -> Bound | None:
    """The bound on a time column that all rows of a filter's table obey; None if there is none."""
    for part in conjuncts(filter_.shape):
        for bound in upper_bounds(part):
            terms = waiting.terms_of_row(bound.terms) if bound.column == waiting.time else None
            most = None if terms is None else most_added(bound, filter_, tables)
            if terms is not None and most is not None:
                return terms, most
    return None


def most_added(bound: UpperBound, filter_: Filter, tables: Tables) -> int | None:
    """What a bound adds to its terms at most, in any row of a filter's table; None if that is not known."""
    if bound.constant is None:
        return 0
    if not isinstance(bound.constant, Parameter):
        return None
    values = [row[bound.constant.index] for row in tables[filter_.table].rows.values()]
    added = [bound.sign * value for value in values if isinstance(value, int)]
    return max(added) if added and len(added) == len(values) else None


def after(batch: pa.RecordBatch, terms: Terms, added: int) -> AnyArray:
    """The first instant after a sum of columns and a constant; beyond what 62 bits can hold it is never.

    A NULL allows no partner at all.
    """
    count = batch.num_rows
    total, size, known = np.zeros(count, np.int64), np.full(count, abs(float(added))), np.ones(count, bool)
    for column, weight in terms:
        values = batch[f"c{column}"]
        values = values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int64())
        numbers = pc.fill_null(values, 0).to_numpy()
        known &= values.is_valid().to_numpy(zero_copy_only=False)
        total = total + weight * numbers
        size = size + np.abs(weight * numbers.astype(float))
    sure = size < _LARGEST_SUM
    after = np.where(sure, total, 0) + (added + 1 if abs(added) < _LARGEST_SUM else 0)
    return np.where(known, np.where(sure, after, FOREVER), NEVER)
