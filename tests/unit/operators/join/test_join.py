"""Joins of rows that only append, against nested loops, for every kind of key and any cut into steps."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, Type
from seine.operators.state.store import MemoryStore
from seine.rows import grouping
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.join_streams import Row, Side, append_steps, drive, joining, shuffled, stream
from tests.support.seeds import seed_range

DECIMAL = Type.parse("DECIMAL(25,2)")
POOLS: dict[str, tuple[Type, list[Any]]] = {
    "bigint": (BIGINT, [1, 2, 3, -(2**63), None]),
    "string": (STRING, ["", "a", "b", "long " * 60, None]),
    "double": (DOUBLE, [0.0, -0.0, 1.5, float("nan"), None]),
    "decimal": (DECIMAL, [Decimal("1.50"), Decimal("10") ** 20, Decimal("-0.01"), None]),
    "date": (DATE, [dt.date(2020, 1, 1), dt.date(1960, 1, 1), None]),
}
LESS = Call("lt", (Column(1, BIGINT), Column(3, BIGINT)), BOOLEAN)


def random_rows(rng: random.Random, pool: list[Any], count: int, life: int | None) -> list[Row]:
    rows = []
    for _ in range(count):
        start = rng.randint(-20, 60)
        window = rng.choice([life, life, rng.randint(1, life)]) if life else None
        end = FOREVER if window is None else start + window
        rows.append(Row(start, end, (rng.choice(pool), rng.choice([0, 1, 2, 3, None]))))
    return shuffled(rng, rows, 12)


def same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and (a == b or (a != a and b != b))


def expected(left: list[Row], right: list[Row], keyed: bool, residual: bool, out: tuple[int, ...]) -> Counter:
    emitted: Counter = Counter()
    for a in left:
        for b in right:
            start, end = max(a.start, b.start), min(a.end, b.end)
            values = a.values + b.values
            less = None not in (values[1], values[3]) and values[1] < values[3]
            if start < end and (same(values[0], values[2]) or not keyed) and (less or not residual):
                picked = (values[i] for i in out)
                emitted[(start, end, *("NaN" if v != v else v for v in picked))] += 1
    return emitted


@pytest.mark.parametrize("chunk", [7, grouping.MAX_PAIRS_AT_ONCE])
@pytest.mark.parametrize("residual", [None, LESS])
@pytest.mark.parametrize("pool", [*POOLS, "none"])
def test_join_is_a_nested_loop(
    pool: str, residual: Expression | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping.ranges, "__defaults__", (chunk,))
    type_, values = POOLS.get(pool, POOLS["bigint"])
    side = Side((type_, BIGINT), (Column(0, type_),) if pool != "none" else ())
    total = 0
    for seed in seed_range(12):
        rng = random.Random(seed)
        life = rng.choice([None, 5, 15])
        left, right = (random_rows(rng, values, rng.randint(0, 60), life) for _ in range(2))
        out = rng.choice([(0, 1, 2, 3), (3,), (0, 3), (1,)])
        plus, minus, sizes = drive(
            joining(side, side, residual, out),
            append_steps(rng, (side, side), (left, right), rng.randint(1, 12)),
        )
        assert plus == expected(left, right, pool != "none", residual is not None, out)
        assert not minus and sizes[-1] == 0
        total += plus.total()
    assert total > 100


def test_two_key_columns_and_computed_keys() -> None:
    double = Call("add", (Column(1, BIGINT), Column(1, BIGINT)), BIGINT)
    rng = random.Random(3)
    rows = [random_rows(rng, ["a", "b", None], 50, 15) for _ in range(2)]
    emitted: Counter = Counter()
    for a in rows[0]:
        for b in rows[1]:
            start, end = max(a.start, b.start), min(a.end, b.end)
            if start < end and same(a.values[0], b.values[0]) and same(a.values[1], b.values[1]):
                emitted[(start, end, a.values[1])] += 1
    for second in (Column(1, BIGINT), double):
        # The hash of a computed key may be that of the column: what counts is that equal keys agree.
        side = Side((STRING, BIGINT), (Column(0, STRING), second))
        steps = append_steps(rng, (side, side), rows, 5)
        plus, _, _ = drive(joining(side, side, None, (1,)), steps)
        assert plus == emitted and emitted.total() > 10


def test_unequal_keys_of_equal_hash_do_not_join() -> None:
    side = Side((STRING,), (Column(0, STRING),))
    batches = [side.batch([Row(0, 9, (text,))]) for text in ("x", "y")]
    forged = [b.set_column(0, "_k", pa.array(np.array([5], np.int64))) for b in batches]
    clock = Clock({stream(0): 0, stream(1): 0})
    operator = joining(side, side, None, (0, 1))
    apart = list(operator.step([[Delta(forged[0])], [Delta(forged[1])]], clock, MemoryStore()))
    together = list(operator.step([[Delta(forged[0])], [Delta(forged[0])]], clock, MemoryStore()))
    assert sum(d.num_rows for d in apart) == 0 and sum(d.num_rows for d in together) == 1


def test_a_row_without_future_partners_is_not_kept() -> None:
    side = Side((BIGINT,), (Column(0, BIGINT),))
    operator, store = joining(side, side, None, (0, 1)), MemoryStore()
    left = side.delta([Row(0, 10, (1,)), Row(5, 15, (1,))])
    list(operator.step([[left], []], Clock({stream(0): 5, stream(1): 10}), store))
    assert operator.state_rows(store) == 1
    list(operator.step([[], []], Clock({stream(0): 5, stream(1): FOREVER}), store))
    assert operator.state_rows(store) == 0 and not store.runs


def test_state_follows_the_window_not_the_history() -> None:
    side = Side((BIGINT, BIGINT), (Column(0, BIGINT),))
    operator, store = joining(side, side, None, (1, 3)), MemoryStore()
    rng = np.random.default_rng(0)
    runs, total = [], 0
    for step in range(200):
        starts = np.arange(step * 50, step * 50 + 50)
        inputs = []
        for _ in range(2):
            rows = [Row(int(s), int(s) + 1000, (int(rng.integers(500)), int(s))) for s in starts]
            inputs.append([side.delta(rows)])
        mark = step * 50 + 50
        total += sum(
            d.num_rows for d in operator.step(inputs, Clock({stream(0): mark, stream(1): mark}), store)
        )
        runs.append(len(store.runs))
        assert operator.state_rows(store) <= 2 * 1000 * 1.35
    assert max(runs) < 60 and total > 1000
