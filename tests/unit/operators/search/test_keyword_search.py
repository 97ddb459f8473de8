"""The law of searches: trees of tuples as brute force enumerates them, whatever the steps and buckets."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from seine.operators.search import data_graph, distances, growing_trees, seeding
from seine.operators.search.keyword_search import SearchOperator
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER
from tests.support.searched_graphs import (
    WORDS,
    AskedSearch,
    SearchedGraph,
    SearchedNodes,
    described,
    expected,
    random_graph,
    retractable_trees,
)
from tests.support.seeds import seed_range, seeds


def random_cuts(rng: random.Random, size: int) -> list[int]:
    return sorted(rng.randint(0, size) for _ in range(rng.randint(0, 5)))


def test_trees_are_those_of_brute_force() -> None:
    results = 0
    for seed in seed_range(50):
        rng = random.Random(seed)
        graph = random_graph(rng, tuples=11)
        rows = SearchedNodes(graph).run(random_cuts(rng, len(graph.tuples)))
        assert retractable_trees(rows) == described(graph, expected(graph)), f"seed {seed}"
        results += len(rows)
    assert results > 200


def graph_of_many_queries(rng: random.Random) -> SearchedGraph:
    """All pairs and triples of words, with every MAX: more queries have a word than a tuple reaches words."""
    sets = [words for size in (2, 3) for words in combinations(WORDS, size)]
    queries = [AskedSearch(words, most, None) for words in sets for most in range(2, 7)]
    return replace(random_graph(rng, tuples=10), queries=tuple(queries))


def answers_of_many_queries(count: int) -> int:
    results = 0
    for seed in seed_range(count):
        rng = random.Random(seed)
        graph = graph_of_many_queries(rng)
        rows = SearchedNodes(graph, rng.randint(1, 3)).run(random_cuts(rng, len(graph.tuples)))
        assert retractable_trees(rows) == described(graph, expected(graph)), f"seed {seed}"
        results += len(rows)
    return results


def test_very_many_queries_of_the_same_words() -> None:
    assert answers_of_many_queries(15) > 500


def test_work_in_small_pieces_has_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_trees, "MOST_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(data_graph, "MOST_PARTNERS_AT_ONCE", 1)
    monkeypatch.setattr(data_graph, "MOST_PARTNERS_KEPT", 3)
    monkeypatch.setattr(seeding, "MOST_LABELS_AT_ONCE", 6)
    assert answers_of_many_queries(5) > 50


def test_terms_that_lose_their_reach_have_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "LEAST_REACH_OF_STEP", 12)
    monkeypatch.setattr(distances, "REACH_OF_TUPLE", 0)
    assert answers_of_many_queries(10) > 200


@seeds(10)
def test_the_number_of_buckets_does_not_matter(seed: int) -> None:
    rng = random.Random(seed)
    graph = random_graph(rng, tuples=20)
    alone = retractable_trees(SearchedNodes(graph).run([]))
    for buckets in (2, 3, 8):
        assert retractable_trees(SearchedNodes(graph, buckets).run(random_cuts(rng, 20))) == alone


def test_a_few_queries_are_divided_among_buckets() -> None:
    rng = random.Random(3)
    rows = [row for _ in range(10) for row in SearchedNodes(random_graph(rng, tuples=20), buckets=2).run([])]
    share = sum(row["bucket"] == 0 for row in rows) / len(rows)
    assert 0.35 < share < 0.65


def test_nothing_is_held_after_all_windows_have_passed() -> None:
    held = 0
    for seed in seed_range(5):
        graph = random_graph(random.Random(seed), tuples=30, most=3)
        nodes = SearchedNodes(graph, 2)
        nodes.step(graph.tuples[:20], Clock(dict.fromkeys(("s0", "s1", "s2", "s3"), 0)))
        held += sum(map(SearchOperator.state_rows, nodes.operators, nodes.stores))
        nodes.step((), Clock(dict.fromkeys(("s0", "s1", "s2", "s3"), FOREVER), end=True))
        for operator, store in zip(nodes.operators, nodes.stores, strict=True):
            assert operator.state_rows(store) == 0 and not store.runs
    assert held > 50
