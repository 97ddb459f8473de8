"""Compiles aggregate calls: which folds (accumulators) each needs, and how its result comes from them.

    AVG(x)     folds COUNT(x), SUM(x)               finish: sum / count
    STDDEV(x)  folds COUNT(x), SUM(x), SUM(x * x)   finish: square root of the variance

Calls of one node that need the same fold share it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.plan import AggregateCall
from seine.algebra.types import DOUBLE, Kind, Type
from seine.operators.aggregates import finish
from seine.operators.aggregates.argument import Argument
from seine.operators.aggregates.bit_folds import BitFold
from seine.operators.aggregates.collected import Collected
from seine.operators.aggregates.count import Count
from seine.operators.aggregates.extreme import Extreme
from seine.operators.aggregates.fold import Fold
from seine.operators.aggregates.lasting_extreme import LastingExtreme
from seine.operators.aggregates.level_counts import LevelCounts, cells_of
from seine.operators.aggregates.mode import Mode
from seine.operators.aggregates.quantile import Quantile
from seine.operators.aggregates.shape import ShapeOfValues
from seine.operators.aggregates.significant_bits import round_significant
from seine.operators.aggregates.splits import (
    DOUBLE_UNIT,
    split_decimals,
    split_doubles,
    split_integers,
    split_products,
    split_squares,
    whole_decimals,
    whole_integers,
)
from seine.operators.aggregates.sum import SumOfDoubles, SumOfWholes
from seine.operators.aggregates.user_fold import GroupFolds, LastingUserFold, UserFold
from seine.user_code.value_folds import ValueFolds

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
        return partial(finish.finish_sum_of_decimals, type_=result.arrow())
    return finish.finish_sum_of_doubles if argument == DOUBLE else finish.finish_sum_of_integers


def _finish_average(argument: Type, result: Type) -> Callable[..., pa.Array]:
    if argument.kind is Kind.DECIMAL:
        return partial(finish.finish_average_of_decimals, scale=argument.scale, type_=result.arrow())
    return partial(finish.finish_average, unit=DOUBLE_UNIT if argument == DOUBLE else 0)
