"""What users' code is asked for, and what it answers: the same in its own process and, for a debugger, here.

    call     a function, of arrays of arguments                      the values
    derive   what a part of an aggregate folds, of such arrays       the values
    finish   the results of an aggregate, of arrays of its parts     the results
    alive    a folded aggregate over groups of values that go        the results at their places
    lasting  the same over values that never go                      results and states

A function that raises for many rows is asked again for halves of them, down to single rows, so that which
rows are NULL does not depend on what else was in the batch. An aggregate that raises makes NULL of the
results that it was called for and leaves a notice. What runs out of memory does not go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.code_place import CodePlace, find_code
from seine.typed_json import typed_value
from seine.user_code.messages import Header
from seine.user_code.value_folds import ValueFolds

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # a type does not hold a value

Batches = Sequence[pa.RecordBatch]


@dataclass(frozen=True)
class Answer:
    """The columns that were asked for, what went wrong in users' code, and its CPU time in nanoseconds."""

    columns: tuple[pa.Array, ...]
    notices: tuple[str, ...] = ()
    cpu: int = 0


class LoadError(Exception):
    """The code of a function cannot be loaded; says why."""


class Answering:
    """Users' code that has been loaded, by key."""

    def __init__(self) -> None:
        self._code: dict[str, Any] = {}
        self._types: dict[str, pa.DataType] = {}

    def answer(self, header: Header, batches: Batches) -> Answer:
        """Do what a header asks for."""
        what, key = header["do"], header["key"]
        if what == "load":
            self._load(key, typed_value(header["code"], CodePlace), batches[0].schema.field(0).type)
            return Answer(())
        code, type_, notices = self._code[key], self._types[key], list[str]()
        match what:
            case "call":
                columns = (_called(code, header["takes"], batches[0].columns, type_),)
            case "derive":
                columns = (_derived(code, header["part"], header["truths"], batches[0], notices.append),)
            case "finish":
                columns = (_finished(code, batches[0], type_, notices.append),)
            case _:
                folds = ValueFolds(code, header["width"], type_, _once(notices))
                columns = _folded(what, folds, batches)
        return Answer(columns, tuple(notices))

    def _load(self, key: str, place: CodePlace, type_: pa.DataType) -> None:
        try:
            code = find_code(place)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:  # a user's code may raise anything
            raise LoadError(f"{type(error).__name__}: {error}") from error
        self._code[key] = code() if isinstance(code, type) else getattr(code, "call", code)
        self._types[key] = type_


def columns_of_answer(
    header: Header, batches: Batches, type_: pa.DataType
) -> tuple[tuple[int, pa.DataType], ...]:
    """The rows and the type of each column that `Answering` gives for a request."""
    match header["do"]:
        case "load":
            return ()
        case "derive":
            return ((batches[0].num_rows, pa.int64() if header["truths"] else pa.float64()),)
        case "alive":
            first, last = (batches[2][name].to_numpy() for name in ("first", "last"))
            return ((int((last - first + 1).sum()), type_),)
        case "lasting":
            return (batches[1].num_rows, type_), (batches[2].num_rows, pa.string())
        case _:
            return ((batches[0].num_rows, type_),)


def _once(notices: list[str]) -> Callable[[str], None]:
    def note(text: str) -> None:
        if text not in notices:
            notices.append(text)

    return note


def _folded(what: str, folds: ValueFolds, batches: Batches) -> tuple[pa.Array, ...]:
    if what == "alive":
        values, items, groups = batches
        return (folds.fold_alive(values.column(0), items, groups),)
    values, places, before = batches
    return folds.fold_lasting(values, places, before.column(0))


# ---- functions


def _called(
    function: Callable[..., Any], takes: Sequence[bool] | None, arrays: Sequence[pa.Array], type_: pa.DataType
) -> pa.Array:
    if takes is None:
        return _of_arrays(function, arrays, type_)
    return _of_values(function, takes, arrays, type_)


