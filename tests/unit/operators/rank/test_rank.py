"""Ranks against brute force, under many cuts into steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cmp_to_key
from random import Random
from typing import Any

import pytest

from seine.algebra.expressions import Column
from seine.algebra.rank_plan import DENSE_RANK, RANK_FUNCTIONS, ROW_NUMBER, Ordering
from seine.algebra.types import BIGINT, DOUBLE, INT, STRING
from seine.graph.node import Port
from seine.operators.rank.rank import RankNode, RankOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.changelog_law import (
    Results,
    Row,
    World,
    batch_of,
    canonical,
    drive,
    emitted_records,
    expected,
    random_rows,
)
from tests.support.seeds import seeds

TYPES = (BIGINT, BIGINT, STRING, DOUBLE)  # tag, wanted, partition, order
ORDERS = [Ordering(3, False, True), Ordering(3, True, False), Ordering(3, True, True)]
LIVES = ["retracted", "joined", "expiring", "lasting"]


def node(function: str, order: Ordering, numbered: bool, lives: str) -> RankNode:
    key = (Column(0, BIGINT), Column(2, STRING))
    port = Port(0, TYPES, ("a",), int(lives in ("retracted", "joined")), key)
    types = (*TYPES, INT) if numbered else TYPES
    common = (9, (port,), types, tuple(range(len(types))), ("a",), ("a",), 1, 1, "")
    return RankNode(*common, function, (order,), numbered, True, lives == "lasting")


def world(random: Random, lives: str) -> World:
    def value() -> tuple[Any, ...]:
        tag = random.randint(1, 2)
        number = random.choice([0.0, -0.0, 1.5, 2.5, float("nan"), None])
        return tag, 2 * tag - 1, random.choice(["x", None]), number

    rows = random_rows(random, 70, value)
    if lives == "joined":
        rows = [row for at in range(0, len(rows), 5) for row in _pairs_of_one(rows[at : at + 5], random)]
    elif lives != "retracted":
        rows = [replace(row, early=None) for row in rows]
    if lives == "lasting":
        rows = [replace(row, end=FOREVER) for row in rows]
    return World([type_.arrow() for type_ in TYPES], rows, lambda batch: [batch["c0"], batch["c2"]])


def _pairs_of_one(rows: list[Row], random: Random) -> list[Row]:
    """Rows with the identity of the one tuple that may be deleted, and then end together."""
    deleted = max(row.start for row in rows) + random.randint(1, 8)
    shared = [replace(row, identity=rows[0].identity) for row in rows]
    return [replace(row, early=deleted if deleted < row.end else None) for row in shared]


def _compared(one: Any, other: Any, order: Ordering) -> int:
    """NaN is the greatest number; NULL comes where it is told to."""
    if one is None or other is None:
        first = -1 if order.nulls_first else 1
        return 0 if one is other else first if one is None else -first
    pair = [(number == "NaN", 0 if number == "NaN" else number) for number in (one, other)]
    sign = (pair[0] > pair[1]) - (pair[0] < pair[1])
    return -sign if order.descending else sign


def ranked(function: str, order: Ordering, numbered: bool) -> Callable[[list[Row]], Results]:
    """The rows that are among the first of their partition, with their numbers; equal ones are counted."""

    def compare(one: tuple[Any, ...], other: tuple[Any, ...]) -> int:
        return _compared(one[1][3], other[1][3], order) or (one[0] > other[0]) - (one[0] < other[0])

    def results(rows: list[Row]) -> Results:
        partitions: dict[Any, list[tuple[int, tuple[Any, ...]]]] = {}
        for row in rows:
            values = tuple(canonical(value) for value in row.values)
            partitions.setdefault(values[:3], []).append((row.start, values))
        shown: Counter[tuple[Any, ...]] = Counter()
        for (_, wanted, _), members in partitions.items():
            members.sort(key=cmp_to_key(compare))
            for place, (start, values) in enumerate(members):
                better = [one for _, one in members if _compared(one[3], values[3], order) < 0]
                distinct = {one[3] for one in better}
                counts = {ROW_NUMBER: place, DENSE_RANK: len(distinct)}
                number = counts.get(function, len(better))
                if number < wanted:
                    shown[(*values, number + 1) if numbered else values, start] += 1
        return {(*key, copy): key[0] for key, count in shown.items() for copy in range(count)}

    return results


def _without_starts(records: Counter) -> Counter:
    """Of rows that nothing tells apart any may end: since when it was there does not matter."""
    plain: Counter = Counter()
    for record, count in records.items():
        plain[(record[0], *record[-2:])] += count
    return plain


@seeds(2)
@pytest.mark.parametrize("lives", LIVES)
@pytest.mark.parametrize("numbered", [False, True])
@pytest.mark.parametrize("function", RANK_FUNCTIONS)
def test_the_first_rows_of_partitions(function: str, numbered: bool, lives: str, seed: int) -> None:
    random = Random(f"{seed} {function} {numbered} {lives}")
    rows, order = world(random, lives), random.choice(ORDERS)
    wanted = _without_starts(expected(rows, ranked(function, order, numbered), None))
    assert wanted.total() > 10
    for steps in (1, 4, 17):
        operator = RankOperator(node(function, order, numbered, lives))
        records = _without_starts(emitted_records(drive(rows, operator, steps, random)))
        assert records == wanted, (steps, wanted - records, records - wanted)


def _fed(operator: RankOperator, rows: list[Row], types: World) -> MemoryStore:
    store = MemoryStore()
    for row in rows:
        clock = Clock({"a": row.start + 1}, {"plain": row.start}, {})
        list(operator.step([[Delta(batch_of(types, [row], False))]], clock, store))
    return store


def test_of_rows_that_last_only_the_first_are_kept() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c2"]])
    rows = [Row(0, at, FOREVER, None, (1, 3, "x", float(at % 7))) for at in range(300)]
    operator = RankOperator(node(ROW_NUMBER, ORDERS[1], False, "lasting"))
    store = _fed(operator, rows, types)
    assert len(operator._shown.everything(store)["c3"]) == 3
    assert operator._live.size(store) == 0


def test_of_rows_that_expire_those_are_kept_that_few_better_ones_outlive() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c2"]])
    rows = [Row(0, at, at + 100, None, (1, 2, "x", float(at))) for at in range(300)]
    operator = RankOperator(node(ROW_NUMBER, ORDERS[1], False, "expiring"))
    store = _fed(operator, rows, types)  # a later row is better, and lives longer
    assert operator._live.everything(store).num_rows == 2
    falling = [Row(0, at, at + 100, None, (1, 2, "x", -float(at))) for at in range(300)]
    store = _fed(RankOperator(node(ROW_NUMBER, ORDERS[1], False, "expiring")), falling, types)
    assert operator._live.everything(store).num_rows == 100
