"""Aggregates against brute force with exact arithmetic, under many cuts into steps."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import pytest

from seine.algebra.expressions import Column
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, DATE, DAY_TIME, DOUBLE, INT, NULL, STRING, TIMESTAMP, Type
from seine.graph.node import Port
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.rows.delta import FOREVER, NEVER
from tests.support.aggregate_law import (
    CALLS,
    TYPES,
    N,
    X,
    aggregate,
    call,
    node,
    random_value,
    reference,
    world,
)
from tests.support.changelog_law import (
    Row,
    World,
    check,
    drive,
    emitted_records,
    random_rows,
)
from tests.support.seeds import seeds

KEYS = (Column(0, STRING), Column(1, DOUBLE))


@pytest.mark.parametrize("wild", [False, True])
@seeds(4)
def test_groups_follow_event_time(seed: int, wild: bool) -> None:
    random = Random(seed)
    rows = world(random, KEYS, wild, hashes=None)
    records = check(rows, lambda: AggregateOperator(node(KEYS)), reference(KEYS, CALLS), random)
    assert sum(records.values()) > 50


@seeds(2)
def test_colliding_hashes_do_not_mix_groups(seed: int) -> None:
    random = Random(seed)
    rows = world(random, KEYS, False, hashes=2)
    assert check(rows, lambda: AggregateOperator(node(KEYS)), reference(KEYS, CALLS), random)


@seeds(2)
def test_without_keys_there_is_one_row_from_the_beginning(seed: int) -> None:
    random = Random(seed)
    rows = world(random, (), seed % 2 == 1, hashes=None)
    rows.rows.append(Row(0, NEVER, FOREVER, 20, random_value(random, False), identity=1000))
    begin = tuple(aggregate(one, []) for one in CALLS)
    assert begin[:3] == (0, 0, None)
    check(rows, lambda: AggregateOperator(node(())), reference((), CALLS), random, begin)


@pytest.mark.parametrize("one", CALLS, ids=str)
def test_each_call_alone_is_told_only_when_it_changes(one: AggregateCall) -> None:
    random = Random(3)
    rows = world(random, KEYS, False, hashes=None)
    check(rows, lambda: AggregateOperator(node(KEYS, (one,))), reference(KEYS, (one,)), random)


def test_many_rows_through_merged_state_are_told_as_in_one_step() -> None:
    random = Random(8)

    def value() -> tuple[Any, ...]:
        return (
            f"{random.randrange(200)}",
            0.0,
            random.randrange(50),
            random.randrange(400) / 8,
            None,
            None,
            None,
        )

    calls = (
        call("min", X, DOUBLE),
        call("max", N, BIGINT),
        call("count", X, BIGINT, distinct=True),
        CALLS[3],
    )
    rows = random_rows(random, 4000, value)
    many = World([t.arrow() for t in TYPES], rows, lambda batch: [batch["c0"], batch["c1"]])
    at_once = emitted_records(drive(many, AggregateOperator(node(KEYS, calls)), 1, random))
    assert sum(at_once.values()) > 4000
    assert emitted_records(drive(many, AggregateOperator(node(KEYS, calls)), 40, random)) == at_once


ORDERED = [
    (INT, [3, -1, 2]),
    (DATE, [dt.date(2024, 2, 29), dt.date(1969, 1, 1)]),
    (TIMESTAMP, [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(1969, 1, 1, tzinfo=dt.UTC)]),
    (DAY_TIME, [dt.timedelta(seconds=5), dt.timedelta(days=-1)]),
    (NULL, [None]),
]


@pytest.mark.parametrize(("type_", "values"), ORDERED, ids=lambda value: str(value)[:12])
def test_every_type_has_extremes_and_distinct_counts(type_: Type, values: list[Any]) -> None:
    random, column = Random(2), Column(0, type_)
    calls = (call("min", column, type_), call("max", column, type_), call("count", column, BIGINT, True))
    port = Port(0, (type_,), ("a",), 1, (column,))
    results = (type_, *(one.type for one in calls))
    one = AggregateNode(9, (port,), results, tuple(range(len(results))), ("a",), ("a",), 1, 1, "", calls)
    rows = random_rows(random, 25, lambda: (random.choice([*values, None]),))
    check(World([type_.arrow()], rows), lambda: AggregateOperator(one), reference((column,), calls), random)
