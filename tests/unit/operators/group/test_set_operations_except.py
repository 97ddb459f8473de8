"""DISTINCT, UNION and EXCEPT against brute force, under many cuts into steps."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from seine.algebra.expressions import Column
from seine.algebra.types import DOUBLE, NULL, STRING
from seine.graph.node import Port
from seine.operators.group.set_operations import DistinctNode, DistinctOperator, ExceptNode, ExceptOperator
from tests.support.changelog_law import Results, Row, World, canonical, check, random_rows
from tests.support.seeds import seeds

TYPES = (STRING, DOUBLE)
STREAMS = ("a", "b")


def node(cls):
    key = tuple(Column(i, type_) for i, type_ in enumerate(TYPES))
    ports = tuple(Port(i, TYPES, (stream,), 1, key) for i, stream in enumerate(STREAMS))
    return cls(9, ports, TYPES, (0, 1), STREAMS, STREAMS, 1, 1, "")


def world(random: Random) -> World:
    def value() -> tuple[object, ...]:
        number = random.choice([0.0, -0.0, 1.5, float("nan"), None])
        return random.choice(["x", "é", "", None]), number

    rows = random_rows(random, 60, value, ports=2)
    return World([type_.arrow() for type_ in TYPES], rows, streams=list(STREAMS))


def content(rows: list[Row]) -> set[tuple[object, ...]]:
    return {tuple(canonical(value) for value in row.values) for row in rows}


def distinct(rows: list[Row]) -> Results:
    return {row: row for row in content(rows)}


def difference(rows: list[Row]) -> Results:
    left, right = ([row for row in rows if row.port == port] for port in (0, 1))
    return {row: row for row in content(left) - content(right)}


@seeds(12)
def test_union_is_the_distinct_rows_alive_in_any_input(seed: int) -> None:
    random = Random(seed)
    records = check(world(random), lambda: DistinctOperator(node(DistinctNode)), distinct, random)
    assert sum(records.values()) > 20


@seeds(12)
def test_except_is_the_rows_alive_in_the_first_input_alone(seed: int) -> None:
    random = Random(seed)
    records = check(world(random), lambda: ExceptOperator(node(ExceptNode)), difference, random)
    assert sum(records.values()) > 10


def test_a_column_of_nulls_is_one_row() -> None:
    random = Random(1)
    rows = random_rows(random, 10, lambda: (None,))
    one = World([pa.null()], rows)
    bare = DistinctNode(
        9, (Port(0, (NULL,), ("a",), 1, (Column(0, NULL),)),), (NULL,), (0,), ("a",), ("a",), 1, 1, ""
    )
    assert check(one, lambda: DistinctOperator(bare), distinct, random)
