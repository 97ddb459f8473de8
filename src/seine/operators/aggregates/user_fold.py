"""Users' own aggregates that fold values one by one: init, add, merge, finish.

Where rows end, the multiset of values is kept (`value_counts.py`). In a step the values of a group that do
not change are added up once, and at each place merged with those that do. Where no row ever ends, the state
itself is kept, as JSON, and values are added to it in the order of their places, those of a place by size.

    group of values 3 3 7     untouched: add(add(add(init, 3), 3), 7)     at a place with a new 9:
                              merge(untouched, add(init, 9)) ── finish ──> result

A user's function that raises makes NULL of the results that it was called for and leaves a notice. A state
that is kept and could not be computed stays NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.aggregates import FoldedAggregate
from seine.algebra.arrays import AnyArray
from seine.operators.aggregates.fold import Changes, FoldState
from seine.operators.aggregates.value_ranks import ValueItems
from seine.operators.state.keyed_table import KeyedMatches
from seine.rows.grouping import dense_ranks

_FAILED = "failed"  # the state of a group in which a user's function has raised; states are JSON otherwise

Counted = Iterable[tuple[Any, int]]  # values, and how often each is there


class UserSteps:
    """A user's functions over packed arguments, with what they raise turned into notices."""

    def __init__(self, aggregate: FoldedAggregate, width: int, notice: Callable[[str], None]) -> None:
        self._aggregate, self._width, self._notice = aggregate, width, notice

    def folded(self, values: Counted) -> Any:
        """The state of some values."""
        return self.added(self._aggregate.init(), values)

    def added(self, state: Any, values: Counted) -> Any:
        for value, count in values:
            arguments = [value] if self._width == 1 else json.loads(value)
            for _ in range(count):
                state = self._aggregate.add(state, *arguments)
        return state

    def merged(self, one: Any, other: Any) -> Any:
        # A user's merge may change what it is given, and the first state is needed again.
        return self._aggregate.merge(json.loads(json.dumps(one)), other)

    def finished(self, make: Callable[[], Any]) -> Any:
        """The result of a state; None if a function raises."""
        try:
            return self._aggregate.finish(make())
        except Exception as error:  # a user's code may raise anything
            self.failed(error)
            return None

    def failed(self, error: Exception) -> None:
        self._notice(f"{self._aggregate.name}: {type(error).__name__}: {error}")

    def results(self, made: Sequence[Any], type_: pa.DataType) -> pa.Array:
        """Results as a column; what is not of the declared type is NULL."""
        try:
            return pa.array(made).cast(type_) if len(made) else pa.nulls(0, type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            self.failed(error)
            return pa.nulls(len(made), type_)


class UserFold:
    """Over rows that end: keeps nothing of its own beside the multiset of values."""

    state: tuple[pa.DataType, ...] = ()
    parts: tuple[pa.DataType, ...] = ()

    def __init__(self, steps: UserSteps, type_: pa.DataType) -> None:
        self._steps, self._type = steps, type_

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        assert changes.counted is not None
        layout, items = changes.layout, ValueItems.of(changes.layout, changes.counted)
        values = items.pool.take(pa.array(items.places_of)).to_pylist()
        bounds = np.searchsorted(items.place, np.append(layout.first, layout.size))
        made: list[Any] = []
        for group in range(layout.groups):
            part = slice(bounds[group], bounds[group + 1])
            columns = (items.place[part], items.rank[part], items.weight[part])
            made += self._group(layout.first[group], layout.last[group], columns, values)
        return self._steps.results(made, self._type), []

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: states are the user's."""
        return []

    def _group(
        self, first: int, last: int, items: tuple[AnyArray, AnyArray, AnyArray], values: list[Any]
    ) -> list[Any]:
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
            results.append(self._result(base, fixed, live))
        return results

    def _result(self, base: list[Any], fixed: list[tuple[Any, int]], live: list[tuple[Any, int]]) -> Any:
        if not fixed and not live:
            return None

        def state() -> Any:
            if not fixed:
                return self._steps.folded(live)
            if not base:
                base.append(self._steps.folded(fixed))
            return self._steps.merged(base[0], self._steps.folded(live))

        return self._steps.finished(state)


class LastingUserFold:
    """Over rows that never end: the accumulator is the user's state, as JSON; NULL before the first value."""

    state: tuple[pa.DataType, ...] = (pa.string(),)
    parts: tuple[pa.DataType, ...] = ()

    def __init__(self, steps: UserSteps, type_: pa.DataType) -> None:
        self._steps, self._type = steps, type_

    def advance(
        self, changes: Changes, stored: KeyedMatches, names: Sequence[str]
    ) -> tuple[pa.Array, FoldState]:
        layout, values = changes.layout, changes.values[-1]
        order = np.lexsort((dense_ranks(values)[0], changes.places))
        coming = values.take(pa.array(order)).to_pylist()
        weights = changes.weights.take(order)
        bounds = np.searchsorted(changes.places.take(order), np.arange(layout.size + 1))
        before, made = stored.column(names[0]).to_pylist(), []
        kept: list[str | None] = []
        for place, group in enumerate(layout.group.tolist()):
            state = before[group] if place == layout.first[group] else kept[-1]
            part = slice(bounds[place], bounds[place + 1])
            kept.append(self._added(state, coming[part], weights[part].tolist()))
            made.append(self._result(kept[-1]))
        states = pa.array([kept[place] for place in layout.last.tolist()], pa.string())
        return self._steps.results(made, self._type), [states]

    def part(self, changes: Changes, value: pa.Array, start: pa.Array | None) -> list[pa.Array]:
        """It has none: states are the user's."""
        return []

    def _added(self, state: str | None, values: list[Any], counts: list[int]) -> str | None:
        if state == _FAILED or not values:
            return state
        pairs = zip(values, counts, strict=True)
        try:
            made = self._steps.folded(pairs) if state is None else self._steps.added(json.loads(state), pairs)
            return json.dumps(made)
        except Exception as error:  # a user's code may raise anything
            self._steps.failed(error)
            return _FAILED

    def _result(self, state: str | None) -> Any:
        return None if state is None or state == _FAILED else self._steps.finished(lambda: json.loads(state))


def pack_arguments(*arguments: AnyArray) -> AnyArray:
    """Several arguments as one text, so that they are one value.

    >>> pack_arguments(np.array([1, 2]), np.array(["a", "b"], object)).tolist()
    ['[1, "a"]', '[2, "b"]']
    """
    rows = zip(*(argument.tolist() for argument in arguments), strict=True)
    return np.array([json.dumps(row, default=str) for row in rows], object)
