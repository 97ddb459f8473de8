"""Groups that are promised go: what is told stays the same, and of what is finished nothing is left."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT
from seine.graph.node import Port
from seine.operators.group import group_release
from seine.operators.group.aggregate import AggregateNode, AggregateOperator
from seine.operators.group.group_release import Releases
from seine.operators.group.set_operations import DistinctNode, DistinctOperator
from seine.operators.join.join_purge import PurgeRule
from seine.operators.state.store import MemoryStore
from seine.operators.state.working_nodes import Operator
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from seine.rows.hashing import hash_columns
from tests.support.join_streams import tuples
from tests.support.seeds import seed_range

TAG, KEY, VALUE = (Column(i, BIGINT) for i in range(3))
CALLS = tuple(
    AggregateCall(name, () if name == "count_all" else (VALUE,), BIGINT, distinct)
    for name, distinct in (("count_all", False), ("sum", False), ("max", False), ("count", True))
)
STREAMS = ("s", "t")


def aggregate(members: int) -> Operator:
    types = (BIGINT,) * (2 + len(CALLS))
    ports = (Port(0, (BIGINT,) * 3, STREAMS, 0, (TAG, KEY)), *punctuation_ports(members))
    releases = Releases(tuple(PurgeRule(i, (0,)) for i in range(members)), members) if members else None
    node = AggregateNode(
        9, ports, types, tuple(range(len(types))), STREAMS, STREAMS, 1, 1, "", CALLS, releases=releases
    )
    return AggregateOperator(node)


def distinct(members: int) -> Operator:
    types = (BIGINT,) * 2
    ports = (Port(0, types, STREAMS, 0, (TAG, KEY)), *punctuation_ports(members))
    releases = Releases(tuple(PurgeRule(i, (0,)) for i in range(members)), members) if members else None
    return DistinctOperator(DistinctNode(9, ports, types, (0, 1), STREAMS, STREAMS, 1, 1, "", releases))


def punctuation_ports(members: int) -> list[Port]:
    return [Port(1 + i, (BIGINT,), (STREAMS[i],), 0, (Column(0, BIGINT),), True) for i in range(members)]


def batch(times: list[int], columns: list[list[int]], key: list[int]) -> pa.RecordBatch:
    arrays = [pa.array(np.array(column, np.int64)) for column in columns]
    hashes = hash_columns([arrays[i] for i in key], len(times))
    forever = np.full(len(times), FOREVER)
    names = ["_k", "_s", "_e", *(f"c{i}" for i in range(len(columns)))]
    return pa.RecordBatch.from_arrays(
        [pa.array(hashes), pa.array(np.array(times, np.int64)), pa.array(forever), *arrays], names
    )


def story(rng: Random, members: int, width: int) -> Iterator[tuple[list[list[Delta]], Clock]]:
    """Keys rise; each is promised by one member after the other once no more tuples have it."""
    punctuated = [0] * members
    for step in range(30):
        keys = [step // 2 + rng.randint(0, 3) for _ in range(6)]
        times = [step * 3 + rng.randint(0, 2) for _ in keys]
        columns = [[rng.randint(1, 2) for _ in keys], keys, [rng.randint(-4, 4) for _ in keys]]
        inputs = [[Delta(batch(times, columns[:width], [0, 1]))]]
        for member in range(members):
            closed = list(range(punctuated[member], max(punctuated[member], step // 2 - rng.randint(1, 3))))
            punctuated[member] += len(closed)
            inputs.append([Delta(batch([0] * len(closed), [closed], [0]))] if closed else [])
        mark = step * 3 + rng.randint(0, 3)
        yield inputs, Clock(dict.fromkeys(STREAMS, mark), {"plain": step * 3 + 2})
    rest = [Delta(batch([0] * 99, [list(range(99))], [0]))]
    yield [[], *[rest] * members], Clock(dict.fromkeys(STREAMS, 90), {"plain": 89})
    yield [[] for _ in range(1 + members)], Clock(dict.fromkeys(STREAMS, 91), {"plain": 91})


def alive(store: MemoryStore) -> int:
    """How many groups, and values of groups, a store has: what was written last for a key counts."""
    matches = 0
    for name in store.head:
        if name == "groups" or name.startswith("values"):
            last: dict[tuple[Any, ...], int] = {}
            for run in store.head[name]:
                for row in store.runs[run["run"]].to_pylist():
                    key = tuple(value for name, value in row.items() if name[0] in "kv")
                    last[key + ((row["_g"],) if "v0" in row else ())] = row["_n"]
            matches += sum(count > 0 for count in last.values())
    return matches


def run(operator: Operator, steps: list[Any], members: int) -> tuple[Counter, Counter, MemoryStore]:
    store, plus, minus = MemoryStore(), Counter[Any](), Counter[Any]()
    for inputs, clock in steps:
        store.head = json.loads(json.dumps(store.head))
        for delta in operator.step(inputs[: 1 + members], clock, store):
            plus.update(row[:1] + row[3:] for row in tuples(delta.plus))
            minus.update(row[:1] + row[4:] for row in tuples(delta.minus) if delta.minus is not None)
    return plus, minus, store


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize(("make", "width"), [(aggregate, 3), (distinct, 2)])
def test_released_groups_tell_what_others_tell(
    make: Callable[[int], Operator], width: int, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_release, "GROUPS_PER_PUNCTUATION", 4)
    for seed in seed_range(8):
        steps = list(story(Random(seed), members, width))
        plus, minus, before = run(make(0), steps, 0)
        emitted, ended, store = run(make(members), steps, members)
        assert emitted == plus and ended == minus and plus.total() > 20
        assert alive(before) > 20 > alive(store) == 0
        assert not any(store.head[f"punctuations{member}"] for member in range(members))


def test_a_group_waits_for_tuples_before_its_punctuation() -> None:
    operator, store = aggregate(1), MemoryStore()
    rows = [Delta(batch([1, 1, 3], [[1, 2, 1], [5, 5, 6], [7, 8, 9]], [0, 1]))]

    def step(inputs: list[list[Delta]], mark: int) -> int:
        clock = Clock(dict.fromkeys(STREAMS, mark), {"plain": max(mark, 3)})
        return sum(delta.plus.num_rows for delta in operator.step(inputs, clock, store))

    assert step([rows, []], 2) == 2
    held = alive(store)
    step([[], [Delta(batch([3], [[5]], [0]))]], 3)
    assert alive(store) == held > 2
    assert step([[], []], 4) == 1  # the tuple of instant 3 is counted now
    assert alive(store) == held / 2
    step([[], [Delta(batch([4], [[6]], [0]))]], 5)
    step([[], []], 6)
    assert alive(store) == 0
