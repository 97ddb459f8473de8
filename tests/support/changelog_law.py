"""The law of the operators that keep a changelog, as a brute-force check.

A test describes rows with their lives and a function from the rows alive at an instant to the
results; `check` cuts the rows into steps in several ways, drives the operator and compares
everything it tells with what the law says, instant by instant.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns

Results = dict[Hashable, tuple[Any, ...]]


@dataclass
class Row:
    port: int
    start: int
    end: int
    early: int | None
    values: tuple[Any, ...]
    identity: int = 0

    def alive(self, instant: int) -> bool:
        end = self.end if self.early is None else self.early
        return self.start <= instant < end


@dataclass
class World:
    """Rows of several ports; `key` picks what routes a row (all values if None)."""

    types: list[pa.DataType]
    rows: list[Row]
    key: Callable[[pa.RecordBatch], list[pa.Array]] | None = None
    hashes: int | None = None  # so many different hashes only, to make them collide
    streams: list[str] = field(default_factory=lambda: ["a"])


def random_rows(
    random: Random, count: int, value: Callable[[], tuple[Any, ...]], ports: int = 1
) -> list[Row]:
    rows = []
    for identity in range(count):
        start = random.randrange(40)
        end = FOREVER if random.random() < 0.2 else start + random.choice([1, 2, 5, 10, 30])
        early = start + random.randrange(1, 12)
        keep = random.random() < 0.6 or early >= end
        rows.append(Row(random.randrange(ports), start, end, None if keep else early, value(), identity))
    return rows


def canonical(value: Any) -> Any:
    """NaN equals NaN, and 0.0 equals -0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def expected(world: World, results: Callable[[list[Row]], Results], begin: tuple[Any, ...] | None) -> Counter:
    """All records: ('+', start, row) and ('-', start, instant, row)."""
    records: Counter = Counter()
    final = max((row.start for row in world.rows), default=NEVER)
    ends = [row.end if row.early is None else row.early for row in world.rows]
    instants = sorted({t for t in [*(row.start for row in world.rows), *ends] if t <= final})
    current: dict[Hashable, tuple[int, tuple[Any, ...]]] = {}
    if begin is not None:
        current[()] = (NEVER, begin)
        records["+", NEVER, begin] += 1
    for instant in instants:
        now = results([row for row in world.rows if row.alive(instant)])
        for group in [*current, *(g for g in now if g not in current)]:
            old, new = current.get(group), now.get(group)
            if old is not None and new == old[1]:
                continue
            if old is not None:
                records["-", old[0], instant, old[1]] += 1
                del current[group]
            if new is not None:
                records["+", instant, new] += 1
                current[group] = (instant, new)
    return records


def check(
    world: World,
    make: Callable[[], Any],
    results: Callable[[list[Row]], Results],
    random: Random,
    begin: tuple[Any, ...] | None = None,
) -> Counter:
    """Every way to cut the rows into steps tells exactly the expected records."""
    wanted = expected(world, results, begin)
    identities = set()
    for steps in (1, 3, 14):
        deltas = drive(world, make(), steps, random)
        records = emitted_records(deltas)
        assert records == wanted, (steps, wanted - records, records - wanted)
        identities.add(frozenset(_plus(deltas)))
    if world.hashes is None:
        assert len(identities) == 1, "identities depend on the cut"
    return wanted


def _plus(deltas: list[Delta]) -> dict[int, tuple[Any, ...]]:
    rows: dict[int, tuple[Any, ...]] = {}
    for delta in deltas:
        for row in delta.plus.to_pylist():
            identity = row.pop("_i0")
            assert identity not in rows
            rows[identity] = tuple(canonical(value) for value in row.values())
    return rows


