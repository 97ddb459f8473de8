"""Aggregates that fold values one by one (init, add, merge, finish): users' own, and built-in ones.

Where rows end, the multiset of values is kept (`value_counts.py`). In a step the values of a group that do
not change are added up once, and at each place merged with those that do. Where no row ever ends, the state
itself is kept, as JSON, and values are added to it in the order of their places, those of a place by size.
The loops are those of `user_code/code_answers.py`, which a user's aggregate runs in a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.order_statistics import ValueItems
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.grouping import dense_ranks
from seine.user_code.limits import MOST_ROWS
from seine.user_code.process import UserCode


class GroupFolds(Protocol):
    """Folds values over the groups of a step; see `ValueFolds`."""

    def fold_alive(self, values: pa.Array, items: pa.RecordBatch, groups: pa.RecordBatch) -> pa.Array: ...

    def fold_lasting(
        self, values: pa.RecordBatch, places: pa.RecordBatch, before: pa.Array
    ) -> tuple[pa.Array, pa.Array]: ...


class UserFolds:
    """A user's aggregate: some groups at a time, in the process of users' code.

    Law: equals `ValueFolds` over all groups at once.
    """

    def __init__(self, code: UserCode, width: int, notice: Callable[[str], None]) -> None:
        self._code, self._width, self._notice = code, width, notice

    def fold_alive(self, values: pa.Array, items: pa.RecordBatch, groups: pa.RecordBatch) -> pa.Array:
        firsts, lasts = groups["first"].to_numpy(), groups["last"].to_numpy()
        edges = np.append(firsts, lasts[-1:] + 1)
        bounds = np.searchsorted(items["place"].to_numpy(), edges)
        results = [pa.nulls(0, self._code.type)]
        for start, end in _chunks(bounds, edges):
            part = items.slice(bounds[start], bounds[end] - bounds[start])
            ranks, spots = np.unique(part["rank"].to_numpy(), return_inverse=True)
            part = _batch(place=part["place"], rank=spots, weight=part["weight"])
            known = _batch(value=values.take(pa.array(ranks)))
            batches = [known, part, groups.slice(start, end - start)]
            results.append(self._ask("alive", batches, part.num_rows)[0])
        return pa.concat_arrays(results)

    def fold_lasting(
        self, values: pa.RecordBatch, places: pa.RecordBatch, before: pa.Array
    ) -> tuple[pa.Array, pa.Array]:
        group, ends = places["group"].to_numpy(), places["end"].to_numpy()
        firsts = np.searchsorted(group, np.arange(len(before) + 1))  # the first place of each group
        bounds = np.append(0, ends).take(firsts)
        results, states = [pa.nulls(0, self._code.type)], [pa.nulls(0, pa.string())]
        for start, end in _chunks(bounds, firsts):
            part = slice(firsts[start], firsts[end])
            here = _batch(group=group[part] - start, end=ends[part] - bounds[start])
            coming = values.slice(bounds[start], bounds[end] - bounds[start])
            known = _batch(state=before.slice(start, end - start))
            made, kept = self._ask("lasting", [coming, here, known], coming.num_rows)
            results.append(made)
            states.append(kept)
        return pa.concat_arrays(results), pa.concat_arrays(states)

    def _ask(self, what: str, batches: Sequence[pa.RecordBatch], values: int) -> tuple[pa.Array, ...]:
        answer = self._code.ask(what, batches, values, width=self._width)
        for notice in answer.notices:
            self._notice(notice)
        return answer.columns


def _chunks(bounds: IntArray, places: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of groups with so many values and places as a request may have, or of one group with more."""
    size, start = bounds + places, 0
    while start < len(size) - 1:
        end = max(start + 1, int(np.searchsorted(size, size[start] + MOST_ROWS, "right")) - 1)
        yield start, end
        start = end


def _batch(**columns: pa.Array | AnyArray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*map(_arrow, columns.values())], [*columns])


def _arrow(column: pa.Array | AnyArray) -> pa.Array:
    return column if isinstance(column, pa.Array) else pa.array(column)


class UserFold:
    """Over rows that end: keeps nothing of its own beside the multiset of values."""

    state: tuple[pa.DataType, ...] = ()
    parts: tuple[pa.DataType, ...] = ()

    def __init__(self, folds: GroupFolds) -> None:
        self._folds = folds

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        assert changes.counted is not None
        layout, items = changes.layout, ValueItems.of(changes.layout, changes.counted)
        values = items.pool.take(pa.array(items.places_of))
        moves = _batch(place=items.place, rank=items.rank, weight=items.weight)
        return self._folds.fold_alive(values, moves, _batch(first=layout.first, last=layout.last)), []

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: states are the user's."""
        return []


class LastingUserFold:
    """Over rows that never end: the accumulator is the user's state, as JSON; NULL before the first value."""

    state: tuple[pa.DataType, ...] = (pa.string(),)
    parts: tuple[pa.DataType, ...] = ()

    def __init__(self, folds: GroupFolds) -> None:
        self._folds = folds

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        layout, values = changes.layout, changes.values[-1]
        order = np.lexsort((dense_ranks(values)[0], changes.places))
        coming = _batch(value=values.take(pa.array(order)), weight=changes.weights.take(order))
        ends = np.searchsorted(changes.places.take(order), np.arange(1, layout.size + 1))
        places = _batch(group=layout.group, end=ends)
        made, states = self._folds.fold_lasting(coming, places, stored.column(names[0]))
        return made, [states]

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: states are the user's."""
        return []


def pack_arguments(*arguments: AnyArray) -> AnyArray:
    """Several arguments as one text, so that they are one value.

    >>> pack_arguments(np.array([1, 2]), np.array(["a", "b"], object)).tolist()
    ['[1, "a"]', '[2, "b"]']
    """
    rows = zip(*(argument.tolist() for argument in arguments), strict=True)
    return np.array([json.dumps(row, default=str) for row in rows], object)
