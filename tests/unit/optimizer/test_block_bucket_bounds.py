"""Bounds of times in equal buckets: where the buckets are equal, the bounds hold."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Literal, shift_columns
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Project
from seine.algebra.types import BIGINT, TIMESTAMP
from seine.evaluate.evaluate import truth
from seine.optimizer.block import bucket_bounds
from tests.support.front_end import plan_of

NUMBERS = {
    "ts DIV 10": "s",
    "ts - ts % 7": "s",
    "ts - pmod(ts, 7)": "s",
    "3 * (ts DIV 10) + 1": "s",
    "ts DIV 4 DIV 3": "s",
    "window_start": "TUMBLE(TABLE s, DESCRIPTOR(ts), 12, 5)",
}
TIMES = {
    "date_trunc('week', tm)": "z",
    "date_trunc('month', tm)": "z",
    "CAST(tm AS DATE)": "z",
    "date_format(tm, 'yyyy-MM-dd')": "z",
    "left(CAST(tm AS STRING), 10)": "z",
    "unix_seconds(tm) DIV 72000": "z",
    "unix_millis(tm) - unix_millis(tm) % 90000000": "z",
    "timestamp_seconds(unix_seconds(tm) DIV 86400 * 86400)": "z",
    "date_trunc('week', timestamp_seconds(unix_seconds(tm) DIV 7200 * 7200))": "z",
    "window_end": "TUMBLE(TABLE z, DESCRIPTOR(tm), INTERVAL '90' HOUR)",
}


@pytest.mark.parametrize(("bucket", "table"), [*NUMBERS.items(), *TIMES.items()])
def test_bounds_hold_in_equal_buckets(bucket: str, table: str) -> None:
    type_ = TIMESTAMP if bucket in TIMES else BIGINT
    plan = plan_of(f"SELECT {bucket} AS b FROM {table}")
    assert isinstance(plan, Project)
    (expression,) = plan.expressions
    one, other = (shift_columns(expression, lambda _, at=at: at) for at in (0, 1))
    equal = resolve_call("eq", [one, other])
    bounds = bucket_bounds(equal)
    assert len(bounds) == 2
    rng = Random(1)
    unit = 60_000_000 * 500 if type_ == TIMESTAMP else 1
    pairs = [(rng.randint(-60, 60) * unit, rng.randint(-60, 60) * unit) for _ in range(4000)]
    columns = [pa.array([pair[i] for pair in pairs]).view(type_.arrow()) for i in (0, 1)]
    same = truth(equal, columns, len(pairs))
    assert same.sum() > 50
    for bound in bounds:
        held = truth(bound, columns, len(pairs))
        assert held[same].all() and not held.all()


def test_other_equalities_give_none() -> None:
    a, b = Column(0, BIGINT), Column(1, BIGINT)
    ten = resolve_call("int_div", [a, Column(2, BIGINT)])
    assert bucket_bounds(resolve_call("eq", [a, b])) == ()
    assert bucket_bounds(resolve_call("eq", [ten, b])) == ()


def test_buckets_longer_than_time_give_none() -> None:
    halves = [resolve_call("int_div", [Column(i, BIGINT), Literal(1 << 62, BIGINT)]) for i in (0, 1)]
    assert bucket_bounds(resolve_call("eq", halves)) == ()
