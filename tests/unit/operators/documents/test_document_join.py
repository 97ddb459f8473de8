"""A document join against nested loops over all pairs of operands and all classes, under many cuts."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Literal
from seine.algebra.types import BIGINT
from seine.graph.node import Port
from seine.graph.parameter_table import ParameterTable
from seine.operators.documents.document_join import DocumentJoinNode, DocumentJoinOperator
from seine.operators.documents.held_documents import NewDocuments
from seine.operators.documents.join_classes import JoinClasses, Orientation
from seine.operators.documents.operand_rows import IDENTITY, OPERAND, PAIR
from seine.operators.documents.pair_candidates import EdgeFrequency
from seine.operators.state.store import MemoryStore
from seine.operators.state.work_budget import NodeFault, WorkBudget, WorkMeter
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from seine.rows.hashing import hash_columns
from tests.support.seeds import seed_range

Pair = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True)
class Operand:
    """A document of one port: its witnesses are (pattern, value)."""

    port: int
    identity: int
    start: int
    end: int
    witnesses: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Class:
    """A row of the table of classes."""

    tag: int
    orientation: int
    edges: tuple[tuple[int, int], ...]
    low: int
    high: int

    @property
    def row(self) -> tuple[int, str, int, int]:
        return self.tag, " ".join(f"{a}:{b}" for a, b in self.edges), self.low, self.high


def test_pairs_and_classes_are_those_of_nested_loops() -> None:
    matched = 0
    for seed in seed_range(150):
        rng = random.Random(seed)
        ports = rng.randint(1, 2)
        operands = random_operands(rng, ports)
        classes = random_classes(rng, ports)
        expected = brute_force(operands, classes, ports)
        buckets = rng.randint(1, 3)
        stores = [MemoryStore(bucket) for bucket in range(buckets)]
        joined = run(rng, operands, classes, ports, stores)
        assert joined == expected, seed
        assert not any(store.runs for store in stores), "all is purged at the end"
        matched += sum(expected.values())
    assert matched > 1000


def test_a_pair_is_formed_by_the_rarest_edge() -> None:
    """Every document has the same value at pattern 1, and one of its own at pattern 2."""
    classes = JoinClasses([(7, "1:1 2:2", 1, 100)])
    operands = [Operand(0, i, i, FOREVER, ((1, 5), (2, 100 + i))) for i in range(50)]
    new = NewDocuments(batch_of(operands))
    kept: dict[str, Any] = {}
    index = new.index(classes.left_patterns, classes.left_reach, np.arange(50))
    frequency = EdgeFrequency(classes, kept)
    frequency.sample(new, index, [])
    levels = frequency.levels()
    assert levels[1] == 0 < levels[0], "a document is no partner of itself"
    (left, right) = classes.ranked(levels).first_patterns
    assert left.tolist() == right.tolist() == [2]
    assert (EdgeFrequency(classes, kept).levels() == levels).all()
    frequency.sample(new, None, [index, index])
    assert frequency.levels()[1] > 0, "what is held may be another document"


def test_too_many_matches_are_the_fault_of_the_queries_of_one_edge() -> None:
    """Class 7 joins a value that all documents have; class 8 joins their own ones."""
    classes = [Class(7, 0, ((1, 1),), -100, 100), Class(8, 0, ((2, 2),), -100, 100)]
    operands = [Operand(0, i, i % 9, FOREVER, ((1, 5), (2, 100 + i // 2))) for i in range(200)]
    meter = WorkMeter(WorkBudget(candidates=5_000))
    with meter.counting(), meter.at(1), pytest.raises(NodeFault) as fault:
        run(random.Random(1), operands, classes, 1, [MemoryStore()], cut=200)
    assert fault.value.queries == ("query of 7",) and not fault.value.nodes


def table_of(classes: list[Class]) -> ParameterTable:
    table = ParameterTable((BIGINT,))
    for one in classes:
        table.claim([Literal(one.tag, BIGINT)], f"query of {one.tag}")
    return table


def random_operands(rng: random.Random, ports: int) -> list[Operand]:
    values = rng.randint(1, 6)
    return [
        Operand(
            rng.randrange(ports),
            identity,
            start := rng.randint(0, 20),
            start + rng.choice((3, 10, 100)),
            tuple({(rng.randint(1, 4), rng.randint(1, values)) for _ in range(rng.randint(1, 5))}),
        )
        for identity in range(rng.randint(2, 25))
    ]


def random_classes(rng: random.Random, ports: int) -> list[Class]:
    rows = []
    for tag in range(rng.randint(1, 12)):
        edges = {(rng.randint(1, 4), rng.randint(1, 4)) for _ in range(rng.randint(1, 3))}
        high = rng.choice((0, 2, 8, 32))
        rows.append(Class(tag, rng.randrange(ports), tuple(sorted(edges)), rng.choice((1, -high)), high))
    first: dict[object, Class] = {}
    for one in rows:
        first.setdefault((one.orientation, one.edges), one)
    return list(first.values())


def brute_force(operands: list[Operand], classes: list[Class], ports: int) -> Counter[Pair]:
    pairs: Counter[Pair] = Counter()
    for orientation in range(ports):
        other = ports - 1 - orientation
        for left in operands:
            for right in operands:
                if left is right or left.port != orientation or right.port != other:
                    continue
                if max(left.start, right.start) >= min(left.end, right.end):
                    continue
                tags = tuple(
                    one.tag
                    for one in classes
                    if one.orientation == orientation
                    and one.low <= right.start - left.start <= one.high
                    and all(holds(edge, left, right) for edge in one.edges)
                )
                if tags:
                    pairs[left.identity, right.identity, tags] += 1
    return pairs


def holds(edge: tuple[int, int], left: Operand, right: Operand) -> bool:
    ours = {value for pattern, value in left.witnesses if pattern == edge[0]}
    return bool(ours & {value for pattern, value in right.witnesses if pattern == edge[1]})


def run(
    rng: random.Random,
    operands: list[Operand],
    classes: list[Class],
    ports: int,
    stores: list[MemoryStore],
    cut: int | None = None,
) -> Counter[Pair]:
    """Feed the operands in the order of their times, cut at random, with a watermark behind each step."""
    inputs = tuple(
        Port(port, OPERAND, (f"s{port}",), 0, (Column(IDENTITY, BIGINT),), broadcast=True)
        for port in range(ports)
    )
    node = DocumentJoinNode(1, inputs, PAIR, (), ("s0",), (), 0, 1, "", classes=0)
    orientations = [
        Orientation(i, ports - 1 - i, JoinClasses([one.row for one in classes if one.orientation == i]))
        for i in range(ports)
    ]
    operator = DocumentJoinOperator(
        node, [o for o in orientations if len(o.classes.tags)], len(stores), table_of(classes)
    )
    pairs: Counter[Pair] = Counter()
    waiting = sorted(operands, key=lambda one: one.start)
    while True:
        size = cut or rng.randint(1, 6)
        step, rest = waiting[:size], waiting[size:]
        rng.shuffle(step)
        low = rest[0].start if rest else FOREVER
        clock = Clock({f"s{port}": low for port in range(ports)})
        arrived = [[Delta(batch_of(part))] if part else [] for part in by_port(step, ports)]
        for store in stores:
            for delta in operator.step(arrived, clock, store):
                pairs.update(pairs_of(delta, classes))
        if not rest:
            return pairs
        waiting = rest


def by_port(operands: list[Operand], ports: int) -> list[list[Operand]]:
    return [[one for one in operands if one.port == port] for port in range(ports)]


def batch_of(operands: list[Operand]) -> pa.RecordBatch:
    identities = pa.array([one.identity for one in operands])
    columns = {
        "_k": pa.array(hash_columns([identities], len(operands))),
        "_s": pa.array([one.start for one in operands]),
        "_e": pa.array([one.end for one in operands]),
        "c0": pa.array([f"<d{one.identity}/>" for one in operands]),
        "c1": identities,
        "c2": pa.array(np.zeros(len(operands), np.int64)),
        "c3": pa.array(np.zeros(len(operands), np.int64)),
        "c4": pa.array([[p for p, _ in sorted(one.witnesses)] for one in operands], pa.list_(pa.int64())),
        "c5": pa.array([[v for _, v in sorted(one.witnesses)] for one in operands], pa.list_(pa.int64())),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def pairs_of(delta: Delta, classes: list[Class]) -> list[Pair]:
    """The pairs of a delta; of their classes those whose own bounds hold."""
    bounds = {one.tag: (one.low, one.high) for one in classes}
    pairs = []
    for row in delta.plus.to_pylist():
        assert row["_s"] == max(row["c3"], row["c4"]) and row["c0"] == row["c4"] - row["c3"]
        assert (row["c6"], row["c7"]) == (f"<d{row['c8']}/>", f"<d{row['c9']}/>")
        tags = [tag for tag in row["c5"] if bounds[tag][0] <= row["c0"] <= bounds[tag][1]]
        if tags:
            pairs.append((row["c8"], row["c9"], tuple(sorted(tags))))
    return pairs
