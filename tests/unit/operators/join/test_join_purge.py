"""Joins of promising streams against brute force: the pairs of nested loops, and nothing held is over."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import BIGINT, STRING, Type
from seine.graph.node import Port
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.join.join_purge import PurgeRule
from seine.operators.match.any_of import any_of
from seine.operators.state import runs as runs_module
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, data_names
from seine.rows.hashing import hash_columns
from tests.support.join_streams import Row, Side, condition_filters, cuts, stream, tuples, watermark
from tests.support.seeds import seed_range

TYPES = {"a": BIGINT, "b": STRING}
POOL: dict[str, list[Any]] = {"a": list(range(9)), "b": ["x", "y", "z"]}


@dataclass(frozen=True)
class Punctuation:
    """A side sends no more rows with these values at these places that start before the limit."""

    port: int
    start: int
    limit: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Scenario:
    """A join by columns of these names; each purge has a side, places of the key, and how long it holds."""

    names: str
    purges: tuple[tuple[int, tuple[int, ...], int | None], ...]
    window: tuple[int | None, int | None] = (None, None)


SCENARIOS = {
    "one column": Scenario("a", ((0, (0,), None), (1, (0,), None))),
    "a string": Scenario("b", ((0, (0,), None), (1, (0,), None))),
    "one side": Scenario("a", ((1, (0,), None),)),
    "two columns": Scenario("ab", ((0, (0, 1), None), (1, (0, 1), None))),
    "parts": Scenario("ab", ((0, (0,), None), (1, (0, 1), None), (1, (1,), None))),
    "crossed parts": Scenario("ab", ((0, (1,), None), (1, (0,), None))),
    "lifespan": Scenario("a", ((0, (0,), 25), (1, (0,), None)), (20, 12)),
    "lifespans and parts": Scenario("ab", ((0, (0, 1), 9), (1, (0,), 40), (1, (0, 1), 14)), (7, None)),
}


def key_of(names: str) -> tuple[Expression, ...]:
    return tuple(Column(i, TYPES[name]) for i, name in enumerate(names))


def operator_of(scenario: Scenario, lazy: bool) -> JoinOperator:
    key = key_of(scenario.names)
    side = Side((*(e.type for e in key), BIGINT), key)
    ports = [side.port(0), side.port(1)]
    for number, (_, places, _) in enumerate(scenario.purges):
        types = tuple(key[place].type for place in places)
        columns = tuple(Column(i, type_) for i, type_ in enumerate(types))
        ports.append(Port(2 + number, types, (), 0, columns, broadcast=len(places) < len(key)))
    filters, tables = condition_filters([None])
    node = JoinNode(
        id=9,
        ports=tuple(ports),
        types=side.types * 2,
        out=(len(key), 2 * len(key) + 1),
        streams=(stream(0), stream(1)),
        hold=(),
        identities=0,
        stage=1,
        owner="",
        filters=filters,
        purges=tuple(PurgeRule(side, places) for side, places, _ in scenario.purges),
        lazy=lazy,
    )
    return JoinOperator(node, any_of(filters, tables))


def lines_of(rng: random.Random, scenario: Scenario, side: int, count: int) -> list[Row | Punctuation]:
    """Rows and promises of a side as they come; none breaks a promise before it."""
    lines: list[Row | Punctuation] = []
    made: list[Punctuation] = []
    window = scenario.window[side]
    schemes = [(i, places, life) for i, (s, places, life) in enumerate(scenario.purges) if s == side]
    for number in range(count):
        time = number // 3 + rng.randint(0, 4)
        values = tuple(rng.choice(POOL[name]) for name in scenario.names)
        if schemes and rng.random() < 0.12:
            port, places, life = rng.choice(schemes)
            limit = FOREVER if life is None else time + life
            made.append(Punctuation(port, time, limit, tuple(values[p] for p in places)))
            lines.append(made[-1])
        else:
            end = FOREVER if window is None else time + window
            row = Row(time, end, (*values, 1000 * side + number))
            if not any(time < p.limit and agrees(scenario, p, values) for p in made):
                lines.append(row)
    return lines


def agrees(scenario: Scenario, punctuation: Punctuation, values: Sequence[Any]) -> bool:
    places = scenario.purges[punctuation.port][1]
    return all(values[p] == v for p, v in zip(places, punctuation.values, strict=True))


def closing(scenario: Scenario, side: int) -> list[Row | Punctuation]:
    """Promises of a side for all values there are."""
    return [
        Punctuation(port, 200, FOREVER, values)
        for port, (punctuating, places, _) in enumerate(scenario.purges)
        if punctuating == side
        for values in product(*(POOL[scenario.names[place]] for place in places))
    ]


def expected(scenario: Scenario, streams: Sequence[list[Row | Punctuation]]) -> Counter:
    emitted: Counter = Counter()
    width = len(scenario.names)
    left, right = ([line for line in lines if isinstance(line, Row)] for lines in streams)
    for a in left:
        for b in right:
            start, end = max(a.start, b.start), min(a.end, b.end)
            if start < end and a.values[:width] == b.values[:width]:
                emitted[start, end, a.values[width], b.values[width]] += 1
    return emitted


def rows_held(scenario: Scenario, streams: Sequence[list[Row | Punctuation]]) -> int:
    """How many rows the other side has not promised away, by the definition."""
    punctuations = [[line for line in lines if isinstance(line, Punctuation)] for lines in streams]
    return sum(
        not any(row.end <= p.limit and agrees(scenario, p, row.values) for p in punctuations[1 - side])
        for side, lines in enumerate(streams)
        for row in lines
        if isinstance(row, Row)
    )


def punctuations_held(scenario: Scenario, streams: Sequence[list[Row | Punctuation]]) -> int:
    """How many promises the other side has not promised away, by the definition; each is told once."""
    punctuations = [[line for line in lines if isinstance(line, Punctuation)] for lines in streams]

    def is_covered(punctuation: Punctuation, side: int) -> bool:
        punctuated = dict(zip(scenario.purges[punctuation.port][1], punctuation.values, strict=True))
        return any(
            other.limit >= punctuation.limit
            and all(
                punctuated.get(place, object()) == value
                for place, value in zip(scenario.purges[other.port][1], other.values, strict=True)
            )
            for other in punctuations[1 - side]
        )

    return sum(not is_covered(p, side) for side in (0, 1) for p in punctuations[side])


def first_told(lines: list[Row | Punctuation]) -> list[Row | Punctuation]:
    """Without promises that say nothing new, which admission keeps back."""
    distinct_lines: list[Row | Punctuation] = []
    longest: dict[tuple[int, tuple[Any, ...]], int] = {}
    for line in lines:
        if isinstance(line, Punctuation):
            key = (line.port, line.values)
            if longest.get(key, NEVER) >= line.limit:
                continue
            longest[key] = line.limit
        distinct_lines.append(line)
    return distinct_lines


def batch_of(scenario: Scenario, port: int, punctuations: Sequence[Punctuation]) -> pa.RecordBatch:
    types: list[Type] = [TYPES[scenario.names[place]] for place in scenario.purges[port][1]]
    columns = [pa.array([p.values[i] for p in punctuations], t.arrow()) for i, t in enumerate(types)]
    times = [
        pa.array(np.array(v, np.int64)) for v in zip(*((p.start, p.limit) for p in punctuations), strict=True)
    ]
    arrays = [pa.array(hash_columns(columns, len(punctuations))), *times, *columns]
    return pa.RecordBatch.from_arrays(arrays, ["_k", "_s", "_e", *data_names(len(columns))])


def steps(
    rng: random.Random,
    scenario: Scenario,
    streams: Sequence[list[Row | Punctuation]],
    count: int,
    timed: bool,
) -> Iterator[tuple[list[list[Delta]], Clock, list[int]]]:
    """Lines cut into steps for each side on its own, and how many lines of each have come."""
    key = key_of(scenario.names)
    side_of = Side((*(e.type for e in key), BIGINT), key)
    plans = [cuts(rng, len(lines), count) for lines in streams]
    for number in range(count):
        inputs: list[list[Delta]] = [[] for _ in range(2 + len(scenario.purges))]
        marks = {}
        for side, lines in enumerate(streams):
            part = plans[side][number]
            came = lines[part]
            inputs[side] = [side_of.delta([line for line in came if isinstance(line, Row)])]
            for port in range(len(scenario.purges)):
                punctuations = [line for line in came if isinstance(line, Punctuation) and line.port == port]
                if punctuations:
                    inputs[2 + port] = [Delta(batch_of(scenario, port, punctuations))]
            later = [line for line in lines[part.stop :] if isinstance(line, Row)]
            mark = watermark(later, rng) if part.stop and timed else NEVER
            marks[stream(side)] = min(mark, 150)
        yield inputs, Clock(marks), [plan[number].stop for plan in plans]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", SCENARIOS)
def test_answers_are_those_of_nested_loops(name: str, lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # so that rows are masked before their runs are written again
    monkeypatch.setattr(
        runs_module, "FREELY_MERGED_ROWS", 4
    )  # so that rows are masked before their runs are written again
    scenario, total, freed = SCENARIOS[name], 0, 0
    operator = operator_of(scenario, lazy)
    for seed in seed_range(15):
        rng = random.Random(seed)
        streams = [first_told(lines_of(rng, scenario, side, rng.randint(0, 90))) for side in (0, 1)]
        timed = rng.random() < 0.5
        store, emitted = MemoryStore(), Counter[Any]()
        for inputs, clock, came in steps(rng, scenario, streams, rng.randint(1, 12), timed):
            store.head = json.loads(json.dumps(store.head))
            for delta in operator.step(inputs, clock, store):
                emitted.update(tuples(delta.plus))
            now = [lines[:count] for lines, count in zip(streams, came, strict=True)]
            held = rows_held(scenario, now) + punctuations_held(scenario, now)
            if not timed and not lazy:
                assert operator.state_rows(store) == held
            if not timed:
                assert operator.state_rows(store) >= held
        assert emitted == expected(scenario, streams)
        total += emitted.total()
        freed += sum(map(len, streams)) - operator.state_rows(store)
    assert total > 100 and freed > 100


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "name", [name for name, s in SCENARIOS.items() if {p[0] for p in s.purges} == {0, 1}]
)
def test_no_row_is_left_when_all_is_punctuated(name: str, lazy: bool) -> None:
    scenario = SCENARIOS[name]
    operator = operator_of(scenario, lazy)
    for seed in seed_range(10):
        rng = random.Random(seed)
        streams = [first_told(lines_of(rng, scenario, side, 60) + closing(scenario, side)) for side in (0, 1)]
        store = MemoryStore()
        for inputs, clock, _ in steps(rng, scenario, streams, rng.randint(1, 9), False):
            list(operator.step(inputs, clock, store))
        list(operator.step([[] for _ in inputs], clock, store))  # a lazy one does its work now
        assert [e for side in ("left", "right") for e in store.head[side]] == []
        if {len(places) for _, places, _ in scenario.purges} == {len(scenario.names)}:
            assert operator.state_rows(store) == 0 and not store.runs


def test_unequal_values_of_equal_hash_are_not_purged() -> None:
    scenario = SCENARIOS["a string"]
    operator, store = operator_of(scenario, False), MemoryStore()
    side = Side((STRING, BIGINT), key_of("b"))

    def forged(batch: pa.RecordBatch) -> Delta:
        return Delta(batch.set_column(0, "_k", pa.array(np.array([5], np.int64))))

    row = forged(side.batch([Row(0, FOREVER, ("x", 1))]))
    clock = Clock({stream(0): 0, stream(1): 0})
    other, same = (forged(batch_of(scenario, 1, [Punctuation(1, 0, FOREVER, (v,))])) for v in ("y", "x"))
    list(operator.step([[row], [], [], [other]], clock, store))
    assert len(store.head["left"]) == 1
    list(operator.step([[row], [], [], [same]], clock, store))
    assert not store.head["left"]
