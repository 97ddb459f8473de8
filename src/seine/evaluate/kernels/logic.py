"""Kernels of comparisons, three-valued logic, CASE, COALESCE, IN, GREATEST and LEAST.

DOUBLEs compare as in Spark: NaN equals NaN and is greater than everything else. Strings compare
by their UTF-8 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, FloatArray
from seine.algebra.expressions import Call
from seine.algebra.types import BOOLEAN, DOUBLE, Kind, Type
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    all_valid,
    argument,
    as_array,
    build,
    nulls,
    row_count,
    spend_on_copies,
    valid,
    values,
)

_ARROW: dict[str, Callable[[Datum, Datum], Datum]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}


def _less(a: FloatArray, b: FloatArray) -> BoolArray:
    less: BoolArray = (a < b) | (np.isnan(b) & ~np.isnan(a))
    return less


def _equal(a: FloatArray, b: FloatArray) -> BoolArray:
    same: BoolArray = (a == b) | (np.isnan(a) & np.isnan(b))
    return same


_DOUBLES: dict[str, Callable[[FloatArray, FloatArray], BoolArray]] = {
    "eq": _equal,
    "ne": lambda a, b: ~_equal(a, b),
    "lt": _less,
    "le": lambda a, b: ~_less(b, a),
    "gt": lambda a, b: _less(b, a),
    "ge": lambda a, b: ~_less(a, b),
}


def compare(name: str, type_: Type, args: Sequence[Datum]) -> pa.Array:
    """The comparison of two arguments of one type, NULL where either is."""
    if type_.kind is Kind.NULL:
        return nulls(BOOLEAN, row_count(args))
    if type_ != DOUBLE:
        return as_array(_ARROW[name](args[0], args[1]), row_count(args))
    with np.errstate(invalid="ignore"):
        truths = _DOUBLES[name](values(args[0]), values(args[1]))
    return build(BOOLEAN, truths, all_valid(args), row_count(args))


def _comparison(call: Call, args: Sequence[Datum]) -> pa.Array:
    return compare(call.name, call.args[0].type, args)


def _equal_null_safe(call: Call, args: Sequence[Datum]) -> pa.Array:
    both_null = ~valid(args[0]) & ~valid(args[1])
    equal = values(compare("eq", call.args[0].type, args))
    return build(BOOLEAN, (equal & all_valid(args)) | both_null, np.array([True]), row_count(args))


def _and(_: Call, args: Sequence[Datum]) -> pa.Array:
    return as_array(reduce(pc.and_kleene, args), row_count(args))


def _or(_: Call, args: Sequence[Datum]) -> pa.Array:
    return as_array(reduce(pc.or_kleene, args), row_count(args))


def _not(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.invert(argument(args))


def _is_null(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.is_null(argument(args))


def _is_not_null(_: Call, args: Sequence[Datum]) -> pa.Array:
    return pc.is_valid(argument(args))


def _in(call: Call, args: Sequence[Datum]) -> pa.Array:
    """x IN (...): true on a match, else NULL if the value or any element of the list is NULL, else false."""
    type_ = call.args[0].type
    subject, candidates = as_array(args[0], row_count(args)), args[1:]
    constants = [candidate for candidate in candidates if isinstance(candidate, pa.Scalar)]
    if len(constants) < len(candidates) or type_ == DOUBLE or type_.kind is Kind.NULL or len(candidates) < 4:
        return reduce(pc.or_kleene, [compare("eq", type_, (subject, c)) for c in candidates])
    known = pa.array([c.as_py() for c in constants if c.is_valid], type_.arrow())
    matches = pc.is_in(subject, value_set=known)
    decided = pc.is_valid(subject) if len(known) == len(candidates) else matches
    return pc.if_else(decided, matches, pa.scalar(None, pa.bool_()))


def _case(call: Call, args: Sequence[Datum]) -> pa.Array:
    size = row_count(args)
    otherwise = args[-1] if len(args) % 2 else pa.scalar(None, call.type.arrow())
    spend_on_copies([*args[1::2], otherwise], size)
    result: Datum = otherwise
    for at in reversed(range(0, len(args) - 1, 2)):
        chosen = pc.fill_null(args[at], False)
        result = pc.if_else(chosen, args[at + 1], result)
    return as_array(result, size)


def _coalesce(_: Call, args: Sequence[Datum]) -> pa.Array:
    spend_on_copies(args, row_count(args))
    return as_array(pc.coalesce(*args), row_count(args))


def _extreme(call: Call, args: Sequence[Datum]) -> pa.Array:
    """GREATEST or LEAST: the largest or smallest argument that is not NULL."""
    better = "gt" if call.name == "greatest" else "lt"
    size = row_count(args)
    best = as_array(args[0], size)
    spend_on_copies(args[1:], size)
    for arg in args[1:]:
        beats = pc.fill_null(compare(better, call.type, (arg, best)), False)
        replaced = pc.and_(pc.is_valid(as_array(arg, size)), pc.or_(beats, pc.is_null(best)))
        best = pc.if_else(replaced, arg, best)
    return best


KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(_ARROW, _comparison),
    "eq_null_safe": _equal_null_safe,
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "in": _in,
    "case": _case,
    "coalesce": _coalesce,
    "greatest": _extreme,
    "least": _extreme,
}
