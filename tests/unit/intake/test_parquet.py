"""Columns of Parquet files: times that no calendar has a text for are dead letters, and are quoted."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime

import pyarrow as pa

from seine.algebra.types import BIGINT, DATE, TIMESTAMP, Field
from seine.intake.intake_state import ParquetCursor
from seine.intake.parquet import ParquetParser, ParquetSlice
from seine.intake.record_layout import RecordLayout

LAYOUT = RecordLayout((Field("at", TIMESTAMP), Field("day", DATE), Field("ts", BIGINT)), 2)
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
FIRST = datetime(1, 1, 1, tzinfo=UTC)


def test_years_from_1_to_9999_are_read_and_others_are_dead_letters() -> None:
    ends = pa.array([FIRST, LAST], pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    days = pa.array([date.min, date.max]).cast(pa.int32()).to_pylist()
    moments = [*ends, None, ends[0] - 1, ends[1] + 1, 0, 0, -(2**63)]
    dates = [*days, None, 0, 0, days[0] - 1, days[1] + 1, 0]
    table = pa.table(
        {
            "at": pa.array(moments, pa.int64()).view(pa.timestamp("us", "UTC")),
            "day": pa.array(dates, pa.int32()).view(pa.date32()),
            "ts": pa.array(range(8), pa.int64()),
        }
    )
    parsed = ParquetParser(LAYOUT).parse(ParquetSlice("", ParquetCursor("x", 0, 0), table, 1))
    assert parsed.tuples.rows.column(0).to_pylist() == [FIRST, LAST, None]
    assert parsed.tuples.rows.column(1).to_pylist() == [date.min, date.max, None]
    reasons = {line.line: line.reason for line in parsed.dead}
    wrong_time, wrong_day = (
        f"column {name}" for name in ("at: the value is no TIMESTAMP", "day: the value is no DATE")
    )
    assert reasons == {4: wrong_time, 5: wrong_time, 6: wrong_day, 7: wrong_day, 8: wrong_time}
    quoted = {line.line: json.loads(line.record) for line in parsed.dead}
    assert quoted[5] == {"at": ends[1] + 1, "day": 0, "ts": 4}
