"""What users' code is asked for, and what it answers: the same in its own process and, for a debugger, here.

    call     a function, of arrays of arguments                      the values
    derive   what a part of an aggregate folds, of such arrays       the values
    finish   the results of an aggregate, of arrays of its parts     the results
    alive    a folded aggregate over groups of values that go        the results at their places
    lasting  the same over values that never go                      results and states

A function that raises for many rows is asked again for halves of them, down to single rows, so that which
rows are NULL does not depend on what else was in the batch. An aggregate that raises makes NULL of the
results that it was called for and leaves a notice. What runs out of memory does not go on.

Aggregates that fold values one by one over the groups of a step: the loops of add, merge and finish.

    group of values 3 3 7     untouched: add(add(add(init, 3), 3), 7)     at a place with a new 9:
                              merge(untouched, add(init, 9)) ── finish ──> result

An aggregate that raises makes NULL of the results that it was called for and leaves a notice. A state that is
kept and could not be computed stays NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.code_place import CodePlace, find_code
from seine.typed_json import typed_value
from seine.user_code.messages import Header

_MISFITS = (pa.ArrowException, TypeError, ValueError, OverflowError)  # a type does not hold a value

Batches = Sequence[pa.RecordBatch]
_FAILED = "failed"  # the state of a group in which a user's function has raised; states are JSON otherwise

Counted = Iterable[tuple[Any, int]]  # values, and how often each is there
Notice = Callable[[str], None]


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
        columns: tuple[pa.Array, ...]
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
    column = made if isinstance(made, pa.Array) else pa.array(made, from_pandas=True)
    if len(column) != rows:
        raise ValueError(f"it gave {len(column)} values for {rows} rows")
    return column.cast(type_)


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


class Folding(Protocol):
    """What folds values; see `seine.algebra.aggregates.FoldedAggregate`."""

    name: ClassVar[str]

    def init(self) -> Any: ...

    def add(self, state: Any, *values: Any) -> Any: ...

    def merge(self, one: Any, other: Any) -> Any: ...

    def finish(self, state: Any) -> Any: ...


class ValueFolds:
    """An aggregate over the values of many groups; several arguments of it are one value, as JSON."""

    def __init__(self, aggregate: Folding, width: int, type_: pa.DataType, notice: Notice) -> None:
        self._aggregate, self._width, self._type, self._notice = aggregate, width, type_, notice

    def fold_alive(self, values: pa.Array, items: pa.RecordBatch, groups: pa.RecordBatch) -> pa.Array:
        """The results at the places of groups of values that come and go.

        `items` have the `place`, the `rank` (which is the position in `values`) and the `weight` of each
        change, by place; `groups` the `first` and `last` place of each group.
        """
        known = values.to_pylist()
        place, rank, weight = (items[name].to_numpy() for name in ("place", "rank", "weight"))
        firsts, lasts = groups["first"].to_numpy(), groups["last"].to_numpy()
        bounds = np.searchsorted(place, np.append(firsts, lasts[-1:] + 1))
        made: list[Any] = []
        for group, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
            part = slice(bounds[group], bounds[group + 1])
            made += self._group(first, last, (place[part], rank[part], weight[part]), known)
        return self._results(made)

    def fold_lasting(
        self, values: pa.RecordBatch, places: pa.RecordBatch, before: pa.Array
    ) -> tuple[pa.Array, pa.Array]:
        """The results at the places of groups whose values never go, and the state of each at its last place.

        `values` have a `value` and its `weight`, by place; `places` the `group` of each place and the `end`
        of its values; `before` is the state of each group, NULL before the first value.
        """
        coming, weights = values["value"].to_pylist(), values["weight"].to_pylist()
        states, made, start = before.to_pylist(), [], 0
        groups, ends = places["group"].to_pylist(), places["end"].to_pylist()
        for group, end in zip(groups, ends, strict=True):
            states[group] = self._added(states[group], coming[start:end], weights[start:end])
            made.append(self._result(states[group]))
            start = end
        return self._results(made), pa.array(states, pa.string())

    def _group(self, first: int, last: int, items: tuple[Any, Any, Any], values: Sequence[Any]) -> list[Any]:
        """The results of one group at its places; of no values it is NULL."""
        place, rank, weight = items
        _, spot, often = np.unique(rank, return_inverse=True, return_counts=True)
        steady = (often[spot] == 1) & (place == first)
        ranked = sorted(zip(rank[steady].tolist(), weight[steady].tolist(), strict=True))
        fixed = [(values[one], count) for one, count in ranked]
        base: list[Any] = []  # the state of what does not change, once it is computed
        counts: dict[int, int] = {}
        results, at = [], 0
        moves = (column[~steady].tolist() for column in (place, rank, weight))
        moving = [*zip(*moves, strict=True)]
        for here in range(first, last + 1):
            while at < len(moving) and moving[at][0] <= here:
                counts[moving[at][1]] = counts.get(moving[at][1], 0) + moving[at][2]
                at += 1
            live = [(values[one], count) for one, count in sorted(counts.items()) if count]
            results.append(self._alive(base, fixed, live))
        return results

    def _alive(self, base: list[Any], fixed: list[tuple[Any, int]], live: list[tuple[Any, int]]) -> Any:
        if not fixed and not live:
            return None

        def state() -> Any:
            if not fixed:
                return self._folded(live)
            if not base:
                base.append(self._folded(fixed))
            # A user's merge may change what it is given, and the first state is needed again.
            return self._aggregate.merge(json.loads(json.dumps(base[0])), self._folded(live))

        return self._finished(state)

    def _added(self, state: str | None, values: list[Any], counts: list[int]) -> str | None:
        if state == _FAILED or not values:
            return state
        pairs = zip(values, counts, strict=True)
        try:
            made = self._folded(pairs) if state is None else self._added_to(json.loads(state), pairs)
            return json.dumps(made)
        except MemoryError:
            raise
        except Exception as error:  # a user's code may raise anything
            self._failed(error)
            return _FAILED

    def _result(self, state: str | None) -> Any:
        return None if state is None or state == _FAILED else self._finished(lambda: json.loads(state))

    def _folded(self, values: Counted) -> Any:
        """The state of some values."""
        return self._added_to(self._aggregate.init(), values)

    def _added_to(self, state: Any, values: Counted) -> Any:
        for value, count in values:
            arguments = [value] if self._width == 1 else json.loads(value)
            for _ in range(count):
                state = self._aggregate.add(state, *arguments)
        return state

    def _finished(self, make: Callable[[], Any]) -> Any:
        """The result of a state; None if a function raises."""
        try:
            return self._aggregate.finish(make())
        except MemoryError:
            raise
        except Exception as error:  # a user's code may raise anything
            self._failed(error)
            return None

    def _failed(self, error: Exception) -> None:
        self._notice(f"{self._aggregate.name}: {type(error).__name__}: {error}")

    def _results(self, made: Sequence[Any]) -> pa.Array:
        """Results as a column; what is not of the declared type is NULL."""
        try:
            return pa.array(made).cast(self._type) if len(made) else pa.nulls(0, self._type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            self._failed(error)
            return pa.nulls(len(made), self._type)
