"""User-defined algebraic aggregates: built-in folds over user-defined functions of the argument.

An aggregate is declared by named parts, each a fold (sum, count, min, max) of a function of the argument,
and a `finish` function of the parts. A geometric mean, for example, has the parts sum(log(x)) and count(x),
and `finish` is exp(sum / count).

Users' functions are called in a process of their own. One that raises, or gives an array of another length,
makes NULL of the results that it was called for and leaves a notice; nothing else is affected.

Cites: ARGUS 5.3 (algebraic aggregates)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.aggregates import FoldedAggregate, UserAggregate
from seine.algebra.arrays import AnyArray, IntArray
from seine.algebra.plan import AggregateCall
from seine.operators.aggregates.argument import Argument, ArrowDerivation, as_numpy
from seine.operators.aggregates.calls import CompiledAggregate, FoldKey
from seine.operators.aggregates.finish import doubles_of, finish_sum_of_integers
from seine.operators.aggregates.limbs import DOUBLE_UNIT
from seine.operators.aggregates.sum import NarrowSums, WideSums
from seine.operators.aggregates.user_fold import UserFolds, pack_arguments
from seine.user_code.process import UserCode, call_by_rows, code_of_aggregate

Notice = Callable[[str], None]


def compile_registered(call: AggregateCall, aggregate: UserAggregate, notice: Notice) -> CompiledAggregate:
    """Compile a call: a count of the rows it is over, then for each part its fold and its count."""
    if isinstance(aggregate, FoldedAggregate):
        return _compile_folded(call, aggregate, notice)
    base = Argument(call.args, distinct=call.distinct)
    code = code_of_aggregate(aggregate)
    parts = {n: _part(call, code, n, kind, derived=f is not None) for n, (kind, f) in aggregate.parts.items()}
    keys = [FoldKey("count", base)]
    for part in parts.values():
        keys += [part, FoldKey("count", part.argument)]

    def finished(rows: IntArray, counts: IntArray, *values: Any) -> pa.Array:
        whole = counts > 0
        for number in values[1::2]:
            whole = whole & (number == counts)
        made = {n: _numbers(p, v)[whole] for (n, p), v in zip(parts.items(), values[::2], strict=True)}
        results = _finish(code, made, int(whole.sum()), notice)
        return results.take(pa.array(np.maximum(np.cumsum(whole) - 1, 0), mask=~whole))

    return CompiledAggregate(tuple(keys), finished)


def _compile_folded(call: AggregateCall, aggregate: FoldedAggregate, notice: Notice) -> CompiledAggregate:
    """A call of an aggregate that folds values one by one; several arguments are packed into one."""
    argument = Argument(call.args)
    if len(call.args) > 1:
        argument = Argument(call.args, pack_arguments, pa.string(), owner=call.function)
    folds = UserFolds(code_of_aggregate(aggregate), len(call.args), notice)
    key = FoldKey("folded", argument, folds=folds)
    return CompiledAggregate((key,), lambda rows, values: values)


def _part(call: AggregateCall, code: UserCode, name: str, kind: str, *, derived: bool) -> FoldKey:
    if derived:
        fold, type_ = ("sum", pa.int64()) if kind == "count" else (kind, pa.float64())
        derivation = PartOfAggregate(code, name, truths=kind == "count")
        return FoldKey(fold, Argument(call.args, derivation, type_, call.distinct, call.function, name))
    plain = Argument(call.args, distinct=call.distinct)
    if kind == "count" or len(call.args) == 1:
        return FoldKey(kind, plain)
    first = call.args[0].type.arrow()
    first = pa.float64() if pa.types.is_decimal(first) else first
    return FoldKey(kind, Argument(call.args, _first, first, call.distinct, call.function, name))


@dataclass(frozen=True)
class PartOfAggregate(ArrowDerivation):
    """What a part of an aggregate folds: its function, of arrays of arguments without a NULL."""

    code: UserCode
    part: str
    truths: bool  # it counts

    def __call__(self, arguments: list[pa.Array], notice: Notice) -> pa.Array:
        rows = pa.RecordBatch.from_arrays(arguments, [f"a{i}" for i in range(len(arguments))])
        notices = list[str]()
        column = call_by_rows(self.code, "derive", rows, notices, part=self.part, truths=self.truths)
        for text in notices:
            notice(text)
        return column


def _first(*arguments: AnyArray) -> AnyArray:
    return arguments[0]


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


def _finish(code: UserCode, parts: dict[str, AnyArray], size: int, notice: Notice) -> pa.Array:
    if not size:
        return pa.nulls(1, code.type)
    notices = list[str]()
    rows = pa.RecordBatch.from_arrays([*map(pa.array, parts.values())], [*parts])
    results = call_by_rows(code, "finish", rows, notices)
    for text in notices:
        notice(text)
    return results
