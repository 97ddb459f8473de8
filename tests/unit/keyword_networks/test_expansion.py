"""Pruning loses no network, and every prefix of a network is grown."""

from __future__ import annotations

import random

import numpy as np

from seine.keyword_networks.candidate_networks import candidate_networks, levels, roots
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.expansion import NetworkTrees, owns_keyword, siblings_in_order
from tests.support.keyword_schemas import PAPER, random_schema
from tests.support.seeds import seed_range


def test_networks_are_grown_node_by_node() -> None:
    """What is left of a network when its last nodes are taken away is a tree that was grown."""
    grown_prefixes = 0
    for seed in seed_range(10):
        draw = random.Random(seed)
        schema = ExpandedSchema(random_schema(draw), 2)
        grown = {(tuple(nodes), ()) for nodes in roots(schema)[0].nodes.tolist()}
        for piece in levels(schema, 4):
            grown |= _identities(piece.grown.rows(~piece.complete))
        for network in candidate_networks(schema, 4):
            for size in range(1, len(network.nodes)):
                assert (network.nodes[:size], network.edges[: size - 1]) in grown
                grown_prefixes += 1
    assert grown_prefixes > 100


def _identities(trees: NetworkTrees) -> set[tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]]:
    return {
        (tuple(nodes), tuple((parents[i], i, conditions[i]) for i in range(1, trees.size)))
        for nodes, parents, conditions in zip(
            trees.nodes.tolist(), trees.parents.tolist(), trees.conditions.tolist(), strict=True
        )
    }


def test_trees_with_potential_have_owning_closed_leaves() -> None:
    schema = ExpandedSchema(PAPER, 3)
    growing = [piece.grown.rows(~piece.complete) for piece in levels(schema, 5)]
    assert sum(map(len, growing)) > 100
    for trees in growing:
        assert not len(trees) or trees.size < 5
        idle = ~owns_keyword(schema.keywords_of[trees.nodes])
        closed_leaf = (trees.children() == 0) & ~trees.on_path()
        assert not (idle & closed_leaf).any()


def test_left_heavy_orders() -> None:
    """Of two equal siblings the one with more below it, or with lesser nodes, stands left."""
    shapes = np.array([[-1, 0, 1, 0, 3], [-1, 0, 1, 0, 3], [-1, 0, 0, 2, 2], [-1, 0, 1, 0, 0]])
    nodes = np.array([[0, 5, 6, 5, 7], [0, 5, 7, 5, 6], [0, 5, 5, 6, 7], [0, 5, 7, 5, 5]])
    trees = NetworkTrees(nodes, shapes, np.where(shapes < 0, -1, 0))
    assert siblings_in_order(trees).tolist() == [True, False, False, True]
