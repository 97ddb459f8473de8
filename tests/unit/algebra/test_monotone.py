"""Functions of time that never fall: of later times they are no less."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from seine.algebra.monotone import monotone_in
from seine.algebra.plan import Project
from seine.algebra.types import TIMESTAMP
from seine.evaluate.evaluate import evaluate
from tests.support.front_end import plan_of

RISING = (
    "date_format(tm, 'yyyy-MM-dd HH')",
    "CAST(CAST(tm AS DATE) AS STRING)",
    "CAST(tm AS STRING)",
    "left(CAST(tm AS STRING), 10)",
    "substring(date_format(tm, 'yyyy/MM/dd'), 1, 7)",
    "to_date(date_format(tm, 'yyyy-MM-dd'))",
    "to_timestamp(date_format(tm, 'yyyy-MM-dd HH:mm:00'))",
    "CAST(date_format(tm, 'yyyyMMddHH') AS BIGINT)",
    "CAST(date_format(tm, 'yyyyMMdd') AS INT)",
    "datediff(tm, DATE '2020-01-01')",
    "timestampdiff(MINUTE, TIMESTAMP '2020-01-01 00:00:00', tm)",
    "timestampadd(HOUR, 1, date_trunc('HOUR', tm))",
    "add_months(tm, 1)",
    "next_day(tm, 'Mon')",
    "unix_seconds(tm) >> 9",
    "timestamp_seconds(unix_seconds(tm) DIV 10 * 10)",
)
FALLING = (
    "date_format(tm, 'dd.MM.yyyy')",
    "right(CAST(tm AS STRING), 8)",
    "substring(CAST(tm AS STRING), 6, 5)",
    "left(CAST(tm AS STRING), 3)",
    "CAST(date_format(tm, 'yyyyMMddHH') AS INT)",
    "CAST(date_format(tm, 'yyyy-MM-dd') AS BIGINT)",
    "from_utc_timestamp(tm, 'Europe/Berlin')",
    "datediff(DATE '2020-01-01', tm)",
    "hour(tm)",
)


def column_of(text: str, times: list[int]) -> tuple[int | None, pa.Array]:
    plan = plan_of(f"SELECT {text} AS b FROM z")
    assert isinstance(plan, Project)
    (expression,) = plan.expressions
    columns = {place: pa.array(times).view(TIMESTAMP.arrow()) for place in expression.columns}
    return monotone_in(expression), evaluate(expression, columns, len(times))


@pytest.mark.parametrize("text", RISING)
def test_of_later_times_they_are_no_less(text: str) -> None:
    rng = Random(text)
    times = sorted(
        rng.randint(-2_000_000_000, 4_000_000_000) * 1_000_000 + rng.choice([0, 5]) for _ in range(3000)
    )
    column, values = column_of(text, times)
    listed = values.to_pylist()
    assert column is not None and None not in listed
    assert listed == sorted(listed) and len(set(listed)) > 50


@pytest.mark.parametrize("text", FALLING)
def test_others_are_not_called_rising(text: str) -> None:
    assert column_of(text, [0])[0] is None
