"""Aggregates that users define, also when they misbehave."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.aggregates import UserAggregate
from seine.algebra.expressions import Column
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, DOUBLE
from seine.graph.node import Port
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta


class Spread(UserAggregate):
    name = "spread"
    parts: ClassVar = {"low": ("min", np.negative), "high": ("max", None), "n": ("count", lambda x: x > 1)}

    def finish(self, low, high, n):  # type: ignore[override]
        return high + low + 100 * n


class Mean(UserAggregate):
    name = "weighted"
    arguments = (DOUBLE, DOUBLE)
    parts: ClassVar = {
        "total": ("sum", lambda x, w: x * w),
        "weight": ("sum", lambda x, w: w),
        "first": ("max", None),
    }

    def finish(self, total, weight, first):  # type: ignore[override]
        return total / weight + 0 * first


class Raises(Spread):
    name = "raises"

    def finish(self, **parts):
        raise KeyError("no luck")


class TooShort(UserAggregate):
    name = "too_short"
    parts: ClassVar = {"total": ("sum", lambda x: x[:1])}

    def finish(self, total):  # type: ignore[override]
        return total


KNOWN = {cls.name: cls() for cls in (Spread, Mean, Raises, TooShort)}
X, W = Column(1, DOUBLE), Column(2, DOUBLE)
CALLS = (
    AggregateCall("spread", (X,), DOUBLE),
    AggregateCall("weighted", (X, W), DOUBLE),
    AggregateCall("raises", (X,), DOUBLE),
    AggregateCall("too_short", (X,), DOUBLE),
    AggregateCall("spread", (X,), DOUBLE, distinct=True),
    AggregateCall("sum", (X,), DOUBLE),
)


def run(rows: list[tuple[int, int, float | None, float | None]]) -> tuple[list[list[object]], list[str]]:
    """The results at the end of rows (start, end, x, w), all of one group, and the notices."""
    types = (BIGINT, DOUBLE, DOUBLE)
    key = (Column(0, BIGINT),)
    results = (BIGINT, *(call.type for call in CALLS))
    node = AggregateNode(
        1,
        (Port(0, types, ("a",), 0, key),),
        results,
        tuple(range(len(results))),
        ("a",),
        ("a",),
        1,
        1,
        "",
        CALLS,
    )
    operator = AggregateOperator(node, KNOWN.get)
    starts, ends, x, w = zip(*rows, strict=True)
    arrays = {"_k": [1] * len(rows), "_s": starts, "_e": ends, "c0": [1] * len(rows)}
    batch = pa.RecordBatch.from_pydict({name: pa.array(v, pa.int64()) for name, v in arrays.items()})
    batch = batch.append_column("c1", pa.array(x, pa.float64())).append_column(
        "c2", pa.array(w, pa.float64())
    )
    store, clock = MemoryStore(), Clock({"a": FOREVER}, {"plain": max(starts)}, end=True)
    deltas = list(operator.step([[Delta(batch)]], clock, store))
    gone = {row["_i0"] for delta in deltas for row in delta.minus.to_pylist()}
    plus = [row for delta in deltas for row in delta.plus.to_pylist()]
    return [[row[f"c{i + 1}"] for i in range(6)] for row in plus if row["_i0"] not in gone], operator.notices


def test_parts_are_folds_and_failures_are_null() -> None:
    rows = [(0, FOREVER, 1.0, 1.0), (0, FOREVER, 5.0, 3.0), (0, FOREVER, 5.0, None), (0, 2, 9.0, 9.0)]
    results, notices = run([*rows, (5, FOREVER, None, 1.0)])
    assert results == [[200.0, 4.0, None, None, 100.0, 11.0]]
    assert sorted(notice.split(":")[0] for notice in notices) == ["raises", "too_short"]


def test_a_group_without_values_is_null() -> None:
    assert run([(0, FOREVER, None, None)])[0] == [[None] * 6]


def test_what_has_left_leaves_no_trace() -> None:
    results, _ = run([(0, 4, 1e300, 1.0), (1, FOREVER, 1.0, 1.0), (5, FOREVER, None, None)])
    assert results[0][5] == pytest.approx(1.0, abs=0)
