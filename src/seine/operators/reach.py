"""How long a row of a join is of use: until no partner that its time conditions allow can come.

A condition `b.ts <= a.ts + 20` lets a row of `a` go when the watermark of `b` has passed a.ts + 20, whatever
its window. Of a join that several queries share the weakest condition counts, and where one of them has none,
none does. A younger query may ask for more than its elders: it counts tuples from its birth on only, and
those that have come since have been kept for it.

Law: no partner that starts at a row's `until` or later has its keys and satisfies a filter with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Column, Expression, Parameter, conjuncts
from seine.algebra.linear_names import coefficients_of
from seine.algebra.types import Kind, Type
from seine.network.nodes import Filter, JoinNode
from seine.operators.delta import FOREVER, NEVER
from seine.operators.parameters import Tables

_TIMES = (Kind.INT, Kind.BIGINT, Kind.TIMESTAMP)


@dataclass(frozen=True)
class Reach:
    """Partners start no later than each of `all_of` says, and no later than the latest of `any_of`.

    A bound is a column of the row and what is added to it; `any_of` is None if some filter has no bound.
    """

    all_of: tuple[tuple[int, int], ...]
    any_of: tuple[tuple[int, int], ...] | None

    @property
    def columns(self) -> set[int]:
        return {column for column, _ in (*self.all_of, *(self.any_of or ()))}

    def until(self, batch: pa.RecordBatch, ends: np.ndarray) -> np.ndarray:
        """When rows are of no more use: at their end or before it."""
        for bound in self.all_of:
            ends = np.minimum(ends, after(batch, *bound))
        if self.any_of is None:
            return ends
        latest = np.full(len(ends), NEVER)
        for bound in self.any_of:
            latest = np.maximum(latest, after(batch, *bound))
        return np.minimum(ends, latest)


def reaches(node: JoinNode, tables: Tables) -> list[Reach | None]:
    """For each side of a join how late partners of its rows may start; None where nothing tells."""
    return [_reach(node, tables, side) for side in (0, 1)]


def _reach(node: JoinNode, tables: Tables, side: int) -> Reach | None:
    place = node.times[1 - side]
    if place is None:
        return None
    keys = zip(node.ports[side].key, node.ports[1 - side].key, strict=True)
    all_of = [
        (own.index, 0)
        for own, other in keys
        if isinstance(own, Column) and is_time(own) and isinstance(other, Column) and other.index == place
    ]
    width = len(node.ports[0].types)
    time = place if side == 1 else place + width
    bounds = [_weakest(filter_, tables, time) for filter_ in node.filters if len(tables[filter_.table])]
    any_of = tuple(dict.fromkeys((b[0] - side * width, b[1]) for b in bounds if b is not None))
    is_bounded = bool(bounds) and None not in bounds
    return Reach(tuple(all_of), any_of if is_bounded else None) if all_of or is_bounded else None


def _weakest(filter_: Filter, tables: Tables, time: int) -> tuple[int, int] | None:
    """The bound on a time column that all rows of a filter's table obey; None if there is none."""
    table = tables[filter_.table]
    for part in conjuncts(filter_.shape):
        if (found := upper_bound(part, time)) is not None:
            column, sign, constant = found
            values = [0] if constant is None else [row[constant] for row in table.rows.values()]
            if all(isinstance(value, int) for value in values):
                return column, max(sign * value for value in values)
    return None


def upper_bound(part: Expression, time: int) -> tuple[int, int, int | None] | None:
    """Of a condition `time <= column + sign * constant` the column, the sign and the constant's place.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> term = Call("linear[1,-1]", (Column(2, BIGINT), Column(5, BIGINT)), BIGINT)
    >>> upper_bound(Call("ge", (term, Parameter(0, BIGINT)), BOOLEAN), 5)
    (2, -1, 0)
    """
    match part:
        case Call("eq", (Column() as one, Column() as other)) if time in (one.index, other.index):
            own = other if one.index == time else one
            return (own.index, 1, None) if is_time(own) else None
        case Call(op, (Call(name, (Column() as one, Column() as other)), Parameter(constant))):
            for (own, partner), weights in _orders((one, other), coefficients_of(name)):
                if partner.index == time and is_time(own) and _bounds_above(op, weights):
                    return own.index, weights[1], constant
    return None


def _orders(
    pair: tuple[Column, Column], weights: Sequence[int] | None
) -> Iterator[tuple[tuple[Column, Column], tuple[int, int]]]:
    """A difference of two columns, either of them first."""
    if weights is not None and sorted(weights) == [-1, 1]:
        yield pair, (weights[0], weights[1])
        yield (pair[1], pair[0]), (weights[1], weights[0])


def _bounds_above(op: str, weights: tuple[int, int]) -> bool:
    """Whether own * w0 + partner * w1 `op` constant says how large the partner is at most."""
    return op == "eq" or op in (("le", "lt") if weights[1] > 0 else ("ge", "gt"))


def is_time(column: Column) -> bool:
    type_: Type = column.type
    return type_.kind in _TIMES


def after(batch: pa.RecordBatch, column: int, added: int) -> np.ndarray:
    """The first instant after a column's value plus a constant; a NULL allows no partner at all."""
    values = batch[f"c{column}"]
    values = values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int64())
    numbers = pc.fill_null(values, NEVER).to_numpy()
    step = added + 1
    if step >= 0:
        return np.where(numbers > FOREVER - step, FOREVER, numbers + min(step, FOREVER))
    return np.where(numbers < NEVER - step, NEVER, numbers + max(step, NEVER))
