"""Random rows with NULLs and extreme values, and random conditions over them."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import TypeMismatch, literal, resolve_call, resolve_cast
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    Kind,
    Type,
)
from seine.evaluate.evaluate import truth
from seine.optimizer.canonical.atoms import PredicateSet, clause_expression

MONEY = Type(Kind.DECIMAL, 15, 2)
FINE = Type(Kind.DECIMAL, 38, 10)
DAY = 86_400_000_000
TYPES = [INT, INT, BIGINT, BIGINT, MONEY, MONEY, FINE, DOUBLE, DOUBLE, STRING, STRING]
TYPES += [DATE, DATE, TIMESTAMP, TIMESTAMP, BOOLEAN, BOOLEAN]
COLUMNS = [Column(index, type_) for index, type_ in enumerate(TYPES)]
UTC = dt.UTC

_VALUES: dict[Kind, list[Any]] = {
    Kind.INT: [0, 1, -1, 2, 3, 5, 20, -20, 2**31 - 1, -(2**31), 2**31 - 3],
    Kind.BIGINT: [
        0,
        1,
        -1,
        2,
        3,
        5,
        20,
        -20,
        2**31,
        2**53,
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        2**63 - 5,
        -(2**62),
    ],
    Kind.DOUBLE: [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.5,
        3.0,
        1e6,
        float("nan"),
        float("inf"),
        -float("inf"),
        5e-324,
        0.1,
        2.0**53,
    ],
    Kind.STRING: ["", "a", "ab", "abc", "b", "a%", "a_b", "A", "é", "7", "2024-01-01", "a\\b"],
    Kind.DATE: [
        dt.date(2024, 1, 1),
        dt.date(2024, 1, 21),
        dt.date(2024, 2, 29),
        dt.date(1, 1, 1),
        dt.date(9999, 12, 31),
    ],
    Kind.TIMESTAMP: [
        dt.datetime(2024, 1, 1, tzinfo=UTC),
        dt.datetime(2024, 1, 1, 12, tzinfo=UTC),
        dt.datetime(2024, 1, 21, 0, 0, 0, 1, tzinfo=UTC),
        dt.datetime(1, 1, 1, tzinfo=UTC),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
    Kind.BOOLEAN: [True, False],
    Kind.DAY_TIME: [0, DAY, 20 * DAY, -DAY, 3600 * 10**6, 1],
    Kind.YEAR_MONTH: [0, 1, 12, -1],
}


def random_value(rng: random.Random, type_: Type) -> Any:
    if type_.kind is Kind.DECIMAL:
        most = 10**type_.precision - 1
        unscaled = rng.choice(
            [0, 1, -1, 50, 100, 200, -2000, 12345, most, -most, most - 1, rng.randint(-500, 500)]
        )
        return Decimal(f"{unscaled}E-{type_.scale}")
    if type_ in (INT, BIGINT) and rng.random() < 0.4:
        return rng.randint(-30, 30)
    if type_ == DATE and rng.random() < 0.5:
        return dt.date(2024, 1, 1) + dt.timedelta(rng.randint(-25, 25))
    return rng.choice(_VALUES[type_.kind])


def random_rows(rng: random.Random, count: int, types: Sequence[Type] = TYPES) -> list[pa.Array]:
    """Columns of random values; pairs of equal types often agree or nearly do."""
    columns = []
    for type_ in types:
        column = [None if rng.random() < 0.12 else random_value(rng, type_) for _ in range(count)]
        columns.append(pa.array(column, type_.arrow()))
    return columns


def random_literal(rng: random.Random, type_: Type) -> Expression:
    if rng.random() < 0.03:
        return Literal(None, type_)
    value = random_value(rng, type_)
    if type_ in (INT, BIGINT) or type_.kind is Kind.DECIMAL:
        return literal(value)
    return Literal(value, type_)


def call(name: str, *args: Expression) -> Expression | None:
    """The typed call, or None if the front end would refuse it."""
    try:
        return resolve_call(name, list(args))
    except TypeMismatch:
        return None


def random_operand(rng: random.Random, depth: int) -> Expression:
    """A value of any type; mostly columns, constants and arithmetic on them."""
    while True:
        operand = _operand(rng, depth)
        if operand is not None:
            return operand


def _operand(rng: random.Random, depth: int) -> Expression | None:
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(COLUMNS) if rng.random() < 0.7 else random_literal(rng, rng.choice(TYPES))
    inner = random_operand(rng, depth - 1)
    kind = rng.random()
    if kind < 0.55:
        other = _partner(rng, inner.type, depth - 1)
        pair = (inner, other) if rng.random() < 0.6 else (other, inner)
        return call(rng.choice(["add", "sub", "add", "sub", "mul", "div"]), *pair)
    if kind < 0.65:
        return call("neg", inner)
    if kind < 0.75:
        try:
            return resolve_cast(
                inner, rng.choice([BIGINT, INT, DOUBLE, MONEY, FINE, TIMESTAMP, DATE, STRING])
            )
        except TypeMismatch:
            return None
    if kind < 0.9:
        return call(rng.choice(["date_add", "date_sub", "datediff"]), inner, random_operand(rng, depth - 1))
    unary = [
        "unix_date",
        "date_from_unix_date",
        "unix_micros",
        "timestamp_micros",
        "timestamp_seconds",
        "abs",
    ]
    return call(rng.choice([*unary, "length", "year", "upper"]), inner)


def _partner(rng: random.Random, type_: Type, depth: int) -> Expression:
    """An operand that often has a type to go with another."""
    if type_.is_temporal and rng.random() < 0.6:
        return random_literal(rng, rng.choice([INT, DAY_TIME, DAY_TIME, YEAR_MONTH]))
    if rng.random() < 0.5:
        same = [column for column in COLUMNS if column.type == type_]
        return rng.choice(same) if same and rng.random() < 0.6 else random_literal(rng, type_)
    return random_operand(rng, depth)


def random_condition(rng: random.Random, depth: int) -> Expression:
    """A BOOLEAN expression."""
    while True:
        condition = _condition(rng, depth)
        if condition is not None and condition.type == BOOLEAN:
            return condition


def _condition(rng: random.Random, depth: int) -> Expression | None:
    if depth > 0 and rng.random() < 0.6:
        name = rng.choice(["and", "or", "or", "not"])
        count = 1 if name == "not" else rng.randint(2, 3)
        return call(name, *(random_condition(rng, depth - 1) for _ in range(count)))
    kind = rng.random()
    left = random_operand(rng, rng.choice([0, 1, 2, 2]))
    if kind < 0.55:
        right = _partner(rng, left.type, rng.choice([0, 1, 2]))
        ops = ["eq", "ne", "lt", "le", "gt", "ge", "eq_null_safe"]
        return call(rng.choice(ops), left, right)
    if kind < 0.63:
        default = random_literal(rng, left.type)
        other = call("coalesce", left, default)
        return other and call(rng.choice(["eq", "ne", "lt", "ge"]), other, random_literal(rng, left.type))
    if kind < 0.68:
        return call(rng.choice(["is_null", "is_not_null"]), left)
    if kind < 0.78:
        return call("in", left, *(random_literal(rng, left.type) for _ in range(rng.randint(1, 5))))
    if kind < 0.85:
        return call("between", left, _partner(rng, left.type, 1), _partner(rng, left.type, 1))
    if kind < 0.95:
        return _text_condition(rng)
    return rng.choice([COLUMNS[-1], literal(True), Literal(None, BOOLEAN), *[random_case(rng)] * 3])


def _text_condition(rng: random.Random) -> Expression | None:
    subject = rng.choice([column for column in COLUMNS if column.type == STRING])
    name = rng.choice(["like", "like", "ilike", "startswith", "endswith", "contains", "rlike"])
    if name == "rlike":
        return call(name, subject, literal("^a"))
    pattern = "".join(
        rng.choice(["a", "b", "%", "_", "\\%", "\\\\", "ab", "!_"]) for _ in range(rng.randint(0, 3))
    )
    escape = [literal("!")] if name == "like" and rng.random() < 0.2 else []
    return call(name, subject, literal(pattern), *escape)


def random_case(rng: random.Random) -> Expression:
    parts = [random_condition(rng, 0) for _ in range(rng.randint(2, 4))]
    other = rng.choice([literal(True), literal(False), parts[1]])
    chosen = call("case", *parts) if rng.random() < 0.6 else call("coalesce", parts[0], other)
    assert chosen is not None
    return chosen


def holds(conditions: PredicateSet, columns: list[pa.Array], count: int) -> np.ndarray:
    """The rows for which every clause is true."""
    rows = np.ones(count, bool)
    for clause in conditions:
        rows &= truth(clause_expression(clause), columns, count)
    return rows
