"""Safe plans: only safe ones, the cheapest of them, and the schemes that they need."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, Graph, GraphItem
from seine.safety.plans.safe_plans import (
    MEMORY,
    THROUGHPUT,
    JoinOf,
    PurgeableOperators,
    Rows,
    SafePlan,
    Tree,
    _divided,
    _Search,
    cheapest_plan,
    is_safe,
    items_of,
    joins_of,
    listening,
    schemes_used,
)


def safe_plan(graph: Graph, rows: Rows | None = None, objective: str = THROUGHPUT) -> SafePlan | None:
    return cheapest_plan(len(graph.items), PurgeableOperators(graph).operator, rows, objective)


def random_graph(rng: random.Random, items: int, schemes: int = 2) -> Graph:
    """Streams that share facts along a tree and some more edges, with schemes of one or two of them."""
    facts: list[set[int]] = [set() for _ in range(items)]
    edges = [(rng.randrange(n), n) for n in range(1, items)]
    edges += [tuple(rng.sample(range(items), 2)) for _ in range(rng.randrange(items))]
    for fact, pair in enumerate(edges):
        for number in pair:
            facts[number].add(fact)
    collected = []
    for number, known in enumerate(facts):
        schemes_of = [
            rng.sample(sorted(known), min(len(known), rng.choice([1, 1, 2]))) for _ in range(schemes)
        ]
        closers = tuple(Closer(frozenset(s), PUNCTUATION, tuple(s)) for s in schemes_of)
        collected.append(
            GraphItem(f"s{number}", frozenset(known), closers, rng.random() < 0.1, rng.random() < 0.05)
        )
    return Graph(tuple(collected), len(edges))


def all_trees(items: list[int]) -> Iterator[Tree]:
    if len(items) == 1:
        yield items[0]
        return
    for parts in _divided(items):
        if len(parts) > 1:
            yield from map(JoinOf, _products([list(all_trees(sorted(part))) for part in parts]))


def _products(choices: list[list[Tree]]) -> Iterator[tuple[Tree, ...]]:
    if not choices:
        yield ()
        return
    for rest in _products(choices[1:]):
        for one in choices[0]:
            yield (one, *rest)


def frees_by_hand(graph: Graph, part: frozenset[int], whole: frozenset[int]) -> bool:
    """The definition: what is closed grows from the part within the operator until nothing is added."""
    closed = set(part)
    while True:
        known = {fact for number in closed for fact in graph.items[number].gives}
        more = {n for n in whole - closed if any(c.needs <= known for c in graph.items[n].closers)}
        if not more:
            break
        closed |= more
    if any(graph.items[n].expires for n in part):
        return True
    if any(graph.items[n].deletable for n in part):
        return False
    return closed >= whole or any(graph.items[n].expires for n in closed)


def safe_by_hand(graph: Graph, tree: Tree) -> bool:
    return all(
        frees_by_hand(graph, items_of(part), items_of(join))
        for join in joins_of(tree)
        for part in join.inputs
    )


@pytest.mark.parametrize("objective", [MEMORY, THROUGHPUT])
def test_the_cheapest_of_all_safe_plans_is_chosen(objective):
    rng = random.Random(5)
    chosen, wider = 0, 0
    for _ in range(150):
        graph = random_graph(rng, rng.randrange(2, 5))
        sizes = {}

        def rows(items, sizes=sizes):
            return sizes.setdefault(items, rng.uniform(1, 1000))

        trees = [tree for tree in all_trees(list(range(len(graph.items)))) if safe_by_hand(graph, tree)]
        plan = safe_plan(graph, rows, objective)
        if not trees:
            assert plan is None
            continue
        search = _Search(PurgeableOperators(graph).operator, rows, objective)
        costs = [priced(search, tree).cost.ranked(objective) for tree in trees]
        assert safe_by_hand(graph, plan.tree)
        assert plan.cost.ranked(objective) == pytest.approx(min(costs))
        chosen += 1
        wider += all(max(len(join.inputs) for join in joins_of(tree)) > 2 for tree in trees)
    assert chosen > 40 and wider > 0


def priced(search, tree):
    if isinstance(tree, int):
        return search.best(frozenset([tree]))
    return search._operator([priced(search, child) for child in tree.inputs])


def test_a_given_plan_is_judged_by_its_operators():
    rng = random.Random(6)
    judged = [0, 0]
    for _ in range(150):
        graph = random_graph(rng, rng.randrange(2, 5))
        for tree in all_trees(list(range(len(graph.items)))):
            assert is_safe(graph, tree) == safe_by_hand(graph, tree)
            judged[is_safe(graph, tree)] += 1
    assert min(judged) > 100


def test_large_blocks_get_a_safe_plan_of_pairs_and_one_wide_operator():
    rng = random.Random(7)
    safe = 0
    for _ in range(60):
        graph = random_graph(rng, rng.randrange(8, 12), schemes=4)
        plan = safe_plan(graph)
        everything = JoinOf(tuple(range(len(graph.items))))
        assert (plan is not None) == safe_by_hand(graph, everything)
        if plan is not None:
            assert items_of(plan.tree) == frozenset(range(len(graph.items)))
            assert safe_by_hand(graph, plan.tree)
            safe += 1
    assert safe > 5


def test_as_few_schemes_as_keep_it_safe():
    rng = random.Random(8)
    fewer = 0
    for _ in range(100):
        graph = random_graph(rng, rng.randrange(2, 6))
        plan = safe_plan(graph)
        if plan is None:
            continue
        everything = schemes_used(graph, plan.tree, MEMORY)
        few = schemes_used(graph, plan.tree, THROUGHPUT)
        assert safe_by_hand(listening(graph, few), plan.tree)
        assert not any(safe_by_hand(listening(graph, few - {one}), plan.tree) for one in few)
        fewer += len(few) < len(everything)
    assert fewer > 10
