"""Groups that sleep are told as if they were awake, under many cuts into steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT, DOUBLE, STRING
from seine.graph.node import Port
from seine.operators.group import dormant_groups
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.operators.group.dormant_groups import AWAKE, Slots
from seine.operators.group.set_operations import ExceptNode, ExceptOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.aggregate_law import call, reference
from tests.support.changelog_law import (
    Results,
    Row,
    World,
    batch_of,
    canonical,
    check,
    drive,
    emitted_records,
    random_rows,
)
from tests.support.seeds import seeds

TYPES = (STRING, BIGINT, DOUBLE)
KEYS = (Column(0, STRING), Column(1, BIGINT))
X = Column(2, DOUBLE)
CALLS = (
    call("count_all", None, BIGINT),
    call("avg", X, DOUBLE),
    call("min", X, DOUBLE),
    call("count", X, BIGINT, distinct=True),
)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Groups sleep again as soon as they may, in few slots; counts what slept, woke and was put to sleep."""
    monkeypatch.setattr(dormant_groups, "LEAST_SLOTS_PUT_TO_SLEEP", 1)
    monkeypatch.setattr(dormant_groups, "FEWEST_SLOT_BITS", 4)
    counts: Counter[str] = Counter()
    wake, turned, put_to_sleep = (
        dormant_groups.DormantGroups.wake,
        dormant_groups._turned,
        dormant_groups.DormantGroups._put_to_sleep,
    )

    def watched_wake(self: Any, due: list[pa.RecordBatch], unending: list[pa.RecordBatch]) -> Any:
        before = counts["woke"]
        kept = wake(self, due, unending)
        counts["slept"] += (
            sum(b.num_rows for b in due) - sum(b.num_rows for b in kept) + counts["woke"] - before
        )
        return kept

    def watched_turned(batch: pa.RecordBatch) -> pa.RecordBatch:
        counts["woke"] += batch.num_rows
        return turned(batch)

    def watched_put_to_sleep(self: Any, *given: Any) -> None:
        before = np.count_nonzero(self._slots.state == AWAKE)
        put_to_sleep(self, *given)
        counts["put to sleep"] += int(before - np.count_nonzero(self._slots.state == AWAKE))

    monkeypatch.setattr(dormant_groups.DormantGroups, "wake", watched_wake)
    monkeypatch.setattr(dormant_groups, "_turned", watched_turned)
    monkeypatch.setattr(dormant_groups.DormantGroups, "_put_to_sleep", watched_put_to_sleep)
    return counts


def aggregate_node() -> AggregateNode:
    types = tuple(one.type for one in (*KEYS, *CALLS))
    port = Port(0, TYPES, ("a",), 1, KEYS)
    return AggregateNode(9, (port,), types, tuple(range(len(types))), ("a",), ("a",), 1, 1, "", CALLS)


def crowd(random: Random, count: int, groups: int, open_: bool, hashes: int | None = None) -> World:
    """Rows of groups of very different sizes; `open_` says whether some never end."""

    def value() -> tuple[Any, ...]:
        number = int(groups * random.random() ** 3)
        return random.choice(["x", "y", None]), number, random.choice([1.5, 2.0, None, -0.0])

    rows = random_rows(random, count, value)
    rows = [row for row in rows if row.end < FOREVER or (open_ and random.random() < 0.1)]
    return World([t.arrow() for t in TYPES], rows, lambda batch: [batch["c0"], batch["c1"]], hashes)


def of_at_least(least: int) -> Any:
    everything = reference(KEYS, CALLS)

    def results(rows: list[Row]) -> Results:
        return {group: row for group, row in everything(rows).items() if row[len(KEYS)] >= least}

    return results


@pytest.mark.parametrize("open_", [False, True])
@seeds(6)
def test_aggregates_that_sleep_tell_groups_of_enough_rows(seed: int, open_: bool, seen: Counter[str]) -> None:
    random = Random(seed)
    least = random.choice([2, 3, 4])
    rows = crowd(random, 300, 40, open_)
    records = check(
        rows, lambda: AggregateOperator(aggregate_node(), least=least), of_at_least(least), random
    )
    assert sum(records.values()) > 5
    assert seen["slept"] and seen["woke"]


@seeds(3)
def test_groups_whose_hashes_collide_wake_up_together(seed: int, seen: Counter[str]) -> None:
    random = Random(seed)
    rows = crowd(random, 100, 12, False, hashes=3)
    assert check(rows, lambda: AggregateOperator(aggregate_node(), least=4), of_at_least(4), random)


