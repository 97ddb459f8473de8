"""Join orders against every order there is, and answers that no order changes."""

from __future__ import annotations

import itertools
import random
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression
from seine.algebra.plan import Lookup, Plan, Scan, Select
from seine.algebra.plan_text import print_plan
from seine.optimizer import join_orders
from seine.optimizer.block import Block
from seine.optimizer.estimates import Estimates, Sample
from seine.optimizer.join_orders import JoinCosts, order
from seine.optimizer.rules.order_joins import choose_order, order_joins
from tests.support.plan_interpreter import R, RandomPlans, answer, col, holds, lit, stream
from tests.support.seeds import seed_range, seeds

WIDTH = 3


def sample(seed: int, rows: int, keys: int) -> Sample:
    source = np.random.default_rng(seed)
    columns = {
        "c0": source.integers(0, keys, 300),
        "c1": source.integers(0, 10, 300),
        "c2": np.arange(300),
    }
    return Sample(pa.record_batch(columns), float(rows), rows / 50)


def random_block(seed: int, count: int) -> tuple[Block, Estimates]:
    """Streams of very different sizes, joined by a random graph of conditions."""
    chance = random.Random(seed)
    samples = {
        f"s{i}": sample(seed + i, chance.choice([50, 1_000, 40_000]), chance.choice([5, 100, 5_000]))
        for i in range(count)
    }
    items: list[Plan] = [Scan(stream(f"s{i}"), f"s{i}") for i in range(count)]
    items = [
        Select(item, holds("lt", col(1), lit(chance.randrange(1, 10)))) if chance.random() < 0.5 else item
        for item in items
    ]
    conditions: list[Expression] = []
    for _ in range(chance.randrange(count - 1, 2 * count)):
        one, other = chance.sample(range(count), 2)
        name = chance.choice(["eq", "eq", "eq", "le"])
        column = chance.randrange(2)
        conditions.append(holds(name, col(one * WIDTH + column), col(other * WIDTH + column)))
    outputs = tuple(col(index) for index in range(count * WIDTH))
    return Block(tuple(items), tuple(conditions), outputs), Estimates(samples)


@seeds(30)
def test_the_order_is_the_cheapest_of_all(seed: int) -> None:
    block, estimates = random_block(seed, count=2 + seed % 5)
    costs = JoinCosts(block, estimates)
    every = [list(ordering) for ordering in itertools.permutations(range(len(block.items)))]
    cheapest = min(map(costs.total, every))
    assert costs.total(order(block, estimates)) == pytest.approx(cheapest)
    assert all(costs.total(ordering) > 0 for ordering in every)


def test_orders_differ_in_cost_and_beat_the_rule() -> None:
    better = 0
    for seed in seed_range(30):
        block, estimates = random_block(seed, count=4)
        costs = JoinCosts(block, estimates)
        ours, rule = (costs.total(ordering) for ordering in (order(block, estimates), choose_order(block)))
        assert ours <= rule * 1.000001
        better += ours < rule / 2
    assert better > 5


def test_greedy_beyond_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    block, estimates = random_block(5, count=12)
    chosen = order(block, estimates)
    assert sorted(chosen) == list(range(12))
    near = 0
    for seed in seed_range(20):
        block, estimates = random_block(seed, count=5)
        costs = JoinCosts(block, estimates)
        exact = costs.total(order(block, estimates))
        monkeypatch.setattr(join_orders, "MOST_ITEMS_ENUMERATED", 1)
        greedy = costs.total(order(block, estimates))
        monkeypatch.undo()
        assert greedy >= exact * 0.999999
        near += greedy <= exact * 1.5
    assert near >= 15


def test_the_orders_of_a_very_large_block_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    small, estimates = random_block(7, count=5)
    many = Block(small.items, small.conditions * 60, small.outputs)
    large, estimates_of_large = random_block(7, count=26)
    monkeypatch.setattr(join_orders, "JoinCosts", None)
    assert order(many, estimates) == choose_order(many)
    assert order(large, estimates_of_large) == choose_order(large)


def test_a_selective_stream_comes_early_and_a_relation_never_first() -> None:
    few = Select(Scan(stream("b"), "b"), holds("eq", col(1), lit(3)))
    items = (Lookup(R, "r"), Scan(stream("a"), "a"), Scan(stream("c"), "c"), few)
    conditions = (holds("eq", col(0), col(2)), holds("eq", col(2), col(5)), holds("eq", col(2), col(8)))
    block = Block(items, conditions, (col(0),))
    large = {"a": sample(1, 100_000, 50), "c": sample(2, 100_000, 50)}
    for relation in (1, 100_000):
        samples = {**large, "b": sample(3, 500, 50), "r": sample(4, relation, 50)}
        chosen = order(block, Estimates(samples))
        assert chosen[0] != 0 and chosen.index(3) < chosen.index(2)
    assert order(block, None) == choose_order(block)


def test_a_ring_of_equalities_counts_once() -> None:
    items = tuple(Scan(stream(name), name) for name in "abc")
    ring = (holds("eq", col(0), col(3)), holds("eq", col(3), col(6)), holds("eq", col(0), col(6)))
    estimates = Estimates({name: sample(number, 1_000, 100) for number, name in enumerate("abc")})
    whole = frozenset(range(3))
    closed = JoinCosts(Block(items, ring, ()), estimates).rows(whole)
    opened = [JoinCosts(Block(items, ring[:n] + ring[n + 1 :], ()), estimates).rows(whole) for n in range(3)]
    assert closed == pytest.approx(min(opened))


def test_estimated_orders_never_change_an_answer() -> None:
    estimates = Estimates(
        {name: sample(number, 10 ** (2 + number), 20) for number, name in enumerate("cbar")}
    )
    changed = answered = 0
    for seed in seed_range(240):
        plans = RandomPlans(seed)
        plan = plans.plan()
        better = order_joins(plan, partial(order, estimates=estimates))
        assert better.schema == plan.schema
        changed += better != order_joins(plan)
        data = plans.data()
        expected = answer(plan, data)
        assert answer(better, data) == expected, print_plan(better)
        answered += bool(expected)
    assert changed > 5 and answered > 80
