"""Equalities of sums give one pair of keys however they are written, and keys never lose a pair."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression, conjuncts
from seine.algebra.plan import Project, Select
from seine.evaluate.evaluate import evaluate, truth
from seine.optimizer.equalities import linear_equalities
from tests.support.front_end import parse
from tests.support.seeds import seeds

STREAM = """\
CREATE STREAM r (d DATE, amount DECIMAL(15,2), n BIGINT, i INT, tm TIMESTAMP, ts BIGINT)
  TIMESTAMP BY ts WINDOW 10 FROM 'r.jsonl';
"""
WIDTH = 6
ROWS = 4_000


def conditions(sql: str) -> list[Expression]:
    """The conjuncts of a query over r1 (columns 0 to 5), r2 (6 to 11) and r3 (12 to 17)."""
    script = parse(f"{STREAM}CREATE QUERY q AS SELECT r1.i FROM r r1, r r2, r r3 WHERE {sql};")
    plan = script.declarations.queries["q"].plan
    assert isinstance(plan, Project) and isinstance(plan.input, Select)
    return conjuncts(plan.input.predicate)


def keys(sql: str, right: int) -> list[tuple[Expression, Expression]]:
    """The keys of the join whose right side is one of the three, over the row of all of them."""
    pairs = []
    for equality, _ in linear_equalities(conditions(sql)):
        reads = equality.reads(lambda index: index // WIDTH)
        theirs = [number for number, read in enumerate(reads) if right not in read]
        pairs.append(equality.keys(theirs, lambda e: e, lambda e: e))
    return pairs


SPELLINGS: dict[tuple[str, ...], tuple[str, str]] = {
    (
        "r1.n = r2.n + 3",
        "r1.n - 3 = r2.n",
        "r1.n - r2.n = 3",
        "r2.n + 3 = r1.n",
        "r2.n - r1.n = -3",
        "r1.n - r2.n >= 3 AND r1.n - 3 <= r2.n",
        "r1.n - r2.n BETWEEN 3 AND 3",
    ): ("#2", "linear[1,1](#8, 3)"),
    ("r1.d + 3 = r2.d", "datediff(r2.d, r1.d) = 3", "r2.d - 3 = r1.d", "NOT r1.d + 3 <> r2.d"): (
        "linear[1](#0)",
        "linear[1,1](#6, -3)",
    ),
    ("r1.amount = 2 * r2.amount", "r1.amount / 2 = r2.amount", "r1.amount = r2.amount + r2.amount"): (
        "linear[1](#1)",
        "linear[2](#7)",
    ),
    ("r1.tm = r2.tm + INTERVAL '5' SECOND", "r1.tm - r2.tm = INTERVAL '5' SECOND"): (
        "linear[1](#4)",
        "linear[1,1](#10, 5000000)",
    ),
}


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda spellings: spellings[0])
def test_spellings_have_one_pair_of_keys(spellings: tuple[str, ...]) -> None:
    for sql in spellings:
        assert [tuple(map(str, pair)) for pair in keys(sql, 1)] == [SPELLINGS[spellings]], sql


def test_a_sum_over_three_rows_is_split_where_the_join_is() -> None:
    for sql in ("r1.n + r2.n = r3.n", "r3.n - r1.n = r2.n", "r3.n - r2.n - r1.n = 0"):
        assert [tuple(map(str, pair)) for pair in keys(sql, 2)] == [("linear[1,1](#2, #8)", "#14")]
        assert [tuple(map(str, pair)) for pair in keys(sql, 1)] == [("linear[1,-1](#14, #2)", "#8")]


def test_what_is_no_equality_of_sums_has_no_key() -> None:
    for sql in ("r1.n = r2.n", "r1.n < r2.n + 3", "r1.n = r2.n + 3 OR r1.i = r2.i", "r1.n + r1.i = 3"):
        assert [pair for pair in keys(sql, 1) if all(side.columns for side in pair)] == [], sql


NUMBERS = (-(2**63), -(2**63) + 1, -4, -3, 0, 1, 2, 3, 5, 2**62, 2**63 - 4, 2**63 - 1, None)
RANDOM = (
    "r1.n = r2.n + 3",
    "r1.n - 3 = r2.n",
    "r1.n - r2.n = 3",
    "2 * r1.n = 3 * r2.n - 1",
    "r1.n + r1.ts = r2.n + r2.i",
    "r1.i - r2.n >= 1 AND r1.i - r2.n <= 1",
    "-r1.n = r2.n + 1",
)


@pytest.mark.parametrize("sql", RANDOM)
@seeds(3)
def test_where_a_conjunct_holds_its_keys_are_equal(sql: str, seed: int) -> None:
    rows = random_columns(random.Random(seed))
    holding = np.logical_and.reduce([truth(conjunct, rows, ROWS) for conjunct in conditions(sql)])
    assert holding.any()
    pairs = keys(sql, 1)
    assert pairs
    for left, right in pairs:
        one, other = (evaluate(side, rows, ROWS).filter(pa.array(holding)) for side in (left, right))
        assert one.null_count == 0 and one.equals(other)


def random_columns(chance: random.Random) -> list[pa.Array]:
    """The rows of r1, r2 and r3 side by side; numbers include the extremes."""
    days = [dt.date(2020, 1, day) for day in range(1, 6)]
    choices: list[tuple[pa.DataType, Sequence[Any]]] = [
        (pa.date32(), days),
        (pa.decimal128(15, 2), (Decimal("1.00"), Decimal("2.00"))),
        (pa.int64(), NUMBERS),
        (pa.int32(), (-(2**31), -3, -1, 0, 1, 2, 3, 2**31 - 1, None)),
        (pa.timestamp("us", tz="UTC"), (0, 5_000_000)),
        (pa.int64(), (0, 1, 2, 3, 5, 2**62)),
    ]
    return [pa.array(chance.choices(values, k=ROWS), type_) for type_, values in 3 * choices]
