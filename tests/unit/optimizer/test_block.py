"""Plans taken apart: the items, conditions and outputs of a block, and what ends it."""

from __future__ import annotations

import time
from functools import reduce

import pytest

from seine.algebra.expressions import Column, conjunction
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Distinct, Join, Plan, Project, Scan, Select
from seine.algebra.types import BIGINT
from seine.optimizer.block import Block, Blocks, block_of, take_apart
from tests.support.front_end import TABLES, parse


def scan(name: str, width: int = 2) -> Scan:
    columns = ", ".join(f"c{i} BIGINT" for i in range(width - 1))
    text = f"CREATE STREAM {name} ({columns}, ts BIGINT) TIMESTAMP BY ts FROM 'x';"
    return Scan(parse(text).declarations.streams[name], name)


def column(index: int) -> Column:
    return Column(index, BIGINT)


def equal(one: int, other: int):
    return resolve_call("eq", [column(one), column(other)])


def doubled(plan: Plan, levels: int) -> Plan:
    """The first column of a plan, added to itself again and again."""
    for _ in range(levels):
        plan = Project(plan, (resolve_call("add", [column(0), column(0)]),), ("v",))
    return plan


def written(block: Block) -> tuple[list[str], list[str]]:
    return [str(c) for c in block.conditions], [str(o) for o in block.outputs]


def test_selections_projections_and_joins_are_one_block() -> None:
    a, b = scan("a"), scan("b")
    later = Project(b, (resolve_call("add", [column(1), literal(1)]),), ("later",))
    plan = Project(Select(Join(a, later), equal(0, 2)), (column(2), column(0)), ("p", "q"))
    block = take_apart(plan)
    assert block.items == (a, b)
    assert written(block) == (["eq(#0, add(#3, 1))"], ["add(#3, 1)", "#0"])


def test_conditions_of_lower_joins_come_first() -> None:
    a, b, c = scan("a"), scan("b"), scan("c")
    lower = Join(a, Select(b, equal(0, 1)), equal(0, 2))
    plan = Select(Join(lower, c, equal(2, 4)), equal(1, 5))
    conditions, outputs = written(take_apart(plan))
    assert conditions == ["eq(#2, #3)", "eq(#0, #2)", "eq(#2, #4)", "eq(#1, #5)"]
    assert outputs == [f"#{i}" for i in range(6)]


def test_joins_on_the_right_are_taken_apart_too() -> None:
    a, b, c = scan("a"), scan("b", 3), scan("c")
    swapped = Project(Join(b, c, equal(0, 3)), (column(3), column(0)), ("p", "q"))
    block = take_apart(Join(a, swapped, equal(0, 2)))
    assert block.items == (a, b, c)
    assert written(block) == (["eq(#2, #5)", "eq(#0, #5)"], ["#0", "#1", "#5", "#2"])


def test_pipeline_breakers_end_a_block() -> None:
    below = Distinct(Join(scan("a"), scan("b")))
    assert take_apart(Select(below, equal(0, 2))).items == (below,)


def test_an_expression_that_would_grow_too_large_ends_a_block() -> None:
    a, b = scan("a"), scan("b")
    large = doubled(a, 12)
    block = take_apart(Join(large, b))
    assert [type(item) for item in block.items] == [Project, Scan]
    assert block.offsets == (0, 1, 3)
    inlined = take_apart(Join(large, b), largest=None)
    assert inlined.items == (a, b) and inlined.outputs[0].size == 2**13 - 1


def test_what_is_left_out_again_leaves_no_conditions() -> None:
    chosen = Select(doubled(Select(scan("a"), equal(0, 1)), 12), resolve_call("gt", [column(0), literal(1)]))
    block = take_apart(Join(scan("b"), chosen))
    assert len(block.items) == 2
    assert len(block.conditions) == 1 and block.conditions[0].columns == {2}


def test_plans_that_are_items_are_not_entered() -> None:
    chosen = Select(scan("a"), equal(0, 1))
    block = take_apart(Join(chosen, scan("b")), is_item=lambda plan: isinstance(plan, Select))
    assert block.items[0] is chosen and block.conditions == ()


def test_a_block_of_some_of_the_items() -> None:
    a, b, c = scan("a"), scan("b", 3), scan("c")
    block = take_apart(Select(reduce(Join, (a, b, c)), conjunction([equal(0, 5), equal(2, 5), equal(2, 3)])))
    part = block.among([2, 1])
    assert part.items == (c, b)
    assert written(part)[0] == ["eq(#2, #0)", "eq(#2, #3)"]


def test_equalities_are_stated() -> None:
    words = "SELECT x.a FROM s x, t y WHERE x.a <= y.a AND x.a >= y.a"
    plan = parse(f"{TABLES}CREATE QUERY q AS {words};").declarations.queries["q"].plan
    assert len(take_apart(plan).conditions) == 2
    (condition,) = block_of(plan).conditions
    assert str(condition).startswith("eq(")


def test_each_block_is_worked_out_once() -> None:
    blocks, plan = Blocks(), Join(scan("a"), scan("b"))
    assert blocks.of(plan) is blocks.of(plan)
    blocks.know(plan, Block((), (), ()))
    assert blocks.of(plan).items == ()


@pytest.mark.parametrize("project", [False, True])
def test_a_thousand_streams_take_a_thousand_steps(project: bool) -> None:
    streams: list[Plan] = [scan(f"s{i}") for i in range(1000)]
    if project:
        streams[0] = Project(streams[0], (column(1), column(0)), ("p", "q"))
    plan = Select(reduce(Join, streams), conjunction([equal(2 * i, 2 * i + 2) for i in range(999)]))
    began = time.perf_counter()
    block = take_apart(plan, largest=None)
    assert len(block.items) == 1000 and len(block.conditions) == 999
    assert time.perf_counter() - began < 2
