"""Steps of the calendar against the functions themselves, at the ends of time too."""

from __future__ import annotations

import datetime as dt
from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import DATE, TIMESTAMP
from seine.evaluate.evaluate import evaluate
from seine.optimizer.canonical.exact_numbers import calendar_step
from tests.support.seeds import seed_range

DAY = dt.timedelta(days=1)
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
STEPS: dict[str, Expression] = {
    "year": resolve_call("year", [Column(0, DATE)]),
    **{f"trunc {u}": resolve_call("trunc", [Column(0, DATE), literal(u)]) for u in UNITS[:4]},
    **{f"date_trunc {u}": resolve_call("date_trunc", [literal(u), Column(0, TIMESTAMP)]) for u in UNITS},
}


def random_days(rng: Random) -> list[dt.date]:
    ends = [dt.date.min, dt.date.min + DAY, dt.date.max, dt.date.max - DAY, dt.date(1969, 12, 31)]
    others = [dt.date.fromordinal(rng.randint(1, dt.date.max.toordinal())) for _ in range(20)]
    near = [dt.date(2020, rng.randint(1, 12), 1) + rng.randint(-2, 2) * DAY for _ in range(20)]
    return [*ends, *others, *near]


def random_values(rng: Random, step: Call) -> pa.Array:
    days = random_days(rng)
    if step.args[-1].type != TIMESTAMP:
        return pa.array(days, DATE.arrow())
    times = [
        dt.time(),
        dt.time.max,
        dt.time(rng.randint(0, 23), rng.randint(0, 59), 1, rng.randint(0, 9_999)),
    ]
    return pa.array(
        [dt.datetime.combine(day, time, dt.UTC) for day in days for time in times], TIMESTAMP.arrow()
    )


@pytest.mark.parametrize("name", STEPS)
def test_bounds_of_the_argument_are_those_of_the_function(name: str) -> None:
    step, reached = STEPS[name], 0
    assert isinstance(step, Call)
    for seed in seed_range(3):
        rng = Random(seed)
        values = random_values(rng, step)
        plain = values.cast(pa.int32() if values.type == pa.date32() else pa.int64()).to_pylist()
        results = evaluate(step, [values], len(values))
        width = pa.int64() if results.type.bit_width == 64 else pa.int32()
        given = results.view(width).to_pylist()
        for n in rng.sample(given, 12) + rng.sample([*map(int, plain)], 12) * (name != "year") + [0]:
            bounds = calendar_step(step, n)
            assert bounds is not None
            assert [f >= n for f in given] == [x >= bounds.least for x in plain], (seed, n)
            assert [f <= n for f in given] == [x <= bounds.greatest for x in plain], (seed, n)
            reached += n in given
    assert reached > 20
    assert calendar_step(Call("month", (Column(0, DATE),), step.type), 1) is None
