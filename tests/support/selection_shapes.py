"""Random shapes of selections over columns of every type, with tables of constants and batches of rows."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjunction, rewrite
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import truth

MONEY = Type.parse("DECIMAL(12,2)")
WIDE = Type.parse("DECIMAL(38,4)")
DAY = dt.date(2024, 2, 28)
NOON = dt.datetime(2024, 2, 28, 12, tzinfo=dt.UTC)

POOLS: dict[Type, list[Any]] = {
    INT: [-(2**31), -3, 0, 1, 2, 2**31 - 1],
    BIGINT: [-(2**63), -(2**63) + 1, -7, 0, 1, 2, 3, 2**53 + 1, 2**63 - 2, 2**63 - 1],
    DOUBLE: [-math.inf, -1.5, -0.0, 0.0, 1e-300, 2.0, 1e308, math.inf, math.nan, -math.nan],
    STRING: ["", "a", "A", "ab", "b", "é", "z\U0001f600", "%", "a_", "\uffff"],
    MONEY: [Decimal("-1.25"), Decimal("0.00"), Decimal("1.20"), Decimal("9999999999.99")],
    WIDE: [Decimal("-1") * 10**33, Decimal("-0.0001"), Decimal("0.0001"), Decimal("2"), Decimal(10) ** 33],
    DATE: [DAY + dt.timedelta(days=d) for d in (-40000, -1, 0, 1, 2)],
    TIMESTAMP: [NOON + dt.timedelta(microseconds=u) for u in (-(10**16), -1, 0, 1, 10**9)],
    BOOLEAN: [False, True],
}
TYPES = list(POOLS)
COLUMNS = [Column(i, type_) for i, type_ in enumerate(TYPES)]
OPERATORS = ["eq", "lt", "le", "gt", "ge"]


def column(type_: Type) -> Column:
    return COLUMNS[TYPES.index(type_)]


def rows_of(rng: random.Random, count: int) -> DataColumns:
    """Columns with many duplicates and some NULLs, as slices of longer arrays."""
    columns = []
    for type_ in TYPES:
        values = [rng.choice([*POOLS[type_], None]) for _ in range(count + 2)]
        columns.append(pa.array(values, type_.arrow()).slice(1, count))
    return DataColumns(pa.record_batch(columns, [f"c{i}" for i in range(len(columns))]))


def call(name: str, *args: Expression) -> Call:
    return Call(name, args, BOOLEAN)


class ShapeMaker:
    """Makes conjuncts whose constants are the next parameters."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.types: list[Type] = []

    def parameter(self, type_: Type) -> Parameter:
        self.types.append(type_)
        return Parameter(len(self.types) - 1, type_)

    def compare(self, name: str, left: Expression) -> Expression:
        sides = [left, self.parameter(left.type)]
        return call(name, *(reversed(sides) if self.rng.random() < 0.3 else sides))

    def part(self) -> Expression:
        rng = self.rng
        one = rng.choice(COLUMNS)
        kind = rng.choice(
            ["compare"] * 7 + ["in", "between"] * 2 + ["fixed", "or", "like", "computed", "not", "ne", "odd"]
        )
        if kind == "fixed":
            fixed = call("eq", one, Literal(rng.choice(POOLS[one.type]), one.type))
            return rng.choice([call("is_not_null", one), fixed, call("not", fixed)])
        if kind == "or":
            return call("or", self.part(), self.part())
        if kind == "in":
            listed: list[Expression] = [self.parameter(one.type) for _ in range(rng.randint(1, 5))]
            extra = [Literal(None, one.type), Literal(POOLS[one.type][0], one.type)]
            return call("in", one, *listed, *rng.sample(extra, rng.randint(0, 2)))
        if kind == "like":
            return call("like", column(STRING), self.parameter(STRING))
        if kind == "computed":
            whole = resolve_call("add", [column(BIGINT), literal(1)])
            return self.compare(rng.choice(OPERATORS), Call("add", whole.args, BIGINT))
        if kind == "not":
            return call("not", self.part())
        if kind == "between":
            return call("and", self.compare("ge", one), self.compare("le", one))
        if kind == "ne":
            return call("ne", one, self.parameter(one.type))
        if kind == "odd":
            return call("eq", one, Literal(None, one.type))
        return self.compare(rng.choice(OPERATORS), one)

    def table(self, count: int) -> list[pa.Array]:
        return [
            pa.array([self.rng.choice(POOLS[type_]) for _ in range(count)], type_.arrow())
            for type_ in self.types
        ]


def random_shape(rng: random.Random) -> tuple[Expression | None, ShapeMaker]:
    maker = ShapeMaker(rng)
    return conjunction([maker.part() for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]))]), maker


def predicate(shape: Expression, table: list[pa.Array], row: int) -> Expression:
    """A shape with the constants of one row of its table."""

    def change(e: Expression) -> Expression:
        return Literal(table[e.index][row].as_py(), e.type) if isinstance(e, Parameter) else e

    return rewrite(shape, change)


def holds_alone(
    shape: Expression | None, table: list[pa.Array], row: int, columns: DataColumns, num_rows: int
) -> np.ndarray:
    """The rows that satisfy one selection, evaluated on its own."""
    if shape is None:
        return np.ones(num_rows, bool)
    return truth(predicate(shape, table, row), columns, num_rows)


def spied(monkeypatch: pytest.MonkeyPatch, ways: list[tuple[type, str]]) -> Counter[str]:
    """Counts how often each method is called from now on."""
    counts: Counter[str] = Counter()

    def counting(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def outer(*args: Any) -> Any:
            counts[name] += 1
            return inner(*args)

        return outer

    for owner, name in ways:
        monkeypatch.setattr(owner, name, counting(f"{owner.__name__}.{name}", getattr(owner, name)))
    return counts
