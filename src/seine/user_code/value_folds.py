"""Aggregates that fold values one by one over the groups of a step: the loops of add, merge and finish.

    group of values 3 3 7     untouched: add(add(add(init, 3), 3), 7)     at a place with a new 9:
                              merge(untouched, add(init, 9)) ── finish ──> result

An aggregate that raises makes NULL of the results that it was called for and leaves a notice. A state that is
kept and could not be computed stays NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

_FAILED = "failed"  # the state of a group in which a user's function has raised; states are JSON otherwise

Counted = Iterable[tuple[Any, int]]  # values, and how often each is there
Notice = Callable[[str], None]


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
