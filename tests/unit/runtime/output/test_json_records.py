"""Output records: every value, as text, reads back as what it was."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    JSON,
    NULL,
    STRING,
    TIMESTAMP,
    XML,
    YEAR_MONTH,
    Type,
)
from seine.rows.column_arrays import text_bytes
from seine.rows.delta import FOREVER, NEVER
from seine.rows.json_values import json_strings
from seine.runtime.output.json_records import json_instants, json_lines
from tests.support.seeds import seeds

STRINGS = [
    "",
    "plain",
    'a "quoted" word',
    "back\\slash",
    "\\",
    '"',
    "\x00\x01\x1f\x7f\t\r\n",
    "\u2028\u2029",
    "é\u0301ß",
    "\U0001f600\U0010ffff",
    "{}[],:null",
    "</script>",
]
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    1 / 3,
    1e15,
    1e16,
    2.0**60,
    1e20,
    1e22,
    1e308,
    5e-324,
    123456789012345.0,
]
TIMES = [
    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC),
    dt.datetime(2024, 2, 29, 1, 2, 3, 120000, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
]
VALUES: dict[Type, list[Any]] = {
    NULL: [],
    BOOLEAN: [True, False],
    INT: [-(2**31), 0, 2**31 - 1],
    BIGINT: [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1],
    DOUBLE: NUMBERS,
    Type.parse("DECIMAL(38,0)"): [Decimal(10**38 - 1), Decimal(-1), Decimal(0)],
    Type.parse("DECIMAL(20,10)"): [Decimal("1E-10"), Decimal("-0.5000000000"), Decimal("1234567890.1")],
    Type.parse("DECIMAL(6,2)"): [Decimal("12.30"), Decimal("-0.01"), Decimal("0.00")],
    STRING: STRINGS,
    XML: ["<a b='1'>\"</a>"],
    DATE: [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(9999, 12, 31)],
    TIMESTAMP: TIMES,
}


def read(text: str) -> Any:
    return json.loads(text, parse_float=lambda t: t, parse_int=lambda t: t, parse_constant=lambda t: 1 / 0)


def same(text: str, value: Any, type_: Type) -> bool:
    form = read(text)
    if value is None or isinstance(value, bool | str):
        return form == value and type(form) is type(value)
    if isinstance(value, float):
        return repr(float(form)) == repr(value) and any(mark in form for mark in ".e")
    if isinstance(value, int):
        return int(form) == value
    if isinstance(value, Decimal):
        return Decimal(form) == value
    return type(value).fromisoformat(form) == value


def json_values(array: pa.Array, type_: Type) -> pa.Array:
    """Each value as its record has it."""
    starts = pa.array([0] * len(array), pa.int64())
    lines = json_lines("q", "+", starts, None, ("v",), (type_,), [array], "plain")
    assert [line[-3:] for line in lines.to_pylist()] == ["}}\n"] * len(array)
    return pa.array([line.partition('"v": ')[2][:-3] for line in lines.to_pylist()], pa.string())


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_values_read_back(type_: Type) -> None:
    rng = random.Random(str(type_))
    for _ in range(20):
        values = [rng.choice([*VALUES[type_], None]) for _ in range(rng.randint(0, 12))]
        around = [None, *values, *VALUES[type_][:1], None]
        array = pa.array(around, type_.arrow()).slice(1, len(values))
        texts = json_values(array, type_)
        assert texts.null_count == 0 and len(texts) == len(values)
        assert all(same(t, v, type_) for t, v in zip(texts.to_pylist(), values, strict=True)), texts


def test_what_is_no_number_is_a_string() -> None:
    array = pa.array([math.nan, math.inf, None, -math.inf, 1.5], pa.float64())
    assert json_values(array, DOUBLE).to_pylist() == ['"NaN"', '"Infinity"', "null", '"-Infinity"', "1.5"]
    assert json_values(array.slice(1, 2), DOUBLE).to_pylist() == ['"Infinity"', "null"]


def test_intervals_are_numbers() -> None:
    assert json_values(pa.array([5, None], DAY_TIME.arrow()), DAY_TIME).to_pylist() == ["5", "null"]
    assert json_values(pa.array([14], YEAR_MONTH.arrow()), YEAR_MONTH).to_pylist() == ["14"]


def test_json_is_taken_over_as_it_is() -> None:
    values = pa.array(['{"a": [1, 2]}', None, "[]"])
    starts = pa.array([1, 2, 3])
    lines = json_lines("q", "+", starts, None, ("v",), (JSON,), [values], "plain").to_pylist()
    assert [json.loads(line)["row"]["v"] for line in lines] == [{"a": [1, 2]}, None, []]


def test_a_time_has_a_fraction_only_where_it_is_not_zero() -> None:
    texts = json_values(pa.array(TIMES[2:4], TIMESTAMP.arrow()), TIMESTAMP).to_pylist()
    assert texts == ['"2024-02-29T01:02:03Z"', '"2024-02-29T01:02:03.120000Z"']


@seeds(12)
def test_many_times_are_printed_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 1500
    span = int(rng.choice([10**7, 10**11, 10**16]))
    micros = rng.integers(-span, span, count) + int(rng.choice([0, 1_700_000_000_000_000]))
    whole = rng.random(count) < rng.choice([0.0, 0.01, 1.0])
    micros = np.where(whole, micros // 1_000_000 * 1_000_000, micros)
    if seed == 0:
        micros[0] = -70_000_000_000_000_000  # before the year 1
    arrays = [pa.array(micros).view(TIMESTAMP.arrow()), pa.array(micros + 5).view(TIMESTAMP.arrow())]
    names, types = ("a", "b"), (TIMESTAMP, TIMESTAMP)
    form = ("q", "+", pa.array(micros), pa.array(micros + 10**6), names, types)
    alone = [
        json_lines(*_rows_from(form, i), [a.slice(i, 1) for a in arrays], "timestamp") for i in range(count)
    ]
    together = json_lines(*form, arrays, "timestamp")
    together.validate(full=True)
    assert together.to_pylist() == [line[0].as_py() for line in alone]
    assert bytes(text_bytes(together)) == "".join(together.to_pylist()).encode()


def _rows_from(form: tuple[Any, ...], at: int) -> tuple[Any, ...]:
    """The arguments of `json_lines` for one row."""
    query, op, starts, ends, names, types = form
    return query, op, starts.slice(at, 1), ends.slice(at, 1), names, types


def test_strings_are_those_of_a_json_writer() -> None:
    array = pa.array(["x", *STRINGS, None, "y"]).slice(1, len(STRINGS) + 1)
    expected = [json.dumps(text, ensure_ascii=False) for text in STRINGS]
    assert json_strings(array).to_pylist() == [*expected, None]
    assert json_strings(pa.array(["plain", None])).to_pylist() == ['"plain"', None]


def test_instants() -> None:
    times = pa.array([0, NEVER, 1_700_000_000_000_000, FOREVER, 7]).slice(1, 3)
    assert json_instants(times, "plain").to_pylist() == ["null", "1700000000000000", "null"]
    assert json_instants(times, "timestamp").to_pylist() == ["null", '"2023-11-14T22:13:20Z"', "null"]


def test_a_line_is_a_record_with_its_keys_in_order() -> None:
    starts, ends = pa.array([1, 2]), pa.array([FOREVER, 9])
    names, types = ('a "b"', "\u00fc"), (BIGINT, STRING)
    columns = [pa.array([2**53 + 1, None]), pa.array(["x\n", None])]
    lines = json_lines("q\\1", "+", starts, ends, names, types, columns, "plain")
    first, second = (json.loads(line) for line in lines.to_pylist())
    assert first == {
        "query": "q\\1",
        "op": "+",
        "t_start": 1,
        "t_end": None,
        "row": {'a "b"': 2**53 + 1, "ü": "x\n"},
    }
    assert second["row"] == {'a "b"': None, "ü": None} and second["t_end"] == 9
    assert list(first) == ["query", "op", "t_start", "t_end", "row"]
    assert all(line.endswith("}}\n") and line.count("\n") == 1 for line in lines.to_pylist())


def test_names_by_row_no_end_and_no_columns() -> None:
    lines = json_lines(pa.array(['"p"', '"q"']), "-", pa.array([1, 2]), None, (), (), [], "plain")
    forms = [json.loads(line) for line in lines.to_pylist()]
    assert [form["query"] for form in forms] == ["p", "q"]
    assert forms[1] == {"query": "q", "op": "-", "t_start": 2, "t_end": None, "row": {}}


def test_no_rows_have_no_text() -> None:
    empty = pa.array([], pa.int64())
    lines = json_lines("q", "+", empty, empty, ("a",), (BIGINT,), [empty], "timestamp")
    assert len(lines) == 0 and bytes(text_bytes(lines)) == b""


def test_text_of_slices() -> None:
    texts = ["a", "", "\u00e9\n", "bc", ""]
    array = pa.array(texts)
    for start in range(len(texts) + 1):
        for length in range(len(texts) - start + 1):
            piece = array.slice(start, length)
            assert bytes(text_bytes(piece)) == "".join(texts[start : start + length]).encode()
