"""Which items are purgeable: the contracted search against the definition, on random graphs."""

from __future__ import annotations

import random
from dataclasses import replace

from seine.safety.graph.punctuation_graph import CLOCK, PUNCTUATION, Closer, ClosureRule, Graph, GraphItem
from seine.safety.graph.purgeable import components, purgeable, transformed


def by_definition(graph: Graph) -> list[bool]:
    """Grow what is closed for each item by itself, over and over, until nothing is added."""
    return [_is_finished(graph, number) for number in range(len(graph.items))]


def _is_finished(graph: Graph, number: int) -> bool:
    closed, known = {number}, set(graph.given)
    before = None
    while before != (before := (len(closed), len(known))):
        known.update(fact for one in closed for fact in graph.items[one].gives)
        known.update(rule.gives for rule in graph.rules if rule.needs <= known)
        for one, item in enumerate(graph.items):
            if any(closer.needs <= known for closer in item.closers):
                closed.add(one)
    item = graph.items[number]
    if item.expires or item.deletable:
        return item.expires
    return len(closed) == len(graph.items) or any(graph.items[one].expires for one in closed)


def random_graph(rng: random.Random, most: int) -> Graph:
    items, facts = rng.randrange(1, most), rng.randrange(1, most + 2)
    width = rng.choice([1, 2, 2, 3])
    mixed = rng.choice([0.0, 0.0, 0.3])

    def subset(least: int, size: int) -> frozenset[int]:
        return frozenset(rng.sample(range(facts), min(facts, rng.randrange(least, size + 1))))

    collected = []
    for number in range(items):
        closers = [
            Closer(subset(1, width), rng.choice([PUNCTUATION, CLOCK]), ()) for _ in range(rng.randrange(4))
        ]
        expires, deletable = rng.random() < mixed / 2, rng.random() < mixed / 3
        collected.append(GraphItem(f"s{number}", subset(0, 3), tuple(closers), expires, deletable))
    rules = [ClosureRule(subset(1, width), rng.randrange(facts)) for _ in range(rng.choice([0, 0, items]))]
    given = subset(0, 1) if rng.random() < 0.2 else frozenset()
    return Graph(tuple(collected), facts, tuple(rules), given)


def test_the_search_is_the_definition():
    rng = random.Random(1)
    counts = [0, 0]
    for _ in range(6000):
        graph = random_graph(rng, rng.choice([3, 4, 6, 9]))
        answer = purgeable(graph)
        assert answer == by_definition(graph), graph
        counts[all(answer)] += 1
    assert min(counts) > 500


def test_chains_rings_and_stars_of_many_streams():
    for size in (2, 3, 50, 400):
        ring = [GraphItem(f"s{n}", frozenset([n, (n + 1) % size]), (_scheme(n),)) for n in range(size)]
        assert all(purgeable(Graph(tuple(ring), size)))
        open_ring = [GraphItem("s0", ring[0].gives), *ring[1:]]
        assert purgeable(Graph(tuple(open_ring), size)) == [True] + [False] * (size - 1)
        paired = [GraphItem(i.name, i.gives, (_scheme(n, (n + 1) % size),)) for n, i in enumerate(ring)]
        assert all(purgeable(Graph(tuple(paired), size))) == (size == 2)


def _scheme(*facts: int) -> Closer:
    return Closer(frozenset(facts), PUNCTUATION, facts)


def test_components_are_mutual_reach():
    rng = random.Random(2)
    for _ in range(500):
        size = rng.randrange(1, 8)
        edges = [[rng.randrange(size) for _ in range(rng.randrange(3))] for _ in range(size)]
        reach = [[one == other for other in range(size)] for one in range(size)]
        for _ in range(size):
            for one in range(size):
                for head in edges[one]:
                    reach[one] = [a or b for a, b in zip(reach[one], reach[head], strict=True)]
        component, count = components(edges)
        assert set(component) == set(range(count))
        for one in range(size):
            for other in range(size):
                assert (component[one] == component[other]) == (reach[one][other] and reach[other][one])
                if reach[one][other]:
                    assert component[other] <= component[one]


def test_one_node_is_left_if_and_only_if_everything_is_purgeable():
    """Theorem 5, with plain edges by schemes of several columns that one stream tells."""
    rng = random.Random(9)
    counts = [0, 0]
    for _ in range(2000):
        graph = random_graph(rng, rng.choice([3, 4, 5, 6]))
        items = [replace(item, expires=False, deletable=False) for item in graph.items]
        graph = replace(graph, items=tuple(items), given=frozenset())
        nodes = transformed(graph)
        assert sorted(number for node in nodes for number in node) == list(range(len(items)))
        assert (len(nodes) == 1) == all(by_definition(graph)), graph
        counts[len(nodes) == 1] += 1
    assert min(counts) > 200