def _of_arrays(function: Callable[..., Any], arrays: Sequence[pa.Array], type_: pa.DataType) -> pa.Array:
    rows = len(arrays[0])
    try:
        return _checked(function(*arrays), rows, type_)
    except MemoryError:
        raise
    except (Exception, SystemExit):  # a user's code may raise anything
        if rows == 1:
            return pa.nulls(1, type_)
    half = rows // 2
    parts = [[array[:half] for array in arrays], [array[half:] for array in arrays]]
    return pa.concat_arrays([_of_arrays(function, part, type_) for part in parts])


def _of_values(
    function: Callable[..., Any], takes: Sequence[bool], arrays: Sequence[pa.Array], type_: pa.DataType
) -> pa.Array:
    """The values of a function of single values; NULL goes only where the function takes None."""
    needed = [place for place, null in enumerate(takes) if not null]
    made = [
        None if any(row[place] is None for place in needed) else _value(function, row)
        for row in zip(*(array.to_pylist() for array in arrays), strict=True)
    ]
    try:
        return pa.array(made, type_)
    except _MISFITS:
        return pa.concat_arrays([_alone(value, type_) for value in made])


def _value(function: Callable[..., Any], row: Sequence[Any]) -> Any:
    try:
        return function(*row)
    except MemoryError:
        raise
    except (Exception, SystemExit):  # a user's code may raise anything
        return None


def _alone(value: Any, type_: pa.DataType) -> pa.Array:
    """One value as a column; NULL if its type does not hold it."""
    try:
        return pa.array([value], type_)
    except _MISFITS:
        return pa.nulls(1, type_)


def _checked(made: Any, rows: int, type_: pa.DataType) -> pa.Array:
    """What a function gave, as an array of its type."""
    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    if not isinstance(made, pa.Array):
        made = pa.array(made, from_pandas=True)
    if len(made) != rows:
        raise ValueError(f"it gave {len(made)} values for {rows} rows")
    return made.cast(type_)


# ---- aggregates of parts


def _derived(
    aggregate: Any, part: str, truths: bool, arguments: pa.RecordBatch, notice: Callable[[str], None]
) -> pa.Array:
    """What a part folds, as float64; where it counts, 1 where its function is true or a number, else 0."""
    _, function = aggregate.parts[part]

    def values() -> Any:
        made = np.asarray(function(*map(_as_numpy, arguments.columns)))
        if not truths:
            return made.astype(np.float64)
        return (made if made.dtype == bool else ~np.isnan(made.astype(np.float64))).astype(np.int64)

    type_ = pa.int64() if truths else pa.float64()
    return _column(aggregate, values, arguments.num_rows, type_, notice, nan_is_null=False)


def _finished(
    aggregate: Any, parts: pa.RecordBatch, type_: pa.DataType, notice: Callable[[str], None]
) -> pa.Array:
    """The result of every group from its parts, NaN meaning NULL."""
    values = dict(zip(parts.schema.names, map(_as_numpy, parts.columns), strict=True))
    return _column(aggregate, lambda: aggregate.finish(**values), parts.num_rows, type_, notice)


def _column(
    aggregate: Any,
    make: Callable[[], Any],
    rows: int,
    type_: pa.DataType,
    notice: Callable[[str], None],
    *,
    nan_is_null: bool = True,
) -> pa.Array:
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(make())
        if made.shape != (rows,):
            raise ValueError(f"expected {rows} values, got an array of shape {made.shape}")
        return pa.array(made, from_pandas=nan_is_null).cast(type_)
    except MemoryError:
        raise
    except Exception as error:  # a user's code may raise anything
        notice(f"{aggregate.name}: {type(error).__name__}: {error}")
        return pa.nulls(rows, type_)


def _as_numpy(array: pa.Array) -> Any:
    """The values as a user's function gets them; DECIMAL as float64."""
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    return array.to_numpy(zero_copy_only=False)
