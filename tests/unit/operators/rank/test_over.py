"""Window functions with frames against brute force, under many cuts into steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from seine.algebra.expressions import Column, Literal
from seine.algebra.functions import resolve_aggregate
from seine.algebra.plan import AggregateCall
from seine.algebra.rank_plan import (
    LAG,
    LAST_VALUE,
    NTH_VALUE,
    RANGE,
    ROWS,
    Frame,
    FrameReach,
    Ordering,
    OverFunction,
)
from seine.algebra.types import BIGINT, STRING
from seine.graph.node import Port
from seine.operators.rank import over
from seine.operators.rank.over import OverNode, OverOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.changelog_law import (
    Results,
    Row,
    World,
    batch_of,
    drive,
    emitted_records,
    expected,
    random_rows,
)
from tests.support.seeds import seeds

TYPES = (BIGINT, STRING, BIGINT, BIGINT)  # tag, partition, value, time
VALUE = Column(2, BIGINT)
SUM = resolve_aggregate("sum", [VALUE], False)
BACK = (
    OverFunction(SUM, Frame(ROWS, -2, 0)),
    OverFunction(AggregateCall(LAG, (VALUE, Literal(9, BIGINT)), BIGINT), Frame(ROWS, -1, -1)),
    OverFunction(SUM, Frame(RANGE, -4, 0)),
)
AROUND = (
    OverFunction(SUM, Frame(ROWS, -1, 1)),
    OverFunction(AggregateCall(LAST_VALUE, (VALUE,), BIGINT), Frame(ROWS, None, None)),
    OverFunction(SUM, Frame(RANGE, None, 3)),
)
NEAR = (  # no frame goes by values: of a large partition only some rows may change
    OverFunction(SUM, Frame(ROWS, -1, 0)),
    OverFunction(AggregateCall(LAG, (VALUE, Literal(9, BIGINT)), BIGINT), Frame(ROWS, -2, -2)),
)
RUNNING = (
    OverFunction(SUM, Frame(ROWS, None, 0)),
    OverFunction(AggregateCall(NTH_VALUE, (VALUE, Literal(2, BIGINT)), BIGINT), Frame(ROWS, None, 0)),
    OverFunction(SUM, Frame(RANGE, None, 0)),
)
LATELY = (  # rows go out of reach by their age alone
    OverFunction(SUM, Frame(RANGE, -4, 0)),
    OverFunction(SUM, Frame(RANGE, -6, -2)),
)
AHEAD = (OverFunction(SUM, Frame(ROWS, 1, 2)), OverFunction(SUM, Frame(ROWS, 0, 1)))


def node(functions: tuple[OverFunction, ...], lives: str) -> OverNode:
    key = (Column(0, BIGINT), Column(1, STRING))
    port = Port(0, TYPES, ("a",), int(lives == "retracted"), key)
    types = (*TYPES, *(one.call.type for one in functions))
    common = (9, (port,), types, tuple(range(len(types))), ("a",), ("a",), 1, 1, "")
    reaches = {RUNNING: FrameReach(0, 0, first=2, running=True), LATELY: FrameReach(0, 6)}
    fixed = reaches.get(functions, FrameReach(2, 4))
    return OverNode(*common, functions, (Ordering(3),), True, fixed if lives == "fixed" else None)


def world(random: Random, lives: str) -> World:
    def value() -> tuple[Any, ...]:
        return random.randint(1, 2), random.choice(["x", None]), random.choice([1, 2, 5, None])

    rows = [replace(row, values=(*row.values, row.start)) for row in random_rows(random, 50, value)]
    if lives != "retracted":
        rows = [replace(row, early=None) for row in rows]
    if lives == "fixed":
        rows = [replace(row, end=FOREVER) for row in rows]
    return World([type_.arrow() for type_ in TYPES], rows, lambda batch: [batch["c0"], batch["c1"]])


def _frame_of(frame: Frame, members: list[tuple[Any, ...]], at: int) -> list[Any]:
    """The values in the frame of a row, all others being looked at."""
    inside = []
    for place, other in enumerate(members):
        distance = place - at if frame.unit == ROWS else other[3] - members[at][3]
        if (frame.start is None or frame.start <= distance) and (frame.end is None or distance <= frame.end):
            inside.append(other[2])
    return inside


def _result(function: OverFunction, inside: list[Any]) -> Any:
    if function.call.function == LAG:
        return inside[0] if inside else 9
    if function.call.function == NTH_VALUE:
        return inside[1] if len(inside) > 1 else None
    if function.call.function == LAST_VALUE:
        return inside[-1] if inside else None
    known = [value for value in inside if value is not None]
    return sum(known) if known else None


def framed(functions: tuple[OverFunction, ...]) -> Callable[[list[Row]], Results]:
    def results(rows: list[Row]) -> Results:
        partitions: dict[Any, list[tuple[Any, ...]]] = {}
        for row in rows:
            partitions.setdefault(row.values[:2], []).append(row.values)
        shown: Counter = Counter()
        for members in partitions.values():
            members.sort(key=lambda one: (one[3], one[2] is not None, one[2] or 0))
            for at, values in enumerate(members):
                made = [_result(function, _frame_of(function.frame, members, at)) for function in functions]
                shown[(*values, *made)] += 1
        return {(row, copy): row for row, count in shown.items() for copy in range(count)}

    return results


def _without_starts(records: Counter) -> Counter:
    plain: Counter = Counter()
    for record, count in records.items():
        plain[(record[0], *record[-2:])] += count
    return plain


@seeds(3)
@pytest.mark.parametrize(
    ("functions", "lives"),
    [
        (BACK, "fixed"),
        (RUNNING, "fixed"),
        (LATELY, "fixed"),
        *(
            (functions, lives)
            for functions in (BACK, AROUND, NEAR, AHEAD, RUNNING)
            for lives in ("expiring", "retracted")
        ),
    ],
)
def test_rows_have_the_values_of_their_frames(
    functions: tuple[OverFunction, ...], lives: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over, "MOST_CELLS", (1, 50, 1 << 20)[seed % 3])
    random = Random(f"{seed} {lives}")
    rows = world(random, lives)
    wanted = _without_starts(expected(rows, framed(functions), None))
    assert wanted.total() > 20
    for steps in (1, 4, 15):
        deltas = drive(rows, OverOperator(node(functions, lives)), steps, random)
        deltas = [one if one.minus is not None else Delta(one.plus, one.plus.slice(0, 0)) for one in deltas]
        records = _without_starts(emitted_records(deltas))
        assert records == wanted, (steps, wanted - records, records - wanted)


def test_of_fixed_values_only_rows_in_reach_are_kept() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c1"]])
    operator, store = OverOperator(node(BACK, "fixed")), MemoryStore()
    for at in range(200):
        row = Row(0, at, FOREVER, None, (1, "x", at, at))
        clock = Clock({"a": at + 1}, {"plain": at}, {})
        list(operator.step([[Delta(batch_of(types, [row], False))]], clock, store))
    assert operator._live.everything(store).num_rows == 4
    assert operator._shown.size(store) == 0


def test_rows_out_of_reach_by_time_go_though_nothing_comes_to_their_partitions() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c1"]])
    operator, store = OverOperator(node(LATELY, "fixed")), MemoryStore()

    def held(rows: list[Row], progress: int) -> int:
        clock = Clock({"a": progress}, {"plain": progress}, {})
        pieces = [Delta(batch_of(types, rows, False))] if rows else []
        assert sum(delta.plus.num_rows for delta in operator.step([pieces], clock, store)) == len(rows)
        return operator._live.everything(store).num_rows

    for at in range(200):  # a hundred keys at each instant, which never come again
        rows = [Row(0, at, FOREVER, None, (1, f"{at} {key}", at, at)) for key in range(100)]
        assert held(rows, at + 1) == 100 * min(at + 1, 6)
        assert operator.group_rows(store) < 4000
    assert held([], 205) == 100 and held([], 206) == 0
    assert operator.group_rows(store) == 0 and not store.head["expiries"]


def test_a_row_at_the_last_permitted_moment_has_what_is_just_in_reach() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c1"]])
    operator, store = OverOperator(node(LATELY, "fixed")), MemoryStore()

    def sums(at: int, now: int) -> list[tuple[int, int]]:
        rows = [Row(0, at, FOREVER, None, (1, "x", 1, at))]
        clock = Clock({"a": now}, {"plain": now}, {})
        deltas = operator.step([[Delta(batch_of(types, rows, False))]], clock, store)
        return [
            pair
            for one in deltas
            for pair in zip(*(one.plus[c].to_pylist() for c in ("c4", "c5")), strict=True)
        ]

    assert sums(10, 16) == [(1, None)]
    assert sums(16, 17) == [(1, 1)]  # the watermark was at 16: the row of 10 is just in reach
    assert sums(17, 18) == [(2, None)]


def test_a_reach_beyond_all_time_keeps_rows() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c1"]])
    functions = (OverFunction(SUM, Frame(RANGE, -FOREVER, 0)),)
    far = replace(node(functions, "fixed"), reach=FrameReach(0, FOREVER))
    operator, store = OverOperator(far), MemoryStore()
    totals = []
    for at in (-5, 3, FOREVER - 9):
        rows = [Row(0, at, FOREVER, None, (1, "x", 1, at))]
        clock = Clock({"a": at + 1}, {"plain": at + 1}, {})
        for delta in operator.step([[Delta(batch_of(types, rows, False))]], clock, store):
            totals += delta.plus["c4"].to_pylist()
    assert totals == [1, 2, 3]


def test_of_running_values_no_row_is_kept_but_the_first_ones() -> None:
    types = World([type_.arrow() for type_ in TYPES], [], lambda batch: [batch["c0"], batch["c1"]])
    operator, store = OverOperator(node(RUNNING, "fixed")), MemoryStore()

    def totals(partition: str, value: int, at: int) -> list[int]:
        row = Row(0, at, FOREVER, None, (1, partition, value, at))
        clock = Clock({"a": at + 1}, {"plain": at + 1}, {})
        deltas = operator.step([[Delta(batch_of(types, [row], False))]], clock, store)
        return [total for delta in deltas for total in delta.plus["c4"].to_pylist()]

    answers = [total for at in range(200) for total in totals("xy"[at % 2], at, at)]
    assert answers == [sum(range(at % 2, at + 1, 2)) for at in range(200)]
    assert operator._live.everything(store).num_rows == 4
    assert operator.group_rows(store) < 10
    # partitions that are over are forgotten with what was folded of them
    stay = operator.release(lambda keys: np.flatnonzero(keys["k1"].to_numpy(False) == "x"), store)
    assert stay == operator._live.everything(store).num_rows + 1 == 3
    assert totals("x", 5, 200) == [5]
