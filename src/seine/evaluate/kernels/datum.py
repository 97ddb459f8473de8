"""Arguments of kernels: as NumPy data with a validity mask, as arrays, or as constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Call
from seine.algebra.types import Kind, Type
from seine.evaluate.kernels.spending import end, growth, is_counted, spend
from seine.rows.column_arrays import buffer_of

Datum: TypeAlias = pa.Array | pa.Scalar  # a column, or a value that is the same in every row
Kernel: TypeAlias = Callable[[Call, Sequence[Datum]], pa.Array]

_STORAGE: dict[Kind, np.dtype[Any]] = {
    Kind.INT: np.dtype(np.int32),
    Kind.BIGINT: np.dtype(np.int64),
    Kind.DOUBLE: np.dtype(np.float64),
    Kind.DATE: np.dtype(np.int32),
    Kind.TIMESTAMP: np.dtype(np.int64),
    Kind.DAY_TIME: np.dtype(np.int64),
    Kind.YEAR_MONTH: np.dtype(np.int32),
}
_NUMPY: dict[pa.DataType, np.dtype[Any]] = {
    pa.int32(): np.dtype(np.int32),
    pa.int64(): np.dtype(np.int64),
    pa.float64(): np.dtype(np.float64),
    pa.date32(): np.dtype(np.int32),
}
_INT32 = np.iinfo(np.int32)
_LONG_CONSTANT = 1000  # bytes; copies of shorter ones are no more than a row is wide
_DATE_RANGE = (-719162, 2932896)  # 0001-01-01 to 9999-12-31
_TIMESTAMP_RANGE = (-719162 * 86_400_000_000, 2932897 * 86_400_000_000 - 1)
# called with the call, the varying arguments as arrays, and a Python value for each constant argument
ConstantKernel = Callable[..., pa.Array]


def row_count(args: Sequence[Datum]) -> int:
    """The number of rows of a kernel's arguments."""
    return next(len(arg) for arg in args if isinstance(arg, pa.Array))


def argument(args: Sequence[Datum]) -> pa.Array:
    """The argument of a kernel of one; a constant is a row, on which calls of constants are computed."""
    return as_array(args[0], 1)


def values(datum: Datum) -> AnyArray:
    """The data as a NumPy array, without a copy if possible; arbitrary where NULL. A scalar has one row."""
    array = as_array(datum, 1)
    if pa.types.is_boolean(array.type):
        flags: AnyArray = array.fill_null(False).to_numpy(zero_copy_only=False)
        return flags
    dtype = _NUMPY.get(array.type, np.dtype(np.int64))
    data = buffer_of(array, 1)
    if not data or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(data, dtype, len(array), array.offset * dtype.itemsize)


def valid(datum: Datum) -> BoolArray:
    """The validity mask: which rows are not NULL; of length one if that is the same for all."""
    if isinstance(datum, pa.Scalar):
        return np.array([datum.is_valid])
    if datum.null_count == 0:
        return np.array([True])
    mask: BoolArray = datum.is_valid().to_numpy(zero_copy_only=False)
    return mask


def all_valid(args: Sequence[Datum]) -> BoolArray:
    """The mask of the rows in which no argument is NULL."""
    mask = valid(args[0])
    for arg in args[1:]:
        mask = mask & valid(arg)
    return mask


def build(type_: Type, data: AnyArray, mask: BoolArray, size: int) -> pa.Array:
    """An Arrow array of `size` rows; NULL outside the mask, and where a value is outside the type."""
    data = np.broadcast_to(data, size)
    if type_.kind is Kind.BOOLEAN:
        return pa.array(data.astype(bool), mask=~np.broadcast_to(mask, size))
    low_high = _bounds(type_, data.dtype)
    if low_high is not None:
        mask = mask & (data >= low_high[0]) & (data <= low_high[1])
    stored = np.ascontiguousarray(data.astype(_STORAGE[type_.kind], copy=False))
    return pa.Array.from_buffers(type_.arrow(), size, [bitmap(mask, size), pa.py_buffer(stored)])


def _bounds(type_: Type, dtype: np.dtype[Any]) -> tuple[int, int] | None:
    if type_.kind is Kind.DATE:
        return _DATE_RANGE
    if type_.kind is Kind.TIMESTAMP:
        return _TIMESTAMP_RANGE
    narrow = type_.kind in (Kind.INT, Kind.YEAR_MONTH) and dtype != np.int32
    return (int(_INT32.min), int(_INT32.max)) if narrow else None


def bitmap(mask: BoolArray, size: int) -> pa.Buffer | None:
    """Arrow's validity bitmap of a mask; None if every row is valid."""
    if mask.all():
        return None
    return pa.py_buffer(np.packbits(np.broadcast_to(mask, size), bitorder="little"))


def nulls(type_: Type, size: int) -> pa.Array:
    """An array of NULLs."""
    return pa.nulls(size, type_.arrow())