def emitted_records(deltas: list[Delta]) -> Counter:
    """The records of an output, having made sure that each minus repeats its plus, once."""
    plus = _plus(deltas)
    records = Counter(("+", row[0], row[2:]) for row in plus.values())
    for delta in deltas:
        for row in delta.minus.to_pylist():
            ended = row.pop("_d")
            repeated = plus.pop(row.pop("_i0"))
            assert repeated == tuple(canonical(value) for value in row.values())
            assert repeated[0] == NEVER or repeated[0] < ended
            records["-", repeated[0], ended, repeated[2:]] += 1
    return records


def drive(world: World, operator: Any, steps: int, random: Random) -> list[Delta]:
    """Cut the rows into steps under watermarks that are true, and collect what the operator tells."""
    store = MemoryStore(bucket=5)
    marks = _watermarks(world, steps, random)
    plus: list[list[Row]] = [[] for _ in range(steps)]
    minus: list[list[Row]] = [[] for _ in range(steps)]
    for row in world.rows:
        at = _arrival(row.start, row.port, marks, 0, random)
        plus[at].append(row)
        if row.early is not None:
            minus[_arrival(row.early, row.port, marks, at, random)].append(row)
    deltas: list[Delta] = []
    now = NEVER
    for i in range(steps):
        now = max([now, *(row.start for row in plus[i])])
        last = i == steps - 1
        clock = Clock(dict(zip(world.streams, marks[i], strict=True)), {"plain": now}, {}, end=last)
        inputs = [_pieces(world, port, plus[i], minus[i], random) for port in range(_ports(world))]
        deltas += operator.step(inputs, clock, store)
        store.head = json.loads(json.dumps(store.head))
    assert operator.state_rows(store) == 0
    assert all(batch.num_rows for batch in store.runs.values())
    return deltas


def _ports(world: World) -> int:
    return 1 + max((row.port for row in world.rows), default=0)


def _watermarks(world: World, steps: int, random: Random) -> list[list[int]]:
    marks = [
        sorted(random.choice([NEVER, random.randrange(45)]) for _ in range(steps)) for _ in world.streams
    ]
    if random.random() < 0.3:  # one stream ends before the others
        marks[0] = [mark if i < steps / 2 else FOREVER for i, mark in enumerate(marks[0])]
    for stream in marks:
        stream[-1] = FOREVER
    return [list(row) for row in zip(*marks, strict=True)]


def _arrival(time: int, port: int, marks: list[list[int]], earliest: int, random: Random) -> int:
    """A step before which the stream of the port has not promised to be past the time."""
    stream = min(port, len(marks[0]) - 1)
    latest = next((i for i, row in enumerate(marks) if row[stream] > time), len(marks) - 1)
    return random.randint(min(earliest, latest), latest)


def _pieces(world: World, port: int, plus: list[Row], minus: list[Row], random: Random) -> list[Delta]:
    mine, ended = ([row for row in rows if row.port == port] for rows in (plus, minus))
    if not mine and not ended and random.random() < 0.5:
        return []
    cut = random.randrange(len(mine) + 1)
    return [
        Delta(batch_of(world, mine[:cut], False), batch_of(world, ended, True)),
        Delta(batch_of(world, mine[cut:], False), None),
    ]


def batch_of(world: World, rows: list[Row], ended: bool) -> pa.RecordBatch:
    named: dict[str, pa.Array] = {"_s": pa.array([row.start for row in rows], pa.int64())}
    named["_e"] = pa.array([row.end for row in rows], pa.int64())
    if ended:
        named["_d"] = pa.array([row.early for row in rows], pa.int64())
    named["_i0"] = pa.array([row.identity for row in rows], pa.int64())
    for i, type_ in enumerate(world.types):
        named[f"c{i}"] = pa.array([row.values[i] for row in rows], type_)
    batch = pa.RecordBatch.from_pydict(named)
    key = world.key(batch) if world.key else [batch[f"c{i}"] for i in range(len(world.types))]
    hashes = hash_columns(key, len(rows))
    hashes = hashes if world.hashes is None else hashes % np.int64(world.hashes)
    return pa.RecordBatch.from_arrays([pa.array(hashes), *batch.columns], names=["_k", *batch.schema.names])
