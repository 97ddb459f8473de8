"""Users' aggregates with init, add, merge and finish, against brute force, under many cuts into steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from seine.algebra import aggregates
from seine.algebra.expressions import Column
from seine.algebra.functions.aggregate_calls import keeps_bounded_state
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, STRING
from seine.errors import SeineError
from seine.operators.group.aggregate import AggregateOperator
from seine.rows.delta import FOREVER
from tests.support.aggregate_law import N, S, node, world
from tests.support.changelog_law import Results, Row, check
from tests.support.seeds import seeds

KEYS = (Column(0, STRING),)


class Polynomial(aggregates.FoldedAggregate):
    """How often each value is there, as a text; a state that is changed in place."""

    name = "tally_of"
    arguments = (BIGINT,)
    result = STRING

    def init(self) -> Any:
        return {}

    def add(self, state: Any, value: int) -> Any:
        state[str(value)] = state.get(str(value), 0) + 1
        return state

    def merge(self, one: Any, other: Any) -> Any:
        for value, count in other.items():
            one[value] = one.get(value, 0) + count
        return one

    def finish(self, state: Any) -> Any:
        if "3" in state:
            raise ValueError("three")
        return " ".join(f"{value}:{count}" for value, count in sorted(state.items()))


class Longest(aggregates.FoldedAggregate):
    """The largest sum of a number and the length of a text."""

    name = "longest"
    arguments = (BIGINT, STRING)
    result = BIGINT
    bounded = True

    def init(self) -> Any:
        return None

    def add(self, state: Any, number: int, text: str) -> Any:
        return max(number + len(text), state if state is not None else number + len(text))

    def merge(self, one: Any, other: Any) -> Any:
        return max((x for x in (one, other) if x is not None), default=None)

    def finish(self, state: Any) -> Any:
        return state


CALLS = (AggregateCall("tally_of", (N,), STRING), AggregateCall("longest", (N, S), BIGINT))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for one in (Polynomial, Longest):
        aggregates.register(one)
    yield
    for one in (Polynomial, Longest):
        aggregates.unregister(one.name)


def expected(rows: list[Row]) -> Results:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.values[0],), []).append(row)
    return {key: (*key, tally(members), longest(members)) for key, members in groups.items()}


def tally(rows: list[Row]) -> str | None:
    numbers = [row.values[2] for row in rows if row.values[2] is not None]
    if not numbers or 3 in numbers:
        return None
    return " ".join(sorted(f"{n}:{numbers.count(n)}" for n in set(numbers)))


def longest(rows: list[Row]) -> int | None:
    pairs = [(row.values[2], row.values[5]) for row in rows]
    return max((n + len(s) for n, s in pairs if n is not None and s is not None), default=None)


@pytest.mark.parametrize("lasting", [False, True])
@seeds(8)
def test_groups_follow_event_time(seed: int, lasting: bool) -> None:
    random = Random(seed)
    rows = world(random, KEYS, False, hashes=None)
    if lasting:
        for row in rows.rows:
            row.end, row.early = FOREVER, None
    made = replace(node(KEYS, CALLS), lasting=lasting)
    operators: list[AggregateOperator] = []

    def operator() -> AggregateOperator:
        operators.append(AggregateOperator(made))
        return operators[-1]

    records = check(rows, operator, expected, random)
    assert sum(records.values()) > 20
    assert {text for one in operators for text in one.notices} <= {"tally_of: ValueError: three"}


def test_state_is_bounded_only_if_it_is_declared_so() -> None:
    assert not keeps_bounded_state(CALLS[0], lasting=True)
    assert keeps_bounded_state(CALLS[1], lasting=True)
    assert not keeps_bounded_state(CALLS[1], lasting=False)


def test_what_lacks_a_step_is_refused() -> None:
    class Half(aggregates.FoldedAggregate):
        name = "half"

        def init(self) -> Any:
            return 0

        def finish(self, state: Any) -> Any:
            return state

    with pytest.raises(SeineError, match="aggregate Half does not say how to add"):
        aggregates.register(Half)
