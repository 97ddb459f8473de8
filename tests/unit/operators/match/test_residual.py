"""Comparisons over whole numbers give what evaluating gives, or say that they do not know."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Parameter
from seine.algebra.linear import WEIGHTED, linear_name
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate, truth
from seine.evaluate.kernels.ordinals import VALUE_CODES, codes_of
from seine.operators.match.residual import LinearComparison

MONEY, LONG = Type.parse("DECIMAL(14,2)"), Type.parse("DECIMAL(24,2)")
WIDE = Type.parse("DECIMAL(38,4)")
OPS = ("eq", "ne", "lt", "le", "gt", "ge")


def value(random: Random, type_: Type, huge: bool) -> Any:
    if random.random() < 0.1:
        return None
    if type_.kind.name == "DECIMAL":
        most = 10**type_.precision - 1 if huge else 500
        return Decimal(random.randint(-most, most)).scaleb(-type_.scale)
    if type_ == DOUBLE:
        return random.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), -2.0])
    return random.randint(-(2**31), 2**31 - 1) if huge else random.randint(-3, 3)


def column(random: Random, type_: Type, size: int, huge: bool) -> pa.Array:
    values = [value(random, type_, huge and random.random() < 0.1) for _ in range(size)]
    if type_ == DATE:
        return pa.array(values, pa.int32()).view(pa.date32())
    return (
        pa.array(values, pa.int64()).view(type_.arrow())
        if type_ == TIMESTAMP
        else pa.array(values, type_.arrow())
    )


def weighted(random: Random, op: str, types: tuple[Type, ...]) -> tuple[Expression, list[pa.Array]]:
    """A sum of columns times parameters, compared; with rows of a table."""
    wide = WIDE if any(type_.kind.name == "DECIMAL" for type_ in types) else BIGINT
    count = len(types)
    columns = [Column(i, type_) for i, type_ in enumerate(types)]
    weights = [Parameter(i, BIGINT) for i in range(count)]
    part = Call(op, (Call(WEIGHTED, (*columns, *weights), wide), Parameter(count, wide)), BOOLEAN)
    factors = [pa.array([random.choice([1, -1, 3, -20, 10**6]) for _ in range(4)], pa.int64()) for _ in types]
    constants = [random.choice([0, 7, -250, 12345]) for _ in range(4)]
    if wide == WIDE:
        return part, [*factors, pa.array([Decimal(c).scaleb(-2) for c in constants], WIDE.arrow())]
    return part, [*factors, pa.array(constants, pa.int64())]


def check(part: Expression, table: list[pa.Array], columns: list[pa.Array], random: Random) -> bool:
    """Whether it knew, having made sure that it was right."""
    size = len(columns[0])
    batch = DataColumns(pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))]))
    rows = np.array([random.randrange(size) for _ in range(60)])
    picks = np.array([random.randrange(len(table[0])) for _ in range(60)])
    compiled = LinearComparison.of(part, table)
    assert compiled is not None
    mask = compiled.holds(batch, rows, picks)
    if mask is None:
        return False
    at, of = pa.array(rows), pa.array(picks)
    expected = truth(part, [c.take(at) for c in columns], 60, [c.take(of) for c in table])
    assert mask.tolist() == expected.tolist()
    return True


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "types",
    [(MONEY, MONEY), (MONEY, INT, BIGINT), (BIGINT, INT), (TIMESTAMP, TIMESTAMP), (DATE, DATE)],
    ids=str,
)
def test_sums_are_compared_as_evaluated(op: str, types: tuple[Type, ...]) -> None:
    random = Random(str((op, types)))
    known = 0
    for huge in (False, True) * 4:
        part, table = weighted(random, op, types)
        known += check(part, table, [column(random, type_, 30, huge) for type_ in types], random)
    assert known >= 4


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("type_", [MONEY, INT, BIGINT, TIMESTAMP, DATE, DOUBLE], ids=str)
def test_values_are_compared_as_evaluated(op: str, type_: Type) -> None:
    random = Random(str((op, type_)))
    constants = column(random, type_, 8, True).drop_null()
    part = Call(op, (Column(0, type_), Parameter(0, type_)), BOOLEAN)
    assert check(part, [constants], [column(random, type_, 30, True)], random)


def test_sums_that_may_not_fit_are_left_to_evaluating() -> None:
    part, table = weighted(Random(1), "le", (BIGINT, BIGINT))
    huge = [pa.array([2**62, 5], pa.int64())] * 2
    assert not check(part, table, huge, Random(1))


def test_what_is_no_whole_number_is_left_to_evaluating() -> None:
    text = Call("ne", (Column(0, STRING), Parameter(0, STRING)), BOOLEAN)
    assert LinearComparison.of(text, [pa.array(["a"])]) is None
    missing = Call("le", (Column(0, BIGINT), Parameter(0, BIGINT)), BOOLEAN)
    assert LinearComparison.of(missing, [pa.array([None, 1], pa.int64())]) is None
    part, table = weighted(Random(1), "le", (LONG, MONEY))
    assert LinearComparison.of(part, table) is None
    vast = [*table[:-1], pa.array([Decimal(10**30)] * 4, WIDE.arrow())]
    assert LinearComparison.of(weighted(Random(1), "le", (MONEY, MONEY))[0], vast) is None


@pytest.mark.parametrize(
    "types",
    [(MONEY, MONEY), (MONEY, INT, BIGINT), (BIGINT, INT), (TIMESTAMP, TIMESTAMP), (DATE, DATE)],
    ids=str,
)
def test_codes_of_sums_are_those_of_their_values(types: tuple[Type, ...]) -> None:
    random = Random(str(types))
    wide = Type.parse("DECIMAL(12,2)") if MONEY in types else BIGINT
    for huge in (False, True) * 8:
        weights = tuple(random.choice([1, -1, 3, 10**6]) for _ in types)
        sum_ = Call(linear_name(weights), tuple(Column(i, t) for i, t in enumerate(types)), wide)
        columns = [column(random, type_, 40, huge) for type_ in types]
        batch = DataColumns(pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(types))]))
        rows = np.array([random.randrange(40) for _ in range(25)])
        codes, valid = batch.codes(sum_, VALUE_CODES, rows)
        expected = evaluate(sum_, batch, 40).take(pa.array(rows))
        known = expected.is_valid().to_numpy(zero_copy_only=False)
        assert (known == (True if valid is None else valid)).all()
        assert codes[known].tolist() == codes_of(expected)[known].tolist()
