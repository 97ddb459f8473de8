"""Rows of a join with groups leave when nothing can join or end them any more, and no answer changes."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BIGINT, BOOLEAN
from seine.operators.join import settled_rows
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.join.settled_rows import settling_of
from seine.operators.match.any_of import any_of
from seine.operators.state import runs
from seine.rows.delta import FOREVER
from tests.support.join_streams import Row, Side, condition_filters, drive, event_steps, events, stream
from tests.support.row_pairs import emitted, nested_loop
from tests.support.seeds import seed_range

LENGTH = 10
BUCKET = Call("int_div", (Column(0, BIGINT), Literal(LENGTH, BIGINT)), BIGINT)
RISING = (FinalTime(0, (BUCKET,)),)
WITHIN = Call(
    "le", (Call("linear[-1,1]", (Column(0, BIGINT), Column(2, BIGINT)), BIGINT), Literal(1, BIGINT)), BOOLEAN
)


def groups(rng: random.Random, count: int) -> list[Row]:
    """Rows of groups by a bucket of time: they begin and end early within it."""
    rows = []
    for number in range(count):
        bucket = rng.randint(0, 9)
        start = LENGTH * bucket + rng.randint(0, LENGTH - 2)
        early = rng.choice([None, rng.randint(start + 1, LENGTH * bucket + LENGTH - 1)])
        rows.append(Row(start, FOREVER, (bucket, rng.randint(0, 3)), (number,), early))
    return rows


def tuples_of(rng: random.Random, count: int) -> list[Row]:
    """Tuples of a stream without a window, with their bucket."""
    starts = [rng.randint(0, 10 * LENGTH - 1) for _ in range(count)]
    return [Row(start, FOREVER, (start // LENGTH, rng.randint(0, 3))) for start in starts]


def join_of(
    key: tuple[Expression, ...], condition: Expression | None, both: bool
) -> tuple[JoinOperator, list[Side]]:
    sides = [Side((BIGINT, BIGINT), key, 1), Side((BIGINT, BIGINT), key, int(both))]
    filters, tables = condition_filters([condition])
    node = JoinNode(
        id=9,
        ports=(sides[0].port(0), sides[1].port(1)),
        types=(BIGINT,) * 4,
        out=(0, 1, 2, 3),
        streams=(stream(0), stream(1)),
        hold=(stream(0), stream(1)) if both else (stream(0),),
        identities=1 + both,
        stage=1,
        owner="",
        filters=filters,
        rising=(RISING, RISING),
    )
    return JoinOperator(node, any_of(filters, tables), settling=settling_of(node, tables)), sides


@pytest.mark.parametrize("both", [False, True])
def test_settled_rows_leave_and_no_pair_is_lost(both: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "TOMBSTONES_BEFORE_SWEEP", 0)
    total = Counter()
    for seed in seed_range(24):
        rng = random.Random(seed)
        monkeypatch.setattr(settled_rows, "ROWS_LOOKED_AT_A_STEP", rng.choice([0, 4096]))
        operator, sides = join_of((Column(0, BIGINT),), None, both)
        rows = [groups(rng, 40), groups(rng, 40) if both else tuples_of(rng, 40)]
        queues = [events(rng, of_side, 4) for of_side in rows]
        plus, minus, sizes = drive(operator, event_steps(rng, sides, queues, 20))
        assert (plus, minus) == emitted(nested_loop(*rows, True, False))
        total += Counter(plus=plus.total(), minus=minus.total(), most=max(sizes), rows=80)
    assert total["plus"] > 500 and total["minus"] > 100
    assert total["most"] < total["rows"] * 0.7


def test_a_bound_on_a_rising_column_closes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an equality of the buckets: no tuple is more than a bucket behind its group."""
    monkeypatch.setattr(runs, "TOMBSTONES_BEFORE_SWEEP", 0)
    operator, sides = join_of((Column(1, BIGINT),), WITHIN, False)
    most = []
    for seed in seed_range(12):
        rng = random.Random(seed)
        rows = [groups(rng, 40), tuples_of(rng, 40)]
        queues = [events(rng, of_side, 4) for of_side in rows]
        plus, minus, sizes = drive(operator, event_steps(rng, sides, queues, 20))
        pairs = [
            pair
            for pair in nested_loop(
                *[[replace(r, values=r.values[::-1]) for r in side] for side in rows], True, False
            )
            if pair.values[3] - pair.values[1] <= 1
        ]
        turned = [replace(p, values=(p.values[1], p.values[0], p.values[3], p.values[2])) for p in pairs]
        assert (plus, minus) == emitted(turned) and plus
        most.append(max(sizes))
    assert min(most) < 80
