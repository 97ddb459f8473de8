"""A changelog tells each begin and each end of a row, as a bag, against brute force."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa

from seine.algebra.types import BIGINT, STRING
from seine.graph.node import Port
from seine.operators.group.changelog import ChangelogNode, ChangelogOperator
from tests.support.changelog_law import World, drive, emitted_records, random_rows
from tests.support.seeds import seeds

TYPES = (BIGINT, STRING)


def node() -> ChangelogNode:
    return ChangelogNode(
        9, (Port(0, TYPES, ("a",), 1),), TYPES, tuple(range(len(TYPES))), ("a",), ("a",), 1, 1, ""
    )


def records_of(world: World) -> Counter:
    final = max(row.start for row in world.rows)
    records: Counter = Counter()
    for row in world.rows:
        end = row.end if row.early is None else row.early
        records["+", row.start, row.values] += 1
        if end <= final:
            records["-", row.start, end, row.values] += 1
    return records


@seeds(12)
def test_each_row_begins_once_and_ends_once(seed: int) -> None:
    random = Random(seed)
    rows = random_rows(random, 80, lambda: (random.choice([1, 2, None]), random.choice(["x", None])))
    world = World([pa.int64(), pa.string()], rows)
    wanted = records_of(world)
    assert max(wanted.values()) > 1
    for steps in (1, 2, 7, 30):
        assert emitted_records(drive(world, ChangelogOperator(node()), steps, random)) == wanted
