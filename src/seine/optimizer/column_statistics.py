"""Statistics of one column from a sample: distinct values, NULLs, spread, the most common values.

Default selectivities of predicates, for when there is no sample of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Expression, Literal

COMMON = 20  # so many of the most common values are counted one by one
OFTEN = 3  # a value is common if the sample has it so often
QUANTILES = 10


@dataclass(frozen=True)
class ColumnStatistics:
    """Of a column of `rows` rows, as a sample of `count` of them shows it.

    `nulls` is a share of all rows, `common` has shares of all rows, by value; `quantiles` are the
    deciles from the smallest value to the largest, none if there is no value.
    """

    count: int
    rows: float
    distinct: float
    nulls: float
    quantiles: tuple[Any, ...] = ()
    common: Mapping[Any, float] = field(default_factory=dict)

    @property
    def low(self) -> Any:
        return self.quantiles[0] if self.quantiles else None

    @property
    def high(self) -> Any:
        return self.quantiles[-1] if self.quantiles else None


def describe_column(values: pa.Array, rows: float, *, deciles: bool = True) -> ColumnStatistics:
    """The statistics of a column of which a sample is given; without `deciles` its spread is left out.

    >>> found = describe_column(pa.array([5, 5, 5, 7, None]), 5)
    >>> found.distinct, found.nulls, found.low, found.high, found.common
    (2.0, 0.2, 5, 7, {5: 0.6})
    """
    count = len(values)
    known = values.drop_null()
    if not len(known):
        return ColumnStatistics(count, rows, 0.0, 1.0 if count else 0.0)
    counted = pc.value_counts(known)
    times = counted.field("counts").to_numpy()
    nulls = values.null_count / count
    return ColumnStatistics(
        count,
        rows,
        distinct_of(times, rows * (1 - nulls)),
        nulls,
        _quantiles(known) if deciles else (),
        _common(counted.field("values"), times, count),
    )


def distinct_of(times: npt.NDArray[np.int64], rows: float) -> float:
    """How many distinct values `rows` rows have, when a sample has its distinct values so often.

    The estimator Duj1 of Haas and Stokes: what the sample has once may stand for others.

    >>> distinct_of(np.array([2, 2, 1]), 5), round(distinct_of(np.ones(100), 10_000))
    (3.0, 10000)
    """
    sampled, once = float(times.sum()), float((times == 1).sum())
    if rows <= sampled:
        return float(len(times))
    estimate = sampled * len(times) / (sampled - once + once * sampled / rows)
    return min(max(estimate, float(len(times))), rows)


def join_selectivity(left: ColumnStatistics, right: ColumnStatistics) -> float:
    """The share of all pairs of rows whose keys are equal.

    Common values meet one another with the shares they have; the others are taken as evenly
    spread, and the keys of the side with fewer of them as all having partners on the other.
    """
    if not (left.count and right.count):
        return EQUAL
    met = sum(share * right.common[value] for value, share in left.common.items() if value in right.common)
    both = [value for value in left.common if value in right.common]
    rest = [side.distinct - len(both) for side in (left, right)]
    shares = [1 - side.nulls - sum(side.common[value] for value in both) for side in (left, right)]
    if min(shares) > 0 and max(rest) > 0:
        met += shares[0] * shares[1] / max(*rest, 1.0)
    return min(met, 1.0)


def _quantiles(known: pa.Array) -> tuple[Any, ...]:
    places = np.linspace(0, len(known) - 1, QUANTILES + 1).round().astype(np.int64)
    ordered = known.take(pc.sort_indices(known))
    return tuple(ordered.take(pa.array(places)).to_pylist())


def _common(values: pa.Array, times: npt.NDArray[np.int64], count: int) -> dict[Any, float]:
    first = np.argsort(-times, kind="stable")[:COMMON]
    first = first[times[first] >= OFTEN]
    shares = times[first] / count
    return dict(zip(values.take(pa.array(first)).to_pylist(), shares.tolist(), strict=True))


EQUAL = 0.1
RANGE = 0.3
LIKE = 0.25
UNKNOWN = 0.5

_BY_NAME = {
    "eq": EQUAL,
    "ne": 1 - EQUAL,
    "lt": RANGE,
    "le": RANGE,
    "gt": RANGE,
    "ge": RANGE,
    "like": LIKE,
    "rlike": LIKE,
    "is_null": EQUAL,
    "is_not_null": 1 - EQUAL,
}


def guess(predicate: Expression) -> float:
    """The share of rows that satisfy a predicate, by its form alone.

    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import INT
    >>> one = resolve_call("eq", [Column(0, INT), literal(1)])
    >>> guess(one), round(guess(Call("or", (one, one), one.type)), 2)
    (0.1, 0.19)
    """
    match predicate:
        case Literal(value):
            return 1.0 if value is True else 0.0
        case Call("and", args):
            return prod(map(guess, args))
        case Call("or", args):
            return 1 - prod(1 - guess(arg) for arg in args)
        case Call("not", (arg,)):
            return 1 - guess(arg)
        case Call("in", args):
            return min(EQUAL * (len(args) - 1), 1.0)
        case Call(name):
            return _BY_NAME.get(name, UNKNOWN)
    return UNKNOWN
