"""The law of reach: a distance that is read is never more than the true one, as far as half of MAX."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from seine.operators.search.distances import Distances
from seine.operators.search.keyword_search import states_of
from seine.operators.search.known_tuples import ID, KnownTuples
from seine.operators.search.watched_schema import NUMBER, TABLE
from seine.rows.clock import Clock
from tests.support.searched_graphs import WORDS, SearchedGraph, SearchedNodes, joined_pairs, random_graph
from tests.support.seeds import seed_range


def true_distances(graph: SearchedGraph, alive: set[int], word: str) -> dict[int, int]:
    """Hops from each tuple alive to one with the word, over tuples that are alive."""
    partners: dict[int, set[int]] = {i: set() for i in alive}
    for a, b, _ in joined_pairs(graph):
        if a in alive and b in alive:
            partners[a].add(b)
            partners[b].add(a)
    distance = {i: 0 for i in alive if word in graph.tuples[i].words}
    frontier = [*distance]
    while frontier:
        near = [b for a in frontier for b in partners[a] if b not in distance]
        distance |= {b: distance[a] + 1 for a in frontier for b in partners[a] if b not in distance}
        frontier = [*dict.fromkeys(near)]
    return distance


def read_distances(nodes: SearchedNodes, graph: SearchedGraph) -> Iterator[tuple[int, str, int]]:
    """What one bucket has read: tuple, word, distance."""
    states, search = states_of(nodes.stores[0]), nodes.operators[0].search
    searches = search.searches(0)
    tuples = KnownTuples(searches, search.sides)
    for run in [run for state in states for run in state.places.overlapping()]:
        tuples.numbers(run.batch)
    distances = Distances(tuples, searches, [run for one in states for run in one.reach.overlapping()])
    owner, term, hops = distances.near(np.arange(len(tuples)))
    for at, number, distance in zip(tuples.id[owner], searches.terms[term], hops, strict=True):
        yield int(at), WORDS[int(number)], int(distance)


def held_tuples(nodes: SearchedNodes, graph: SearchedGraph) -> dict[int, int]:
    """The held tuples by id, as places in the graph."""
    at = {(row.table + 1, row.number): place for place, row in enumerate(graph.tuples)}
    batches = [batch for state in states_of(nodes.stores[0]) if (batch := state.held()) is not None]
    rows = [row for batch in batches for row in batch.to_pylist()]
    return {row[ID]: at[row[TABLE], row[NUMBER]] for row in rows}


def test_no_distance_is_too_large() -> None:
    compared = beyond_one = 0
    for seed in seed_range(40):
        rng = random.Random(seed)
        graph = random_graph(rng, tuples=24, most=6)
        nodes = SearchedNodes(graph)
        ids: dict[int, int] = {}
        for low in range(0, 24, 6):
            arrived = graph.tuples[low : low + 6]
            now = min((row.ts for row in graph.tuples[low + 6 :]), default=max(r.ts for r in graph.tuples))
            nodes.step(arrived, Clock({f"s{i}": now for i in range(len(graph.windows))}))
            ids |= held_tuples(nodes, graph)
        alive = {i for i, row in enumerate(graph.tuples) if row.ts + graph.windows[row.table] > now}
        read = {(ids[at], word): distance for at, word, distance in read_distances(nodes, graph)}
        joined = {i for a, b, _ in joined_pairs(graph) for i in (a, b)}
        for word in WORDS:
            most = max((q.max_tuples for q in graph.queries if word in q.words), default=0) // 2
            for node, distance in true_distances(graph, alive, word).items():
                if distance <= most and node in joined and most:
                    assert read[node, word] <= distance, f"seed {seed}"
                    compared += 1
                    beyond_one += distance > 1
    assert compared > 300 and beyond_one > 30