def as_array(datum: Datum, size: int) -> pa.Array:
    """A datum as an array: a scalar is repeated, also a list no times, which Arrow would refuse."""
    if isinstance(datum, pa.Array):
        return datum
    spend_on_copies([datum], size)
    return pa.repeat(datum, size) if size else pa.array([], datum.type)


def spend_on_copies(args: Sequence[Datum], size: int) -> None:
    """Count the bytes of long constants that are about to be copied into every row."""
    for arg in args:
        if isinstance(arg, pa.Scalar) and size > 1 and (length := _scalar_bytes(arg)) > _LONG_CONSTANT:
            spend(size=length * size, constants=[f"{length} bytes"])


def _scalar_bytes(scalar: pa.Scalar) -> int:
    if isinstance(scalar, pa.StringScalar):
        return len(scalar.as_buffer()) if scalar.is_valid else 0
    return int(scalar.values.nbytes) if isinstance(scalar, pa.ListScalar) and scalar.is_valid else 0


def spend_on_growth(made: int, args: Sequence[Datum], rows: int) -> None:
    """Count the bytes of a result that is about to be made, as far as it grows beyond its arguments."""
    if is_counted():
        spend(size=growth(made, max(datum_bytes(arg, rows) for arg in args), rows))


def end_call(call: Call, args: Sequence[Datum], result: pa.Array) -> None:
    """A call has given its result: count how far it grows, if its kernel has not."""
    if not is_counted():
        return
    rows = len(result)
    made = datum_bytes(result, rows) if call.type.is_text or call.type.kind is Kind.TEXTS else 0
    grows = growth(made, 0, rows) > 0
    given = max((datum_bytes(arg, rows) for arg in args), default=0) if grows else 0
    end(made, growth(made, given, rows))


def datum_bytes(datum: Datum, rows: int) -> int:
    """The bytes of a datum's rows; a short constant is in every row, and an item of a list is a byte more."""
    if isinstance(datum, pa.Scalar):
        length = _scalar_bytes(datum)
        return length * rows if length <= _LONG_CONSTANT else length
    items = len(datum.flatten()) if isinstance(datum, pa.ListArray) else 0
    return datum.nbytes - 3 * items


def byte_lengths(array: pa.Array) -> IntArray:
    """The bytes of each text; 0 of NULL."""
    lengths: IntArray = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def with_constants(
    kernel: ConstantKernel,
    varying: int,
    *,
    nullable: bool = False,
    prepare: Callable[..., None] | None = None,
) -> Kernel:
    """A kernel that calls `kernel(call, *arrays, *constants)` for each distinct combination of constants.

    The first `varying` arguments stay arrays. Where a constant is NULL so is the result, unless
    `nullable`. Rows are partitioned by their constants, so that each is computed once; where there are
    columns of them, `prepare` has each combination first, to count what it takes.
    """

    def lifted(call: Call, args: Sequence[Datum]) -> pa.Array:
        size = row_count(args)
        arrays = [as_array(arg, size) for arg in args[:varying]]
        constants = [constant for constant in args[varying:] if isinstance(constant, pa.Scalar)]
        if len(constants) == len(args) - varying:
            return apply(call, arrays, [constant.as_py() for constant in constants])
        return _grouped(call, arrays, [as_array(constant, size) for constant in args[varying:]])

    def apply(call: Call, arrays: Sequence[pa.Array], constants: Sequence[Any]) -> pa.Array:
        if not nullable and any(constant is None for constant in constants):
            return nulls(call.type, len(arrays[0]))
        return kernel(call, *arrays, *constants)

    def _grouped(call: Call, arrays: Sequence[pa.Array], constants: Sequence[pa.Array]) -> pa.Array:
        if len(arrays[0]) == 0:
            return nulls(call.type, 0)
        order, starts = _runs(constants)
        pieces = []
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            picked = pa.array(order[start:stop])
            values = [constant[int(order[start])].as_py() for constant in constants]
            if prepare is not None and None not in values:
                prepare(*values)
            pieces.append(apply(call, [array.take(picked) for array in arrays], values))
        inverse = np.empty(len(order), np.int64)
        inverse[order] = np.arange(len(order))
        return pa.concat_arrays([_joined(piece) for piece in pieces]).take(pa.array(inverse))

    return lifted


def _joined(piece: pa.Array | pa.ChunkedArray) -> pa.Array:
    return piece.combine_chunks() if isinstance(piece, pa.ChunkedArray) else piece


def _runs(constants: Sequence[pa.Array]) -> tuple[AnyArray, list[int]]:
    """A permutation of the rows in which equal constants are adjacent, and the start of each run."""
    codes = [pc.dictionary_encode(c, null_encoding="encode").indices.to_numpy() for c in constants]
    order = np.lexsort(codes)
    changes = np.zeros(len(order), bool)
    changes[0] = True
    for code in codes:
        ranked = code[order]
        changes[1:] |= ranked[1:] != ranked[:-1]
    return order, np.flatnonzero(changes).tolist()