@seeds(8)
def test_except_sleeps_where_its_first_input_has_no_row(seed: int, seen: Counter[str]) -> None:
    random = Random(seed)
    types = (STRING, BIGINT)
    key = tuple(Column(i, type_) for i, type_ in enumerate(types))
    ports = tuple(Port(i, types, (stream,), 1, key) for i, stream in enumerate("ab"))
    one = ExceptNode(9, ports, types, (0, 1), ("a", "b"), ("a", "b"), 1, 1, "")
    rows = random_rows(random, 150, lambda: (random.choice("xy"), random.randrange(30)), ports=2)
    kept = [row for row in rows if (row.port or random.random() < 0.2) and (seed % 2 or row.end < FOREVER)]

    def difference(rows: list[Row]) -> Results:
        left, right = ({tuple(map(canonical, r.values)) for r in rows if r.port == port} for port in (0, 1))
        return {row: row for row in left - right}

    world = World([t.arrow() for t in types], kept, streams=["a", "b"])
    records = check(world, lambda: ExceptOperator(one), difference, random)
    assert sum(records.values()) > 3
    assert seen["slept"]


def test_many_rows_in_growing_slots_are_told_as_in_one_step(seen: Counter[str]) -> None:
    random = Random(5)
    rows = crowd(random, 6000, 900, True)
    at_once = emitted_records(drive(rows, AggregateOperator(aggregate_node(), least=4), 1, random))
    assert sum(at_once.values()) > 1000
    assert emitted_records(drive(rows, AggregateOperator(aggregate_node(), least=4), 40, random)) == at_once
    assert seen["slept"] and seen["woke"] and seen["put to sleep"]


@seeds(4)
def test_where_waking_scans_too_much_all_stays_awake(
    seed: int, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dormant_groups, "MOST_SCANNED_PER_DUE_EVENT", 0)
    monkeypatch.setattr(dormant_groups, "MOST_SCANNED_AT_FIRST", 0)
    random = Random(seed)
    rows = crowd(random, 400, 60, seed % 2 == 1)
    assert check(rows, lambda: AggregateOperator(aggregate_node(), least=3), of_at_least(3), random)
    assert seen["woke"] and not seen["put to sleep"]


def test_rows_that_never_end_take_no_slots() -> None:
    """EXCEPT of few different rows that come for ever holds as much after many of them as after a few."""
    port = Port(0, (BIGINT,), ("a",), 1, (Column(0, BIGINT),))
    node = ExceptNode(9, (port, replace(port, node=1)), (BIGINT,), (0,), ("a",), ("a",), 1, 1, "")
    world, store, operator = World([pa.int64()], [], streams=["a"]), MemoryStore(), ExceptOperator(node)
    for step in range(300):
        rows = [Row(0, step, FOREVER, None, (n % 3,)) for n in range(10)]
        clock = Clock({"a": step + 1}, {"plain": step}, {}, end=False)
        list(operator.step([[Delta(batch_of(world, rows, False), None)]] * 2, clock, store))
    slots = Slots.load(store)
    assert slots is not None and slots.rows.sum() > 1000
    assert len(slots) == 1 << dormant_groups.FEWEST_SLOT_BITS


def test_slots_are_kept_whole_or_as_few_changes() -> None:
    store, random = MemoryStore(), np.random.default_rng(1)
    rows, state = np.zeros(1 << 10, np.int32), np.zeros(1 << 10, np.int8)
    Slots(store, 10, rows, state).save()
    for size in (3, 5, 0, 400, 2, *[10] * 20):
        loaded = Slots.load(store)
        assert loaded is not None
        assert (loaded.rows == rows).all() and (loaded.state == state).all()
        changed = np.unique(random.integers(0, 1 << 10, size))
        rows[changed] += 1
        state[changed] = AWAKE
        loaded.rows[:], loaded.state[:] = rows, state
        loaded.save(changed)
        assert len(store.runs) == 1 + len(store.head["slots"]["changes"]) <= 9


def test_the_range_of_a_slot_holds_its_hashes_alone() -> None:
    numbers = np.zeros(8, np.int32)
    slots = Slots(MemoryStore(), 3, numbers, numbers)
    low, high = slots.ranges(np.arange(8))
    assert slots.of(low).tolist() == slots.of(high).tolist() == list(range(8))
    assert (low[1:] == high[:-1] + 1).all() and low[0] == -(2**63) and high[-1] == 2**63 - 1
