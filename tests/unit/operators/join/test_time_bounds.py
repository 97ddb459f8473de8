"""Time conditions of joins: answers are those of nested loops, and rows go when their partners are past."""

from __future__ import annotations

import json
import operator
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter
from seine.algebra.types import BIGINT, BOOLEAN
from seine.graph.node import Filter
from seine.graph.parameter_table import ParameterTable, TableRow
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.join.time_bounds import Reach, reaches
from seine.operators.match.any_of import any_of
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER
from tests.support.join_streams import Row, Side, append_steps, stream, tuples
from tests.support.seeds import seed_range

KEY, OTHER, TIME = 0, 1, 2  # the columns of either side


def column(side: int, index: int) -> Column:
    return Column(3 * side + index, BIGINT)


def compared(op: str, one: Column, other: Column, weights: str = "1,-1", constant: int = 0) -> Expression:
    term = Call(f"linear[{weights}]", (one, other), BIGINT)
    return Call(op, (term, Parameter(constant, BIGINT)), BOOLEAN)


def both(*parts: Expression) -> Expression:
    return Call("and", parts, BOOLEAN)


A, B = column(0, TIME), column(1, TIME)
SHAPES: dict[str, tuple[list[Expression | None], bool, bool]] = {
    # what the filters are, and whether left and right rows have a reach
    "after": ([compared("ge", A, B)], True, False),
    "before": ([compared("le", A, B)], False, True),
    "turned": ([compared("le", A, B, "-1,1")], True, False),
    "around": ([both(compared("ge", A, B), compared("le", A, B, constant=1))], True, True),
    "same": ([Call("eq", (B, A), BOOLEAN)], True, True),
    "difference": ([compared("eq", B, A)], True, True),
    "by a column": ([compared("gt", column(0, OTHER), B)], True, False),
    "either": ([compared("ge", A, B), both(compared("lt", B, column(0, OTHER)))], True, False),
    "not all": ([compared("ge", A, B), compared("le", A, B)], False, False),
    "always": ([compared("ge", A, B), None], False, False),
}


def joining(
    shapes: list[Expression | None], rng: random.Random, keyed: bool, by_time: bool = False
) -> tuple[JoinNode, dict[int, ParameterTable]]:
    key = tuple(Column(i, BIGINT) for i in ([KEY] * keyed + [TIME] * by_time))
    side = Side((BIGINT,) * 3, key)
    tables: dict[int, ParameterTable] = {}
    for number, shape in enumerate(shapes):
        tables[number] = ParameterTable([BIGINT, BIGINT])
        for _ in range(rng.randint(1, 3)):
            values = (rng.randint(-9, 9), rng.randint(-9, 9)) if shape is not None else (0, 0)
            tables[number].put(TableRow(len(tables[number]), list(values), {"q": 1}))
    node = JoinNode(
        id=9,
        ports=(side.port(0), side.port(1)),
        types=side.types * 2,
        out=(KEY, OTHER, TIME, 4, 5),
        streams=(stream(0), stream(1)),
        hold=(),
        identities=0,
        stage=1,
        owner="",
        filters=tuple(Filter(shape, number) for number, shape in enumerate(shapes)),
        times=(TIME, TIME),
    )
    return node, tables


def random_rows(rng: random.Random, count: int) -> list[Row]:
    rows = []
    for number in range(count):
        time = number // 2 + rng.randint(0, 3)
        end = FOREVER if rng.random() < 0.7 else time + rng.randint(1, 100)
        other = rng.choice([time + rng.randint(-9, 9), None])
        rows.append(Row(time, end, (rng.randint(0, 3), other, time)))
    return rows


def holds(shape: Expression | None, values: tuple[Any, ...], constants: tuple[Any, ...]) -> bool:
    match shape:
        case None:
            return True
        case Call("and", parts):
            return all(holds(part, values, constants) for part in parts)
        case Call("eq", (Column(one), Column(other))):
            return bool(values[one] == values[other])
        case Call(op, (Call(name, (Column(one), Column(other))), Parameter(place))):
            if values[one] is None or values[other] is None:
                return False
            sign = 1 if name == "linear[1,-1]" else -1
            difference, constant = sign * (values[one] - values[other]), constants[place]
            return bool(getattr(operator, op)(difference, constant))
    raise AssertionError(shape)


def expected(node: JoinNode, tables: dict[int, ParameterTable], left: list[Row], right: list[Row]) -> Counter:
    emitted: Counter = Counter()
    places = [key.index for key in node.ports[0].key if isinstance(key, Column)]
    for a in left:
        for b in right:
            start, end, values = max(a.start, b.start), min(a.end, b.end), a.values + b.values
            wanted = any(
                holds(f.shape, values, constants)
                for f in node.filters
                for constants in tables[f.table].rows.values()
            )
            if start < end and wanted and all(a.values[p] == b.values[p] for p in places):
                emitted[(start, end, *a.values, *b.values[1:])] += 1
    return emitted


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_answers_are_those_of_nested_loops(name: str, keyed: bool) -> None:
    shapes, left_reach, right_reach = SHAPES[name]
    total, peak, rows_in_all = 0, 0, 0
    for seed in seed_range(3):
        rng = random.Random(seed)
        node, tables = joining(shapes, rng, keyed)
        bounds = reaches(node, tables)
        assert [reach is not None for reach in bounds] == [left_reach, right_reach]
        join = JoinOperator(node, any_of(node.filters, tables), bounds)
        rows = [random_rows(rng, 120) for _ in range(2)]
        store, emitted = MemoryStore(), Counter[Any]()
        sides = [Side(port.types, port.key) for port in node.ports]
        for inputs, clock in append_steps(rng, sides, rows, rng.randint(1, 24)):
            store.head = json.loads(json.dumps(store.head))
            if min(clock.watermarks.values()) > 30:  # it is under way
                peak, rows_in_all = max(peak, join.state_rows(store)), 240
            for delta in join.step(inputs, clock, store):
                emitted.update(tuples(delta.plus))
        assert emitted == expected(node, tables, *rows)
        total += emitted.total()
    assert total > 50
    if left_reach and right_reach:
        assert peak < rows_in_all * 0.6


