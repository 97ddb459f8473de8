"""Kernels of arithmetic: checked on INT, BIGINT and DOUBLE, NULL on overflow or division by zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.types import DOUBLE, Kind, Type
from seine.evaluate.kernels import decimals, intervals
from seine.evaluate.kernels.checked import BINARY
from seine.evaluate.kernels.datum import Datum, Kernel, all_valid, build, row_count, values


def numeric(name: str, type_: Type, args: Sequence[Datum]) -> pa.Array:
    """A binary operator on two arguments of one type; INT is computed in 64 bits, then range-checked."""
    left, right = (values(arg) for arg in args)
    if left.dtype == np.int32:
        left, right = left.astype(np.int64), right.astype(np.int64)
    with np.errstate(all="ignore"):
        data, is_valid = BINARY[name](left, right)
    return build(type_, data, all_valid(args) & is_valid, row_count(args))


def _arithmetic(call: Call, args: Sequence[Datum]) -> pa.Array:
    kinds = {arg.type.kind for arg in call.args}
    if kinds & {Kind.DATE, Kind.TIMESTAMP, Kind.DAY_TIME, Kind.YEAR_MONTH}:
        return intervals.arithmetic(call, args)
    if Kind.DECIMAL in kinds:
        return decimals.arithmetic(call, args)
    return numeric(call.name, call.type, args)


def _negate(call: Call, args: Sequence[Datum]) -> pa.Array:
    if call.type.kind is Kind.DECIMAL:
        return decimals.negate(call, args)
    data = values(args[0])
    mask = all_valid(args)
    if call.type != DOUBLE:
        mask = mask & (data != np.iinfo(data.dtype).min)
    return build(call.type, -data, mask, row_count(args))


def _absolute(call: Call, args: Sequence[Datum]) -> pa.Array:
    if call.type.kind is Kind.DECIMAL:
        return decimals.absolute(call, args)
    data = values(args[0])
    mask = all_valid(args)
    if call.type != DOUBLE:
        mask = mask & (data != np.iinfo(data.dtype).min)
    return build(call.type, np.abs(data), mask, row_count(args))


KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(BINARY, _arithmetic),
    "neg": _negate,
    "abs": _absolute,
}
