"""How long a row of a join is of use: until no partner that its time conditions allow can come.

A condition `b.ts <= a.ts + 20` lets a row of `a` go when the watermark of `b` has passed a.ts + 20, whatever
its window. Of a join that several queries share the weakest condition counts, and where one of them has none,
none does. A younger query may ask for more than its elders: it counts tuples from its birth on only, and
those that have come since have been kept for it.

Law: no partner that starts at a row's `until` or later has its keys and satisfies a filter with it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjuncts
from seine.algebra.linear_names import coefficients_of
from seine.algebra.types import Kind, Type
from seine.network.nodes import Filter, JoinNode
from seine.operators.delta import FOREVER, NEVER
from seine.operators.parameters import Tables

_TIMES = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP)
_MOST = 2.0**62  # sums beyond it tell nothing
Terms = tuple[tuple[int, int], ...]  # columns, each with its weight
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

    def until(self, batch: pa.RecordBatch, ends: np.ndarray) -> np.ndarray:
        """When rows are of no more use: at their end or before it."""
        for bound in self.all_of:
            ends = np.minimum(ends, _after(batch, *bound))
        if self.any_of is None:
            return ends
        latest = np.full(len(ends), NEVER)
        for bound in self.any_of:
            latest = np.maximum(latest, _after(batch, *bound))
        return np.minimum(ends, latest)


def reaches(node: JoinNode, tables: Tables) -> list[Reach | None]:
    """For each side of a join how late partners of its rows may start; None where nothing tells."""
    return [_reach(node, tables, side) for side in (0, 1)]


def _reach(node: JoinNode, tables: Tables, side: int) -> Reach | None:
    place = node.times[1 - side]
    if place is None:
        return None
    keys = [*zip(node.ports[side].key, node.ports[1 - side].key, strict=True)]
    all_of = [bound for own, other in keys if (bound := _equal(own, other, place))]
    width = len(node.ports[0].types)
    first, other_first = (0, width) if side == 0 else (width, 0)
    alike = {
        other_first + other.index: first + own.index
        for own, other in keys
        if isinstance(own, Column) and isinstance(other, Column)
    }
    asked = _Asked(other_first + place, first, first + len(node.ports[side].types), alike)
    bounds = [_weakest(filter_, tables, asked) for filter_ in node.filters if len(tables[filter_.table])]
    any_of = tuple(dict.fromkeys(bound for bound in bounds if bound is not None))
    is_bounded = bool(bounds) and None not in bounds
    return Reach(tuple(all_of), any_of if is_bounded else None) if all_of or is_bounded else None


def _equal(own: Expression, other: Expression, place: int) -> Bound | None:
    """The bound of a key that is a column and a constant, where the other side's is its time and another."""
    ours, theirs = _shifted(own), _shifted(other)
    if ours is None or theirs is None or theirs[0] != place:
        return None
    return ((ours[0], 1),), ours[1] - theirs[1]


def _shifted(expression: Expression) -> tuple[int, int] | None:
    """The column, and what is added to it.

    >>> from seine.algebra.types import BIGINT
    >>> _shifted(Call("sub", (Column(2, BIGINT), Literal(5, BIGINT)), BIGINT))
    (2, -5)
    """
    match expression:
        case Column(index) if is_time(expression):
            return index, 0
        case Call("add", (Column(index) as column, Literal(int(value)))) if is_time(column):
            return index, value
        case Call("sub", (Column(index) as column, Literal(int(value)))) if is_time(column):
            return index, -value
    return None


class _Asked(NamedTuple):
    """The partner's time, and the columns [first, last) of the row that waits; keys make some alike."""

    time: int
    first: int
    last: int
    alike: Mapping[int, int] = MappingProxyType({})

    def terms(self, columns: Sequence[Column], weights: Sequence[int]) -> Terms | None:
        """The columns of the row with their weights; None if there are others beside the time."""
        rest = [(c, w) for c, w in zip(columns, weights, strict=True) if c.index != self.time]
        places = [self.alike.get(c.index, c.index) for c, _ in rest]
        if not rest or not all(self.first <= place < self.last for place in places):
            return None
        if not all(is_time(c) for c, _ in rest):
            return None
        return tuple((place - self.first, w) for place, (_, w) in zip(places, rest, strict=True))


