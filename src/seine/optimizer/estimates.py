"""Statistics of streams from samples of the data seen: row counts and selectivities of predicates.

Law: estimates are a function of the samples alone.

Cites: ARGUS 4 (historical data for estimating costs)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of, conjunction, conjuncts
from seine.algebra.plan import Lookup, Plan, Scan, walk
from seine.algebra.user_functions import calls_user_code
from seine.evaluate.evaluate import evaluate, truth
from seine.evaluate.kernels.spending import TooMuchWork, planning
from seine.optimizer.column_statistics import ColumnStatistics, describe_column, guess

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
