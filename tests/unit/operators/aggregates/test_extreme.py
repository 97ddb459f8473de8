"""Extremes of rows that never end, alone and as parts, against brute force, under many cuts into steps."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from seine.algebra.expressions import Column
from seine.algebra.types import DOUBLE, STRING
from seine.operators.group.aggregate import AggregateOperator
from seine.operators.state.store import MemoryStore
from seine.rows.delta import FOREVER
from tests.support.aggregate_law import CALLS, node, reference, world
from tests.support.changelog_law import World, check
from tests.support.regrouped_chain import Chain, behind, coarser
from tests.support.seeds import seeds

KEYS = (Column(0, STRING), Column(1, DOUBLE))
EXTREMES = tuple(one for one in CALLS if one.function in ("min", "max"))


def lasting_world(random: Random, keys: tuple[Column, ...], wild: bool) -> World:
    rows = world(random, keys, wild, hashes=None)
    for row in rows.rows:
        row.end, row.early = FOREVER, None
    return rows


@pytest.mark.parametrize("wild", [False, True])
@seeds(6)
def test_groups_follow_event_time(seed: int, wild: bool) -> None:
    random = Random(seed)
    rows = lasting_world(random, KEYS, wild)
    made = replace(node(KEYS, EXTREMES), lasting=True)
    records = check(rows, lambda: AggregateOperator(made), reference(KEYS, EXTREMES), random)
    assert sum(records.values()) > 10


@seeds(6)
def test_every_function_beside_them(seed: int) -> None:
    random = Random(seed)
    rows = lasting_world(random, KEYS, False)
    made = replace(node(KEYS), lasting=True)
    assert check(rows, lambda: AggregateOperator(made), reference(KEYS, CALLS), random)


@seeds(6)
def test_coarser_groups_take_parts(seed: int) -> None:
    random = Random(seed)
    rows = lasting_world(random, KEYS, seed % 2 == 1)
    fine = replace(node(KEYS, EXTREMES[:1]), carried=EXTREMES, lasting=True)
    above = replace(coarser(KEYS, KEYS[:1], tuple(behind(one, len(KEYS)) for one in EXTREMES)), lasting=True)
    records = check(rows, lambda: Chain(fine, above), reference(KEYS[:1], EXTREMES), random)
    assert sum(records.values()) > 10


def test_one_value_is_kept_for_each_group() -> None:
    random = Random(5)
    rows = lasting_world(random, KEYS, False)
    stores: list[MemoryStore] = []

    class Watched(AggregateOperator):
        def step(self, inputs: Any, clock: Any, store: Any) -> Any:
            stores.append(store)
            return super().step(inputs, clock, store)

    made = replace(node(KEYS, EXTREMES), lasting=True)
    check(rows, lambda: Watched(made), reference(KEYS, EXTREMES), random)
    assert stores and not any(name.startswith("values") for store in stores for name in store.head)
