"""Statistics of streams from samples of the data seen: row counts and selectivities of predicates.

Law: estimates are a function of the samples alone.

Cites: ARGUS 4 (historical data for estimating costs)

Statistics of one column from a sample: distinct values, NULLs, spread, the most common values.

Default selectivities of predicates, for when there is no sample of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Call, Expression, Literal, columns_of, conjunction, conjuncts
from seine.algebra.plan import Lookup, Plan, Scan, walk
from seine.algebra.user_functions import calls_user_code
from seine.evaluate.evaluate import evaluate, truth
from seine.evaluate.kernels.spending import TooMuchWork, planning

_FEWEST_OPEN = 0.01  # of the values of a scheme, that are taken not to be punctuated yet


@dataclass(frozen=True)
class Sample:
    """Some rows of a stream or relation, c0, c1, .., and how many rows they stand for.

    `rate` is how many of them begin in one unit of event time; None for a relation. `punctuations` are how
    many have come of each scheme.
    """

    rows: pa.RecordBatch
    seen: float
    rate: float | None = None
    punctuations: Mapping[int, int] = field(default_factory=dict)

    def alive(self, window: int | None) -> float:
        """How many rows are alive at once: what a join has to hold."""
        if window is None or self.rate is None:
            return self.seen
        return min(self.seen, self.rate * window)


@dataclass(frozen=True)
class Estimates:
    """Samples by name of stream or relation.

    A share that a sample shows is (hits + guess) / (rows + 1): it tends to the guess without
    data, and nothing is taken as impossible because a sample lacks it.
    """

    samples: Mapping[str, Sample]
    _columns: dict[tuple[str, int], ColumnStatistics] = field(default_factory=dict, compare=False, repr=False)

    _shares: dict[tuple[str, int, tuple[Expression, ...]], float] = field(
        default_factory=dict, compare=False, repr=False
    )

    def rows(self, stream: str) -> float | None:
        """How many rows have been seen; None if nothing is known."""
        sample = self.samples.get(stream)
        return sample.seen if sample is not None else None

    def knows(self, plan: Plan) -> bool:
        """Whether anything is known of the data that a plan reads."""
        leaves = (part for part in walk(plan) if isinstance(part, Scan | Lookup))
        names = (part.stream.name if isinstance(part, Scan) else part.relation.name for part in leaves)
        return any(name in self.samples for name in names)

    def column(self, stream: str, index: int) -> ColumnStatistics:
        """The statistics of one column, computed when first asked for."""
        key = (stream, index)
        if key not in self._columns:
            sample = self.samples[stream]
            self._columns[key] = describe_column(sample.rows.column(index), sample.seen)
        return self._columns[key]

    def punctuations(self, stream: str, scheme: int) -> float:
        """How many punctuations of a scheme have come."""
        sample = self.samples.get(stream)
        return 0.0 if sample is None else float(sample.punctuations.get(scheme, 0))

    def open_share(self, stream: str, scheme: int, columns: Sequence[int]) -> float:
        """The share of the values of a scheme's columns that have not been punctuated; 1 if nothing is known.

        >>> sample = Sample(pa.record_batch({"c0": [1, 2, 3, 4]}), 4, 1.0, {0: 3})
        >>> Estimates({"s": sample}).open_share("s", 0, [0]), Estimates({}).open_share("s", 0, [0])
        (0.25, 1.0)
        """
        sample = self.samples.get(stream)
        if sample is None or not sample.rows.num_rows or max(columns) >= sample.rows.num_columns:
            return 1.0
        distinct = min(sample.seen, prod(max(self.column(stream, c).distinct, 1.0) for c in columns))
        return max(1 - self.punctuations(stream, scheme) / max(distinct, 1.0), _FEWEST_OPEN)

    def selectivity(self, stream: str, predicate: Expression) -> float:
        """The share of a stream's rows that satisfy a predicate.

        >>> from seine.algebra.expressions import Column
        >>> from seine.algebra.functions import literal, resolve_call
        >>> from seine.algebra.types import BIGINT
        >>> few = Estimates({"s": Sample(pa.record_batch({"c0": list(range(99))}), 99)})
        >>> small = resolve_call("lt", [Column(0, BIGINT), literal(20)])
        >>> few.selectivity("s", small), few.selectivity("t", small)
        (0.203, 0.3)
        """
        sample = self.samples.get(stream)
        if sample is None:
            return guess(predicate)
        return share(predicate, sample.rows.columns, sample.rows.num_rows)

    def change_share(self, stream: str, time: int, keys: Sequence[Expression]) -> float | None:
        """How many groups by these keys change at an instant, for each row that comes then; None if unknown.

        Instants lie as far apart as the sample's have in common; `time` is the position of the timestamp.

        >>> from seine.algebra.expressions import Column
        >>> from seine.algebra.types import BIGINT
        >>> days = pa.record_batch({"c0": [1, 1, 2, 2], "c1": [10, 20, 20, 30]})
        >>> busy, calm = (Estimates({"s": Sample(days, 99, rate)}) for rate in (0.8, 0.01))
        >>> busy.change_share("s", 1, [Column(0, BIGINT)]), calm.change_share("s", 1, [Column(0, BIGINT)])
        (0.2490234375, 1.0)
        """
        sample = self.samples.get(stream)
        if sample is None or sample.rate is None or not sample.rows.num_rows:
            return None
        if not all(readable(key, sample.rows.columns) for key in keys):
            return None
        known = (stream, time, tuple(keys))
        if known not in self._shares:
            self._shares[known] = _change_share(sample.rows, sample.rate, time, keys)
        return self._shares[known]


def _change_share(sample: pa.RecordBatch, rate: float, time: int, keys: Sequence[Expression]) -> float:
    rows = rate * _step(sample.column(time))
    if rows <= 1:
        return 1.0
    try:
        with planning().counting():
            values = {f"k{i}": evaluate(key, sample.columns, sample.num_rows) for i, key in enumerate(keys)}
    except TooMuchWork:
        return 1.0
    groups: int = pa.table(values).group_by(list(values)).aggregate([]).num_rows
    changed: float = groups * (1 - (1 - 1 / groups) ** rows) / rows
    return min(1.0, changed)


def _step(times: pa.Array) -> int:
    """The distance that all instants have in common."""
    plain = times.view(pa.int32() if times.type.bit_width == 32 else pa.int64()).drop_null()
    return max(1, int(np.gcd.reduce(np.diff(np.unique(plain.to_numpy())), initial=0)))


def share(predicate: Expression, columns: list[pa.Array], count: int) -> float:
    """The share of rows that satisfy a predicate, by a sample of `count` of them.

    A sample may lack the last columns of a row: the arrival, which a running network adds. What
    is asked of those is taken to hold, as it does for all rows that come after a registration.
    """
    known_parts = conjunction([part for part in conjuncts(predicate) if readable(part, columns)])
    if known_parts is None:
        return 1.0
    try:
        with planning().counting():
            hits = int(truth(known_parts, columns, count).sum())
    except TooMuchWork:
        return guess(known_parts)
    return (hits + guess(known_parts)) / (count + 1)


def readable(expression: Expression, columns: list[pa.Array]) -> bool:
    """Whether a sample tells the values of an expression: it has its columns, and no user's function."""
    known = all(index < len(columns) for index in columns_of(expression))
    return known and not calls_user_code(expression)


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
