"""Set operations on bags, semi and anti joins against brute force, under many cuts into steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from seine.algebra.expressions import Column
from seine.algebra.plan import SetKind
from seine.algebra.types import DOUBLE, STRING
from seine.graph.node import Port
from seine.operators.group.set_operations import MULTIPLICITIES, MultisetNode, MultisetOperator
from tests.support.changelog_law import Results, Row, World, canonical, check, random_rows
from tests.support.seeds import seeds

TYPES = (STRING, DOUBLE)
STREAMS = ("a", "b")
EXPECTED = {
    SetKind.EXCEPT_ALL: lambda m, n: max(m - n, 0),
    SetKind.INTERSECT: lambda m, n: int(m > 0 and n > 0),
    SetKind.INTERSECT_ALL: min,
    SetKind.SEMI: lambda m, n: m if n else 0,
    SetKind.ANTI: lambda m, n: 0 if n else m,
}


def node(kind: SetKind) -> MultisetNode:
    key = tuple(Column(i, type_) for i, type_ in enumerate(TYPES))
    ports = tuple(Port(i, TYPES, (stream,), 1, key) for i, stream in enumerate(STREAMS))
    return MultisetNode(9, ports, TYPES, (0, 1), STREAMS, STREAMS, 1, 1, "", rule=kind.value)


def world(random: Random, hashes: int | None = None) -> World:
    def value() -> tuple[object, ...]:
        return random.choice(["x", "é", None]), random.choice([0.0, -0.0, float("nan"), None])

    rows = [
        row if random.random() < 0.6 else replace(row, port=0) for row in random_rows(random, 60, value, 2)
    ]
    return World([type_.arrow() for type_ in TYPES], rows, hashes=hashes, streams=list(STREAMS))


def copies(kind: SetKind, rows: list[Row]) -> Results:
    """A result for each copy of a row, by its number."""
    counts = [
        Counter(tuple(map(canonical, row.values)) for row in rows if row.port == port) for port in (0, 1)
    ]
    many = {row: EXPECTED[kind](m, counts[1][row]) for row, m in counts[0].items()}
    return {(row, level): row for row, copies in many.items() for level in range(copies)}


@pytest.mark.parametrize("kind", [*MULTIPLICITIES])
@seeds(6)
def test_a_row_is_there_as_often_as_its_counts_say(kind: SetKind, seed: int) -> None:
    random = Random(seed)
    records = check(
        world(random), lambda: MultisetOperator(node(kind)), lambda rows: copies(kind, rows), random
    )
    assert sum(records.values()) > 10
    repeated = Counter(record[-1] for record in records.elements() if record[0] == "+")
    assert max(repeated.values()) > 1


@pytest.mark.parametrize("kind", [*MULTIPLICITIES])
def test_rows_of_one_hash_are_kept_apart(kind: SetKind) -> None:
    random = Random(3)
    records = check(
        world(random, hashes=2), lambda: MultisetOperator(node(kind)), lambda rows: copies(kind, rows), random
    )
    assert sum(records.values()) > 10
