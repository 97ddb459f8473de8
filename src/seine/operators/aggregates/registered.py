"""User-defined algebraic aggregates: built-in folds over user-defined functions of the argument.

An aggregate is declared by named parts, each a fold (sum, count, min, max) of a function of the argument,
and a `finish` function of the parts. A geometric mean, for example, has the parts sum(log(x)) and count(x),
and `finish` is exp(sum / count).

A user's function that raises, or gives an array of another length, makes NULL of the results that it was
called for and leaves a notice; nothing else is affected.

Cites: ARGUS 5.3 (algebraic aggregates)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.aggregates import FoldedAggregate, UserAggregate
from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.plan import AggregateCall
from seine.operators.aggregates.argument import Argument, as_numpy
from seine.operators.aggregates.calls import CompiledAggregate, FoldKey
from seine.operators.aggregates.finish import doubles_of, finish_sum_of_integers
from seine.operators.aggregates.splits import DOUBLE_UNIT
from seine.operators.aggregates.sum import NarrowSums, WideSums
from seine.operators.aggregates.user_fold import UserSteps, pack_arguments

Notice = Callable[[str], None]


def compile_registered(call: AggregateCall, aggregate: UserAggregate, notice: Notice) -> CompiledAggregate:
    """Compile a call: a count of the rows it is over, then for each part its fold and its count."""
    if isinstance(aggregate, FoldedAggregate):
        return _compile_folded(call, aggregate, notice)
    base = Argument(call.args, distinct=call.distinct)
    parts = {name: _part(call, name, kind, function) for name, (kind, function) in aggregate.parts.items()}
    keys = [FoldKey("count", base)]
    for part in parts.values():
        keys += [part, FoldKey("count", part.argument)]

    def finished(rows: IntArray, counts: IntArray, *values: Any) -> pa.Array:
        whole = counts > 0
        for number in values[1::2]:
            whole = whole & (number == counts)
        made = {n: _numbers(p, v)[whole] for (n, p), v in zip(parts.items(), values[::2], strict=True)}
        results = _finish(aggregate, made, int(whole.sum()), call.type.arrow(), notice)
        return results.take(pa.array(np.maximum(np.cumsum(whole) - 1, 0), mask=~whole))

    return CompiledAggregate(tuple(keys), finished)


def _compile_folded(call: AggregateCall, aggregate: FoldedAggregate, notice: Notice) -> CompiledAggregate:
    """A call of an aggregate that folds values one by one; several arguments are packed into one."""
    argument = Argument(call.args)
    if len(call.args) > 1:
        argument = Argument(call.args, pack_arguments, pa.string(), owner=call.function)
    steps = UserSteps(aggregate, len(call.args), notice)
    key = FoldKey("folded", argument, steps=steps, result=call.type.arrow())
    return CompiledAggregate((key,), lambda rows, values: values)


def _part(call: AggregateCall, name: str, kind: str, function: Callable[..., AnyArray] | None) -> FoldKey:
    if kind == "count":
        if function is None:
            return FoldKey("count", Argument(call.args, distinct=call.distinct))
        return FoldKey("sum", _derived(call, name, _truths(function), pa.int64()))
    if function is not None:
        return FoldKey(kind, _derived(call, name, _doubles(function), pa.float64()))
    if len(call.args) == 1:
        return FoldKey(kind, Argument(call.args, distinct=call.distinct))
    type_ = call.args[0].type.arrow()
    type_ = pa.float64() if pa.types.is_decimal(type_) else type_
    return FoldKey(kind, _derived(call, name, _first, type_))


def _derived(
    call: AggregateCall, name: str, function: Callable[..., AnyArray], type_: pa.DataType
) -> Argument:
    return Argument(call.args, function, type_, call.distinct, call.function, name)


def _first(*arguments: AnyArray) -> AnyArray:
    return arguments[0]


def _doubles(function: Callable[..., AnyArray]) -> Callable[..., AnyArray]:
    def doubles(*arguments: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arguments)).astype(np.float64)

    return doubles


def _truths(function: Callable[..., AnyArray]) -> Callable[..., AnyArray]:
    """The argument of a counting part: 1 where the function is true or a number other than NaN, else 0."""

    def truths(*arguments: AnyArray) -> AnyArray:
        with np.errstate(all="ignore"):
            made = np.asarray(function(*arguments))
        return (made if made.dtype == bool else ~np.isnan(made.astype(np.float64))).astype(np.int64)

    return truths


def _numbers(part: FoldKey, value: Any) -> AnyArray:
    """The value of a part at every place, as `finish` gets it."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, (WideSums, NarrowSums)):
        return as_numpy(value)
    type_ = part.argument.types[-1]
    if pa.types.is_decimal(type_):
        scaled: AnyArray = doubles_of(value, 0) / 10.0**type_.scale
        return scaled
    if pa.types.is_floating(type_):
        return doubles_of(value, DOUBLE_UNIT)
    return as_numpy(finish_sum_of_integers(np.ones(value.places, np.int64), value))


def _finish(
    aggregate: UserAggregate, parts: dict[str, AnyArray], size: int, type_: pa.DataType, notice: Notice
) -> pa.Array:
    if not size:
        return pa.nulls(1, type_)
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(aggregate.finish(**parts))
        if made.shape != (size,):
            raise ValueError(f"finish gave an array of shape {made.shape} for {size} groups")
        return pa.array(made, from_pandas=True).cast(type_)
    except Exception as error:  # a user's code may raise anything
        notice(f"{aggregate.name}: {type(error).__name__}: {error}")
        return pa.nulls(size, type_)