def _weakest(filter_: Filter, tables: Tables, asked: _Asked) -> Bound | None:
    """The bound on a time column that all rows of a filter's table obey; None if there is none."""
    table = tables[filter_.table]
    for part in conjuncts(filter_.shape):
        if (found := _upper_bound(part, asked)) is not None:
            terms, sign, constant = found
            values = [0] if constant is None else [row[constant] for row in table.rows.values()]
            if all(isinstance(value, int) for value in values):
                return terms, max(sign * value for value in values)
    return None


def _upper_bound(part: Expression, asked: _Asked) -> tuple[Terms, int, int | None] | None:
    """Of a condition `time <= terms + sign * constant` the terms, the sign and the constant's place.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> term = Call("linear[1,-1]", (Column(2, BIGINT), Column(5, BIGINT)), BIGINT)
    >>> _upper_bound(Call("ge", (term, Parameter(0, BIGINT)), BOOLEAN), _Asked(5, 0, 3))
    (((2, 1),), -1, 0)
    """
    match part:
        case Call("eq", (Column() as one, Column() as other)) if asked.time in (one.index, other.index):
            terms = asked.terms((one, other), (1, 1))
            return None if terms is None else (terms, 1, None)
        case Call(op, (Call(name, args), Parameter(constant))):
            weights = coefficients_of(name)
            columns = [arg for arg in args if isinstance(arg, Column)]
            if weights is None or len(columns) != len(args):
                return None
            of_time = [w for c, w in zip(columns, weights, strict=True) if c.index == asked.time]
            if of_time not in ([1], [-1]) or not _bounds_above(op, of_time[0]):
                return None
            terms = asked.terms(columns, [-of_time[0] * w for w in weights])
            return None if terms is None else (terms, of_time[0], constant)
    return None


def upper_bound(part: Expression, time: int) -> tuple[int, int, int | None] | None:
    """Of a condition `time <= column + sign * constant` the column, the sign and the constant's place.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> term = Call("linear[1,-1]", (Column(2, BIGINT), Column(5, BIGINT)), BIGINT)
    >>> upper_bound(Call("ge", (term, Parameter(0, BIGINT)), BOOLEAN), 5)
    (2, -1, 0)
    """
    match _upper_bound(part, _Asked(time, 0, sys.maxsize)):
        case (((int(column), 1),), sign, constant):
            return column, sign, constant
    return None


def _bounds_above(op: str, weight: int) -> bool:
    """Whether time * weight + others `op` constant says how large the time is at most."""
    return op == "eq" or op in (("le", "lt") if weight > 0 else ("ge", "gt"))


def is_time(column: Column) -> bool:
    type_: Type = column.type
    return type_.kind in _TIMES


def after(batch: pa.RecordBatch, column: int, added: int) -> np.ndarray:
    """The first instant after a column's value plus a constant; a NULL allows no partner at all."""
    return _after(batch, ((column, 1),), added)


def _after(batch: pa.RecordBatch, terms: Terms, added: int) -> np.ndarray:
    """The same of a sum of columns; beyond what 62 bits can tell it is never."""
    count = batch.num_rows
    total, size, known = np.zeros(count, np.int64), np.full(count, abs(float(added))), np.ones(count, bool)
    for column, weight in terms:
        values = batch[f"c{column}"]
        values = values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int64())
        numbers = pc.fill_null(values, 0).to_numpy()
        known &= values.is_valid().to_numpy(zero_copy_only=False)
        total = total + weight * numbers
        size = size + np.abs(weight * numbers.astype(float))
    sure = size < _MOST
    after = np.where(sure, total, 0) + (added + 1 if abs(added) < _MOST else 0)
    return np.where(known, np.where(sure, after, FOREVER), NEVER)
