"""Parameter tables: a row for each set of constants, for as long as a query claims it."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from decimal import Decimal
from typing import Any

from seine.algebra.expressions import Literal
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Type
from seine.graph.parameter_table import ParameterTable, TableRecord, TableRow
from seine.typed_json import read_json, write_json
from tests.support.seeds import seeds

MONEY = Type.parse("DECIMAL(12,2)")
POOLS: list[tuple[Type, list[Any]]] = [
    (BIGINT, [1, 2, -(2**63), None]),
    (DOUBLE, [0.0, -0.0, 1.5, math.nan, math.inf]),
    (STRING, ["", "a", "é\n"]),
    (MONEY, [Decimal("1.50"), Decimal("-3.00"), None]),
    (DATE, [dt.date(2020, 1, 1)]),
    (TIMESTAMP, [dt.datetime(2020, 1, 1, 2, 3, 4, 5), dt.datetime(1960, 1, 1)]),
    (BOOLEAN, [True, False]),
]


def literals(values: tuple[Any, ...], types: tuple[Type, ...]) -> list[Literal]:
    return [Literal(value, type_) for value, type_ in zip(values, types, strict=True)]


def saved(table: ParameterTable) -> ParameterTable:
    return ParameterTable.of(read_json(write_json(table.record()), TableRecord))


@seeds(10)
def test_rows_are_what_is_claimed(seed: int) -> None:
    """Against a bag of claims; the table is saved and read back now and then."""
    rng = random.Random(seed)
    types, pools = zip(*rng.sample(POOLS, 2), strict=True)
    table, bag, given = ParameterTable(types), Counter[tuple[int, str]](), dict[str, int]()
    numbers = set[int]()
    for _ in range(200):
        if bag and rng.random() < 0.45:
            number, query = rng.choice(sorted(bag.elements()))
            table.release(number, query)
            bag[number, query] -= 1
            bag += Counter()
            if number not in {n for n, _ in bag}:
                given = {text: n for text, n in given.items() if n != number}
        else:
            values, query = tuple(rng.choice(pool) for pool in pools), rng.choice("pqr")
            number = table.claim(literals(values, types), query)
            if repr(values) not in given:
                assert number not in numbers, "a number is never given twice"
            assert given.setdefault(repr(values), number) == number
            numbers.add(number)
            bag[number, query] += 1
        if rng.random() < 0.1:
            table = saved(table)
        claims = Counter({(n, q): count for n, row in table.claims.items() for q, count in row.items()})
        assert claims == bag and list(table) == sorted(table.rows) and len(table) == len(given)
        assert {repr(table.rows[n]): n for n in table} == given
    assert len(numbers) > 5


def test_constants_that_differ_are_different_rows() -> None:
    table = ParameterTable([DOUBLE])
    values = [0.0, -0.0, math.nan, 1.0]
    numbers = [table.claim([Literal(value, DOUBLE)], "q") for value in values]
    assert len(set(numbers)) == 4
    assert table.claim([Literal(-math.nan, DOUBLE)], "q") == numbers[2]
    assert [repr(saved(table).rows[n][0]) for n in numbers] == [repr(value) for value in values]


def test_a_copy_is_a_table_of_its_own() -> None:
    table = ParameterTable([BIGINT])
    number = table.claim([Literal(1, BIGINT)], "q")
    twin = table.copy()
    twin.drop(number)
    twin.put(TableRow(7, [4], {"r": 2}))
    assert list(table) == [number] and table.claims == {number: {"q": 1}}
    assert twin.rows == {7: (4,)} and twin.claims == {7: {"r": 2}}
    assert twin.claim([Literal(4, BIGINT)], "s") == 7 and twin.claim([Literal(1, BIGINT)], "s") == 8


def test_a_query_is_forgotten_whole() -> None:
    table = ParameterTable([BIGINT])
    for value, query in ((1, "q"), (1, "q"), (1, "r"), (2, "q")):
        table.claim([Literal(value, BIGINT)], query)
    table.forget("q")
    assert table.rows == {0: (1,)} and table.claims == {0: {"r": 1}}
    assert table.claim([Literal(2, BIGINT)], "s") == 2