def test_a_key_of_times_is_a_bound_for_all() -> None:
    rng = random.Random(1)
    node, tables = joining([None], rng, True, by_time=True)
    bounds = reaches(node, tables)
    assert bounds == [Reach(((((TIME, 1),), 0),), None)] * 2
    join, store = JoinOperator(node, any_of(node.filters, tables), bounds), MemoryStore()
    side = Side(node.ports[0].types, node.ports[0].key)
    rows = [Row(t, FOREVER, (1, 0, t)) for t in (4, 5, 6)]
    list(join.step([[side.delta(rows)], []], Clock({stream(0): NEVER, stream(1): 5}), store))
    assert join.state_rows(store) == 2
    (one,) = join.step([[], [side.delta(rows[1:])]], Clock({stream(0): 7, stream(1): 7}), store)
    assert one.plus.num_rows == 2 and join.state_rows(store) == 0


def test_bounds_stay_within_time() -> None:
    batch = pa.record_batch({"c0": pa.array([FOREVER - 1, NEVER + 1, None, 5]), "c1": [1, 1, 1, None]})
    ends = np.full(4, FOREVER)
    for added, until in ((9, [FOREVER, FOREVER, NEVER, 15]), (-9, [FOREVER, FOREVER, NEVER, -3])):
        bound = (((0, 1),), added)
        assert Reach((bound,), None).until(batch, ends).tolist() == until
        assert Reach((), (bound, (((0, 1),), added - 1))).until(batch, ends).tolist() == until
    assert Reach(((((0, 1), (1, -1)), 2),), None).until(batch[3:], ends[3:]).tolist() == [NEVER]


def test_a_bound_is_on_columns_of_the_row_that_waits() -> None:
    inner, other = compared("le", B, column(1, OTHER)), compared("le", B, column(0, OTHER))
    for shapes, bounded in (([inner], False), ([both(inner, other)], True), ([both(other, inner)], True)):
        node, tables = joining(list(shapes), random.Random(0), True)
        left, right = reaches(node, tables)
        assert right is None
        assert (left.columns if left is not None else None) == ({OTHER} if bounded else None)


def test_columns_of_the_partner_that_are_keys_are_known() -> None:
    shape = compared("le", B, column(1, KEY))  # b.ts - b.k <= constant, where a.k = b.k
    node, tables = joining([shape], random.Random(0), True)
    left, right = reaches(node, tables)
    assert left is not None and left.columns == {KEY} and right is None


def test_sums_and_shifted_keys_bound_as_well() -> None:
    term = Call("linear[1,1,-1]", (A, column(0, OTHER), B), BIGINT)
    node, tables = joining([Call("ge", (term, Parameter(0, BIGINT)), BOOLEAN)], random.Random(0), True)
    left, right = reaches(node, tables)
    assert left is not None and left.columns == {TIME, OTHER} and right is None
    later = Call("add", (Column(TIME, BIGINT), Literal(3, BIGINT)), BIGINT)
    ports = [
        replace(port, key=key)
        for port, key in zip(node.ports, ((later,), (Column(TIME, BIGINT),)), strict=True)
    ]
    keyed = replace(node, ports=tuple(ports), filters=(Filter(None, 0),))
    assert reaches(keyed, tables) == [Reach(((((TIME, 1),), 3),), None), Reach(((((TIME, 1),), -3),), None)]


def test_rows_from_before_a_bound_stay_until_their_end() -> None:
    """An older version of the network knew no bound, or another one."""
    rng = random.Random(2)
    bounded, tables = joining([compared("ge", A, B)], rng, True)
    free, no_tables = joining([None], rng, True)
    joins = [
        JoinOperator(bounded, any_of(bounded.filters, tables), reaches(bounded, tables)),
        JoinOperator(free, any_of(free.filters, no_tables), reaches(free, no_tables)),
    ]
    side, store = Side(bounded.ports[0].types, bounded.ports[0].key), MemoryStore()
    for number in range(40):
        rows = [Row(number, FOREVER, (1, 0, number))]
        clock = Clock({stream(0): number, stream(1): number})
        list(joins[number // 4 % 2].step([[side.delta(rows)], []], clock, store))
    assert 20 <= joins[0].state_rows(store) < 40
    list(joins[0].step([[], []], Clock({stream(0): FOREVER, stream(1): FOREVER}), store))
    assert not store.runs
