"""Selections of one shape matched together find what each finds alone."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal, split_shape
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type
from seine.operators import box_index
from seine.operators.data_columns import DataColumns
from seine.operators.evaluate import truth
from seine.operators.selection import SelectionGroup

MONEY = Type.parse("DECIMAL(12,2)")
WIDE = Type.parse("DECIMAL(38,4)")
DAY = dt.date(2024, 2, 28)
NOON = dt.datetime(2024, 2, 28, 12, tzinfo=dt.UTC)

POOLS: dict[Type, list[Any]] = {
    INT: [-(2**31), -3, 0, 1, 2, 2**31 - 1],
    BIGINT: [-(2**63), -7, 0, 1, 2, 3, 2**53 + 1, 2**63 - 1],
    DOUBLE: [-math.inf, -1.5, -0.0, 0.0, 1e-300, 2.0, 1e308, math.inf, math.nan],
    STRING: ["", "a", "A", "ab", "b", "é", "z\U0001f600", "%", "a_"],
    MONEY: [Decimal("-1.25"), Decimal("0.00"), Decimal("1.20"), Decimal("9999999999.99")],
    WIDE: [Decimal("-1") * 10**33, Decimal("0.0001"), Decimal("2"), Decimal(10) ** 33],
    DATE: [DAY + dt.timedelta(days=d) for d in (-40000, -1, 0, 1, 2)],
    TIMESTAMP: [NOON + dt.timedelta(microseconds=u) for u in (-(10**16), -1, 0, 1, 10**9)],
    BOOLEAN: [False, True],
}
TYPES = list(POOLS)
COLUMNS = [Column(i, type_) for i, type_ in enumerate(TYPES)]
OPERATORS = ["eq", "lt", "le", "gt", "ge"]


def rows_of(rng: random.Random, count: int) -> list[pa.Array]:
    """Columns with many duplicates and some NULLs, as slices of longer arrays."""
    columns = []
    for type_ in TYPES:
        values = [rng.choice([*POOLS[type_], None]) for _ in range(count + 2)]
        columns.append(pa.array(values, type_.arrow()).slice(1, count))
    return columns


def call(name: str, *args: Expression) -> Call:
    return Call(name, args, BOOLEAN)


def constant(rng: random.Random, type_: Type) -> Literal:
    return Literal(rng.choice(POOLS[type_]), type_)


Part = Callable[[random.Random], Expression]


def comparison(rng: random.Random, name: str, column: Column) -> Part:
    mirrored = rng.random() < 0.3

    def make(rng: random.Random) -> Expression:
        sides = [column, constant(rng, column.type)]
        return call(name, *(reversed(sides) if mirrored else sides))

    return make


def random_part(rng: random.Random) -> Part:
    """One conjunct whose constants are drawn anew for each selection."""
    column = rng.choice(COLUMNS)
    kind = rng.choice(["compare"] * 6 + ["fixed", "or", "in", "like", "computed", "not", "null"])
    if kind == "fixed":
        other = rng.choice(COLUMNS)
        return lambda _: call("is_not_null", other)
    if kind == "or":
        one, two = random_part(rng), random_part(rng)
        return lambda r: call("or", one(r), two(r))
    if kind == "in":
        width = rng.randint(1, 6)
        return lambda r: call("in", column, *(constant(r, column.type) for _ in range(width)))
    if kind == "like":
        text = COLUMNS[TYPES.index(STRING)]
        return lambda r: call("like", text, Literal(r.choice(["%", "a%", "_", "", "%b"]), STRING))
    if kind == "computed":
        number = COLUMNS[TYPES.index(BIGINT)]
        return lambda r: resolve_call(
            "lt", [resolve_call("add", [number, literal(1)]), literal(r.randint(1, 3))]
        )
    if kind == "not":
        one = random_part(rng)
        return lambda r: call("not", one(r))
    if kind == "null":
        return lambda _: call("eq", column, Literal(None, column.type))
    return comparison(rng, rng.choice(OPERATORS), column)


def expected(predicates: list[Expression], columns: list[pa.Array], count: int) -> list[tuple[int, int]]:
    return [(int(r), i) for i, p in enumerate(predicates) for r in np.flatnonzero(truth(p, columns, count))]


def found(group: SelectionGroup, columns: list[pa.Array], count: int) -> list[tuple[int, int]]:
    rows, picks = group.match(
        DataColumns(pa.record_batch(columns, [f"c{i}" for i in range(len(columns))])), count
    )
    return list(zip(rows.tolist(), picks.tolist(), strict=True))


def test_random_shapes_match_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hits = indexed = 0
    for seed in range(500):
        rng = random.Random(seed)
        parts = [random_part(rng) for _ in range(rng.randint(1, 3))]
        predicates: list[Expression] = []
        for _ in range(rng.choice([1, 4, 9, 20])):
            made = [part(rng) for part in parts]
            predicates.append(made[0] if len(made) == 1 else call("and", *made))
        assert len({split_shape(p)[0] for p in predicates}) == 1
        count = rng.choice([0, 1, 30])
        columns = rows_of(rng, count)
        monkeypatch.setattr(box_index, "_BLOCK", rng.choice([1, 50, 1 << 21]))
        group = SelectionGroup.of(predicates)
        answer = expected(predicates, columns, count)
        assert found(group, columns, count) == answer, f"seed {seed}: {predicates[0]}"
        hits += len(answer)
        indexed += 1
    assert hits > 5000 and indexed > 150


@pytest.mark.parametrize("column", COLUMNS, ids=[str(t) for t in TYPES])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_on_every_type_is_indexed(name: str, column: Column) -> None:
    predicates: list[Expression] = [
        call(name, column, Literal(v, column.type)) for v in POOLS[column.type] * 2
    ]
    columns = rows_of(random.Random(name), 60)
    group = SelectionGroup.of(predicates)
    answer = expected(predicates, columns, 60)
    assert answer and found(group, columns, 60) == answer


def test_between_and_several_ranges_are_indexed() -> None:
    rng = random.Random(5)
    whole, real, text = (COLUMNS[TYPES.index(t)] for t in (BIGINT, DOUBLE, STRING))
    shapes: list[list[tuple[str, Column]]] = [
        [("ge", real), ("le", real)],
        [("gt", text), ("lt", text)],
        [("eq", text), ("lt", real)],
        [("gt", whole), ("lt", real), ("ge", text)],
        [("eq", whole), ("eq", text), ("gt", whole)],
        [("gt", whole), ("ge", whole), ("lt", whole)],
    ]
    for shape in shapes:
        parts = [comparison(rng, name, column) for name, column in shape]
        predicates: list[Expression] = [call("and", *(part(rng) for part in parts)) for _ in range(60)]
        columns = rows_of(rng, 80)
        group = SelectionGroup.of(predicates)
        answer = expected(predicates, columns, 80)
        assert answer
        assert found(group, columns, 80) == answer


def test_a_constant_of_another_type_is_compared_as_sql_does() -> None:
    whole = COLUMNS[TYPES.index(BIGINT)]
    predicates = [resolve_call("lt", [whole, literal(v)]) for v in (0.5, 1.5, 2.5, 3.5, -0.0)]
    columns = rows_of(random.Random(1), 40)
    group = SelectionGroup.of(predicates)
    answer = expected(predicates, columns, 40)
    assert answer and found(group, columns, 40) == answer


def test_a_residual_is_asked_only_of_candidates() -> None:
    whole, text = COLUMNS[TYPES.index(BIGINT)], COLUMNS[TYPES.index(STRING)]
    predicates: list[Expression] = [
        call("and", call("eq", whole, Literal(v, BIGINT)), call("like", text, Literal(pattern, STRING)))
        for v in (0, 1, 2)
        for pattern in ("a%", "%b", "%")
    ]
    columns = rows_of(random.Random(2), 60)
    group = SelectionGroup.of(predicates)
    answer = expected(predicates, columns, 60)
    assert True
    assert answer and found(group, columns, 60) == answer
