"""The values of sliding frames against those of each frame by itself."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_aggregate
from seine.algebra.rank_plan import RANGE, ROWS, Frame, OverFunction
from seine.algebra.types import BIGINT, DOUBLE
from seine.operators.rank.frames import OrderedRows, frame_values
from tests.support.seeds import seeds

FRAMES = [
    Frame(unit, start, end)
    for unit in (ROWS, RANGE)
    for start, end in (
        *((None, 0), (None, None), (None, -3), (-5, 0), (-3, -1), (0, 0), (2, 5), (-2, 4), (2, None)),
        *((-30, -10), (0, None)),
    )
]


def made_rows(random: Random) -> tuple[OrderedRows, list[tuple[int, int, Any, Any]]]:
    """Rows in order as (segment, time, whole number, double)."""
    special = [math.inf, -math.inf, math.nan, 1e300, -1e300]
    rows = sorted(
        (random.randint(0, 3), random.randint(0, 40), random.randint(0, 1 << 40)) for _ in range(60)
    )
    listed = [
        (
            segment,
            time,
            None if number % 7 == 0 else number % 11,
            special[number % 5] if number % 6 == 0 else (number % 1000) / 7,
        )
        for segment, time, number in rows
    ]
    segment, times = (np.array([row[i] for row in listed]) for i in (0, 1))
    peers = np.cumsum(np.append(True, (segment[1:] != segment[:-1]) | (times[1:] != times[:-1])))
    columns = [pa.array([row[2] for row in listed], pa.int64()), pa.array([row[3] for row in listed])]
    first, last = np.searchsorted(segment, segment), np.searchsorted(segment, segment, "right") - 1
    return OrderedRows(columns, np.arange(len(listed)), first, last, peers, times), listed


def in_frame(frame: Frame, rows: list[tuple[int, int, Any, Any]], at: int) -> list[tuple[int, int, Any, Any]]:
    inside = []
    for place, row in enumerate(rows):
        distance = place - at if frame.unit == ROWS else row[1] - rows[at][1]
        from_start = frame.start is None or frame.start <= distance
        if row[0] == rows[at][0] and from_start and (frame.end is None or distance <= frame.end):
            inside.append(row)
    return inside


def total(values: list[float]) -> float | None:
    """The exact sum; what is not finite decides it."""
    odd = [value for value in values if not math.isfinite(value)]
    if odd or not values:
        return sum(odd) if odd else None
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf if sum(value / 4 for value in values) > 0 else -math.inf


@seeds(4)
@pytest.mark.parametrize("frame", FRAMES, ids=str)
def test_values_are_those_of_each_frame(frame: Frame, seed: int) -> None:
    random = Random(f"{seed} {frame}")
    rows, listed = made_rows(random)
    count = len(listed)
    chosen = np.arange(count) if seed == 0 else np.array(sorted(random.sample(range(count), seed * 9)))
    frames = [in_frame(frame, listed, at) for at in chosen.tolist()]
    whole = [[row[2] for row in inside if row[2] is not None] for inside in frames]
    whole_column, double_column = Column(0, BIGINT), Column(1, DOUBLE)
    wanted = {
        ("count", (), False): [len(inside) for inside in frames],
        ("sum", (whole_column,), False): [sum(values) if values else None for values in whole],
        ("count", (whole_column,), True): [len(set(values)) for values in whole],
        ("max", (whole_column,), False): [max(values, default=None) for values in whole],
        ("min", (whole_column,), False): [min(values, default=None) for values in whole],
        ("sum", (double_column,), False): [total([row[3] for row in inside]) for inside in frames],
    }
    for (function, arguments, distinct), values in wanted.items():
        call = resolve_aggregate(function, list(arguments), distinct)
        made = frame_values(OverFunction(call, frame), rows, chosen).to_pylist()
        assert repr(made) == repr(values), (function, distinct)
    assert seed or any(frames)


def test_extreme_values_are_far_from_others() -> None:
    values = [-(2**63), 1, 2, 3, 2**63 - 1]
    places = np.arange(5)
    rows = OrderedRows(
        [pa.array(values)], places, np.zeros(5, np.int64), np.full(5, 4), places, np.array(values)
    )
    call = resolve_aggregate("count", [], False)
    for frame, counts in ((Frame(RANGE, -2, 0), [1, 1, 2, 3, 1]), (Frame(RANGE, 0, 2), [1, 3, 2, 1, 1])):
        assert frame_values(OverFunction(call, frame), rows, places).to_pylist() == counts


def test_no_rows() -> None:
    rows, _ = made_rows(Random(1))
    call = resolve_aggregate("sum", [Column(0, BIGINT)], False)
    made = frame_values(OverFunction(call, Frame(ROWS, None, 0)), rows, np.zeros(0, np.int64))
    assert made.to_pylist() == [] and made.type == pa.int64()
