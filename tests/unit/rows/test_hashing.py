"""Hashing: equal keys agree whatever their layout, unequal ones part, and the values are fixed for ever."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP, Type
from seine.rows.hashing import bucket_of, hash_columns, hash_is_exact, null_mask


def texts(rng: random.Random, count: int) -> list[str]:
    lengths = [rng.choice([0, 1, 7, 8, 9, 15, 16, 17, 127, 128, 129, 400]) for _ in range(count)]
    return ["".join(rng.choice("abé漢") for _ in range(n)) for n in lengths]


SAMPLES = {
    "bigint": (pa.int64(), [0, 1, -1, 2**63 - 1, -(2**63), 7]),
    "int": (pa.int32(), [0, 1, -1, 2**31 - 1, 7]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [dt.date(2020, 1, 1), dt.date(1969, 12, 31)]),
    "timestamp": (pa.timestamp("us", tz="UTC"), [dt.datetime(2020, 1, 1), dt.datetime(1960, 1, 1)]),
    "double": (pa.float64(), [0.0, 1.5, -1.5, float("inf"), float("nan")]),
    "decimal": (
        pa.decimal128(38, 2),
        [Decimal("1.00"), Decimal("-1.00"), Decimal(10) ** 30, -(Decimal(10) ** 30)],
    ),
    "string": (pa.string(), sorted(set(texts(random.Random(1), 200)))),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_unequal_values_part_and_slices_agree(name: str) -> None:
    kind, values = SAMPLES[name]
    values = [*values, None]
    hashes = hash_columns([pa.array(values, kind)], len(values))
    assert len(set(hashes.tolist())) == len(values)
    padded = pa.array([None, values[0], *values, values[0]], kind).slice(2, len(values))
    assert hash_columns([padded], len(values)).tolist() == hashes.tolist()


def test_layouts_of_one_value_agree() -> None:
    def one(values: list[object], kind: pa.DataType) -> int:
        return int(hash_columns([pa.array(values, kind)], 1)[0])

    assert one([5], pa.int32()) == one([5], pa.int64()) == one([Decimal(5)], pa.decimal128(9, 0))
    assert one([Decimal("1.5")], pa.decimal128(9, 2)) == one([Decimal("1.5")], pa.decimal128(30, 2))
    assert one([-0.0], pa.float64()) == one([0.0], pa.float64())
    assert one(["abc"], pa.string()) == one(["abc"], pa.large_string()) == one(["abc"], pa.string_view())
    dictionary = pa.array(["x", "abc"]).dictionary_encode()
    assert hash_columns([dictionary], 2)[1] == one(["abc"], pa.string())
    other_nan = np.array([0x7FF8000000000001, 0x7FF8000000000000], np.uint64).view(np.float64)
    assert len(set(hash_columns([pa.array(other_nan)], 2).tolist())) == 1


def test_values_are_fixed_for_ever() -> None:
    columns = [pa.array([1, None]), pa.array(["a string of some length", ""]), pa.array([2.5, None])]
    assert hash_columns(columns, 2).tolist() == FIXED


def test_order_and_place_of_columns_matter() -> None:
    a, b = pa.array([1, 2, 1]), pa.array([2, 1, 1])
    assert len({*hash_columns([a, b], 3).tolist()}) == 3
    texts_ = [pa.array(["ab", "a"]), pa.array(["c", "bc"])]
    assert len({*hash_columns(texts_, 2).tolist()}) == 2


def test_exactness_and_nulls() -> None:
    assert (
        hash_is_exact([BIGINT])
        and hash_is_exact([BOOLEAN])
        and hash_is_exact([TIMESTAMP])
        and hash_is_exact([DOUBLE])
    )
    assert hash_is_exact([Type.parse("DECIMAL(18,2)")]) and not hash_is_exact([Type.parse("DECIMAL(19,2)")])
    assert not hash_is_exact([STRING]) and not hash_is_exact([BIGINT, BIGINT])
    assert null_mask([pa.array([1, 2])]) is None
    mask = null_mask([pa.array([1, None, 3]), pa.array(["x", "y", None])])
    assert mask is not None and mask.tolist() == [False, True, True]


@pytest.mark.parametrize("buckets", [1, 3, 8, 200, 1000])
def test_buckets_are_even(buckets: int) -> None:
    got = bucket_of(hash_columns([pa.array(range(50_000))], 50_000), buckets)
    counts = np.bincount(got, minlength=buckets)
    assert len(counts) == buckets
    assert counts.min() > 0 and counts.max() < 2 * 50_000 / buckets + 20


def test_no_rows_and_no_columns() -> None:
    assert hash_columns([], 3).tolist() == [0, 0, 0]
    for kind, _ in SAMPLES.values():
        assert len(hash_columns([pa.array([], kind)], 0)) == 0
    assert len(set(hash_columns([pa.nulls(3)], 3).tolist())) == 1


FIXED = [-1140576601433463743, 3206037497610366737]
