"""Compiles aggregate calls: which folds (accumulators) each needs, and how its result comes from them.

    AVG(x)     folds COUNT(x), SUM(x)               finish: sum / count
    STDDEV(x)  folds COUNT(x), SUM(x), SUM(x * x)   finish: square root of the variance

Calls of one node that need the same fold share it.

Doubles rounded to a few significant bits: the cells of a histogram with a bounded relative error.

Of each power of two there are 128 cells, as in an HDR histogram, so every value is within 0.4 % of the value
of its cell, and there are finitely many: what is held for a group is bounded. Rounding never changes the
order of two values, so a quantile of rounded values is the rounded quantile; and it does not depend on the
order in which values come and go, as the buffers of other sketches (KLL, t-digest) do.

COUNT: a counter that goes up with every value that appears and down with every one that leaves.

BIT_AND, BIT_OR and BIT_XOR of the numbers of a group.

Law: the result is that of the live rows. A change costs the values of its group; where no row ends, one
number is kept.

COLLECT_LIST and COLLECT_SET: the values of a group as a JSON array, in the order of their order keys.

Law: the list is that of the live rows, sorted; a set has of equal values the first. A change costs the values
of its group, as the list has all of them.

SKEWNESS and KURTOSIS: the third and the fourth moment of the values of a group around their mean.

Law: with m_k the mean of (x - mean)**k, the skewness is m_3 / m_2**1.5 and the kurtosis m_4 / m_2**2 - 3;
sums are rounded once, so they depend on the live values alone. A change costs the values of its group.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.aggregates import FoldedAggregate
from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.plan import AggregateCall
from seine.algebra.types import DOUBLE, Kind, Type
from seine.operators.aggregates import finish
from seine.operators.aggregates.argument import Argument
from seine.operators.aggregates.extreme import Extreme, LastingExtreme
from seine.operators.aggregates.fold import Changes, Fold, FoldState
from seine.operators.aggregates.level_counts import LevelCounts, cells_of
from seine.operators.aggregates.limbs import (
    DOUBLE_UNIT,
    split_decimals,
    split_doubles,
    split_integers,
    split_products,
    split_squares,
    whole_decimals,
    whole_integers,
)
from seine.operators.aggregates.order_statistics import Mode, Quantile
from seine.operators.aggregates.sum import SumOfDoubles, SumOfWholes
from seine.operators.aggregates.user_fold import GroupFolds, LastingUserFold, UserFold
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.column_arrays import decimal_type
from seine.user_code.code_answers import ValueFolds

_OF_ALL_VALUES = (
    "mode",
    "quantile",
    "discrete_quantile",
    "levels",
    "folded",
)  # of how often each value is there


@dataclass(frozen=True)
class FoldKey:
    """The identity of a fold: calls with equal keys share one."""

    kind: str  # count | sum | squares | min | max | mode | quantile ..., least | greatest: where no row ends
    argument: Argument
    fraction: float | None = None  # of a quantile
    folds: GroupFolds | None = None  # of an aggregate that folds values one by one

    @property
    def is_extreme(self) -> bool:
        """Whether it is an extreme that may leave, so that the others are kept beside it."""
        return self.kind in ("min", "max")

    @property
    def takes_repeats(self) -> bool:
        """Whether it is the same over all values as over the distinct ones."""
        return self.kind in ("min", "max", "least", "greatest", "lasting_folded", *_OF_ALL_VALUES)

    @property
    def counts_values(self) -> bool:
        """Whether it must know when distinct values appear and vanish."""
        return (
            self.is_extreme
            or self.kind in _OF_ALL_VALUES
            or (self.argument.distinct and not self.takes_repeats)
        )

    def lasting(self) -> FoldKey:
        """What takes its place over rows that never end."""
        kind = {"min": "least", "max": "greatest", "folded": "lasting_folded"}.get(self.kind, self.kind)
        return replace(self, kind=kind)

    def fold(self) -> Fold:
        """A new accumulator of this kind."""
        type_ = self.argument.types[-1]
        match self.kind:
            case "count":
                return Count()
            case "squares":
                return SumOfDoubles(split_squares)
            case "products":
                return SumOfDoubles(split_products, arguments=2)
            case "sum":
                return _sum_of(type_)
            case "mode":
                return Mode()
            case "quantile" | "discrete_quantile":
                assert self.fraction is not None
                return Quantile(self.fraction, discrete=self.kind == "discrete_quantile")
            case "folded" | "lasting_folded":
                assert self.folds is not None
                made = UserFold if self.kind == "folded" else LastingUserFold
                return made(self.folds)
            case "levels":
                return LevelCounts()
            case "least" | "greatest":
                return LastingExtreme(type_, greatest=self.kind == "greatest")
        return Extreme(type_, greatest=self.kind == "max")


@dataclass(frozen=True)
class CompiledAggregate:
    """A compiled call; `finish` gets the number of rows at each place, then the value of each fold there."""

    folds: tuple[FoldKey, ...]
    finish: Callable[..., pa.Array]

    def lasting(self) -> CompiledAggregate:
        """The same over rows that never end: extremes keep one value a group."""
        return replace(self, folds=tuple(key.lasting() for key in self.folds))


def compile_call(call: AggregateCall) -> CompiledAggregate:
    """Compile a call of a built-in aggregate."""
    if call.function == "count_all":
        return CompiledAggregate((), lambda rows: pa.array(rows))
    argument = Argument(call.args, distinct=call.distinct and call.function not in ("min", "max"))
    count = FoldKey("count", argument)
    if call.function == "count":
        return CompiledAggregate((count,), lambda rows, counts: pa.array(counts))
    if call.function in _HOLISTIC:
        return _HOLISTIC[call.function](call)
    if call.function in ("min", "max"):
        return CompiledAggregate((FoldKey(call.function, argument),), lambda rows, values: values)
    if call.function in _COVARIANCES:
        return _covariance(call)
    total = FoldKey("sum", argument)
    if call.function in _VARIANCES:
        return CompiledAggregate(
            (count, total, FoldKey("squares", argument)), _skip_rows(_VARIANCES[call.function])
        )
    finishes = {"sum": _finish_sum, "avg": _finish_average}
    return CompiledAggregate(
        (count, total), _skip_rows(finishes[call.function](call.args[0].type, call.type))
    )


def _covariance(call: AggregateCall) -> CompiledAggregate:
    """Of pairs, rows with a NULL in one of them left out; the sum of a value is over the pairs, too."""
    pairs, swapped = Argument(call.args), Argument(call.args[::-1])
    folds = FoldKey("sum", swapped), FoldKey("sum", pairs), FoldKey("products", pairs)
    return CompiledAggregate((FoldKey("count", pairs), *folds), _skip_rows(_COVARIANCES[call.function]))


def _mode(call: AggregateCall) -> CompiledAggregate:
    return CompiledAggregate((FoldKey("mode", Argument(call.args)),), lambda rows, values: values)


def _percentile(call: AggregateCall) -> CompiledAggregate:
    key = FoldKey("quantile", Argument(call.args), call.fraction)
    return CompiledAggregate((key,), lambda rows, values: values)


def _approx_percentile(call: AggregateCall) -> CompiledAggregate:
    """A discrete quantile of rounded values, of which there are finitely many."""
    rounded = Argument(call.args, round_significant, pa.float64(), owner=call.function)
    key = FoldKey("discrete_quantile", rounded, call.fraction)
    return CompiledAggregate((key,), lambda rows, values: values)


def _approx_count_distinct(call: AggregateCall) -> CompiledAggregate:
    """An estimate from the occupied cells of a multiresolution bitmap."""
    cells = Argument(call.args, cells_of, pa.int64(), owner=call.function)
    return CompiledAggregate((FoldKey("levels", cells),), lambda rows, levels: pa.array(levels.estimate()))


def _percentile_disc(call: AggregateCall) -> CompiledAggregate:
    key = FoldKey("discrete_quantile", Argument(call.args), call.fraction)
    return CompiledAggregate((key,), lambda rows, values: values)


def _folded(call: AggregateCall) -> CompiledAggregate:
    """One that is computed value by value."""
    made = {"bit": BitFold, "collect": Collected}.get(call.function.split("_")[0], ShapeOfValues)
    folds = ValueFolds(made(call.function), 1, call.type.arrow(), lambda text: None)
    key = FoldKey("folded", Argument(call.args), folds=folds)
    return CompiledAggregate((key,), lambda rows, values: values)


_HOLISTIC: dict[str, Callable[[AggregateCall], CompiledAggregate]] = {
    "mode": _mode,
    "percentile": _percentile,
    "percentile_disc": _percentile_disc,
    "approx_percentile": _approx_percentile,
    "approx_count_distinct": _approx_count_distinct,
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "skewness", "kurtosis"), _folded),
    "collect_list": _folded,
    "collect_list_of_texts": _folded,
    "collect_set": _folded,
    "collect_set_of_texts": _folded,
}

_VARIANCES: dict[str, Callable[..., pa.Array]] = {
    "stddev": partial(finish.finish_variance, sample=True, root=True),
    "stddev_pop": partial(finish.finish_variance, sample=False, root=True),
    "variance": partial(finish.finish_variance, sample=True, root=False),
    "var_pop": partial(finish.finish_variance, sample=False, root=False),
}

_COVARIANCES: dict[str, Callable[..., pa.Array]] = {
    "covar_samp": partial(finish.finish_covariance, sample=True),
    "covar_pop": partial(finish.finish_covariance, sample=False),
}


def _skip_rows(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    def finished(_rows: IntArray, *values: Any) -> pa.Array:
        return function(*values)

    return finished


def _sum_of(type_: pa.DataType) -> Fold:
    if pa.types.is_decimal(type_):
        return SumOfWholes(split_decimals, whole_decimals)
    if pa.types.is_integer(type_):
        return SumOfWholes(split_integers, whole_integers)
    return SumOfDoubles(split_doubles)


def _finish_sum(argument: Type, result: Type) -> Callable[..., pa.Array]:
    if argument.kind is Kind.DECIMAL:
        return partial(finish.finish_sum_of_decimals, type_=decimal_type(result.arrow()))
    return finish.finish_sum_of_doubles if argument == DOUBLE else finish.finish_sum_of_integers


def _finish_average(argument: Type, result: Type) -> Callable[..., pa.Array]:
    if argument.kind is Kind.DECIMAL:
        type_ = decimal_type(result.arrow())
        return partial(finish.finish_average_of_decimals, scale=argument.scale, type_=type_)
    return partial(finish.finish_average, unit=DOUBLE_UNIT if argument == DOUBLE else 0)


SIGNIFICANT_BITS = 8  # the first is the leading one
_CELLS = 2.0**SIGNIFICANT_BITS


def round_significant(values: AnyArray) -> AnyArray:
    """Values rounded to the nearest of 8 significant bits; whole numbers stay whole.

    >>> round_significant(np.array([3.0, 255.0, 257.0, -1000.4, 0.1])).tolist()
    [3.0, 255.0, 258.0, -1000.0, 0.10009765625]
    """
    numbers = values.astype(np.float64)
    fraction, power = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    rounded = np.ldexp(
        np.copysign(np.floor(np.abs(fraction) * _CELLS + 0.5), numbers), power - SIGNIFICANT_BITS
    )
    result: AnyArray = np.where(np.isfinite(numbers), rounded, numbers)
    return result


class Count:
    """The accumulator is one number, the count of live values."""

    state: tuple[pa.DataType, ...] = (pa.int64(),)
    parts = state

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[IntArray, FoldState]:
        counts = changes.running(_amounts(changes), stored.numbers(names[0]))
        return counts, [counts[changes.layout.last]]

    def part(self, changes: Changes, value: Any, start: pa.Array | None) -> list[pa.Array]:
        return [pa.array(changes.sums(_amounts(changes)))]


def _amounts(changes: Changes) -> IntArray:
    """By how much each change moves the count."""
    return changes.values[0].to_numpy() if changes.are_partials else changes.weights


_OPERATORS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}


class BitFold(FoldedAggregate):
    """Folds numbers bit by bit; the state is None of no numbers.

    >>> bits = BitFold("bit_xor")
    >>> bits.finish(bits.merge(bits.add(bits.init(), 6), bits.add(bits.init(), 3)))
    5
    """

    name = "bit_fold"
    bounded = True

    def __init__(self, function: str) -> None:
        self._operator = _OPERATORS[function]

    def init(self) -> Any:
        return None

    def add(self, state: Any, *values: Any) -> Any:
        return values[0] if state is None else self._operator(state, values[0])

    def merge(self, one: Any, other: Any) -> Any:
        return (
            self.add(other, one) if other is not None and one is not None else one if other is None else other
        )

    def finish(self, *state: Any, **parts: Any) -> Any:
        return state[0]


_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


class Collected(FoldedAggregate):
    """Collects texts `key|1value`; the state is the list of these.

    >>> lists = Collected("collect_list")
    >>> lists.finish(lists.merge(["b|17"], ["a|19", "c|17"]))
    '[9, 7, 7]'
    >>> Collected("collect_set_of_texts").finish(["a|1x", "b|1x", "c|1y"])
    '["x", "y"]'
    """

    name = "collect_list"

    def __init__(self, function: str) -> None:
        self._quotes = function.endswith("_of_texts")
        self._is_set = function.startswith("collect_set")

    def init(self) -> Any:
        return []

    def add(self, state: Any, *values: Any) -> Any:
        state.append(values[0])
        return state

    def merge(self, one: Any, other: Any) -> Any:
        return one + other

    def finish(self, *state: Any, **parts: Any) -> Any:
        texts = [packed.partition("|")[2][1:] for packed in sorted(state[0])]
        chosen = dict.fromkeys(texts) if self._is_set else texts
        return "[" + ", ".join(map(self._json, chosen)) + "]"

    def _json(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=False) if self._quotes or text in _NO_NUMBERS else text


class ShapeOfValues(FoldedAggregate):
    """Collects numbers; NULL of none, and of equal ones, which have no shape.

    >>> shape = ShapeOfValues("skewness")
    >>> round(shape.finish([-10.0, -20.0, 100.0, 1000.0]), 6)
    1.113566
    """

    name = "shape"

    def __init__(self, function: str) -> None:
        self._power = 3 if function == "skewness" else 4

    def init(self) -> Any:
        return []

    def add(self, state: Any, *values: Any) -> Any:
        state.append(values[0])
        return state

    def merge(self, one: Any, other: Any) -> Any:
        return one + other

    def finish(self, *state: Any, **parts: Any) -> Any:
        values = state[0]
        if not values or not all(map(math.isfinite, values)):
            return math.nan if values else None
        distances = self._distances(values)
        largest = max(map(abs, distances))
        if not largest:
            return None
        shares = [distance / largest for distance in distances]  # the shape does not depend on the unit
        square, moment = (math.fsum(share**k for share in shares) / len(shares) for k in (2, self._power))
        return moment / square**1.5 if self._power == 3 else moment / square**2 - 3

    @staticmethod
    def _distances(values: list[float]) -> list[float]:
        """The distances from the mean, in a unit in which nothing overflows."""
        unit = max(map(abs, values)) or 1.0
        shares = [value / unit for value in values]
        mean = math.fsum(shares) / len(shares)
        return [share - mean for share in shares]
