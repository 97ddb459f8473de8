"""TreeGen reads from an operator the tree that it was made for."""

from __future__ import annotations

import random

import numpy as np
from benchmarks.keyword_meshes.full_mesh import full_mesh
from benchmarks.keyword_meshes.tree_gen import tree_gen

from seine.keyword_networks.candidate_networks import levels
from seine.keyword_networks.expanded_schema import ExpandedSchema
from tests.support.keyword_schemas import PAPER, random_schema
from tests.support.paper_mesh import JOINS, join_by_nodes
from tests.support.seeds import seed_range


def test_the_tree_of_an_operator_is_the_one_it_was_made_for() -> None:
    checked = 0
    for seed in seed_range(12):
        schema = ExpandedSchema(random_schema(random.Random(seed)), 2)
        mesh = full_mesh(schema, 4)
        first = int((mesh.left < 0).sum())
        for piece in levels(schema, 4):
            numbers = np.arange(first, first + len(piece.tree))
            trees = tree_gen(mesh, numbers, piece.grown.size)
            for name in ("nodes", "parents", "conditions"):
                assert (getattr(trees, name) == getattr(piece.grown, name)).all()
            first += len(numbers)
            checked += len(numbers)
        assert first == len(mesh)
    assert checked > 500


def test_figure_4_4() -> None:
    """The trees of S{k1}, of j1, and of j2, whose V{k2} is joined with T{}."""
    schema = ExpandedSchema(PAPER, 3)
    mesh = full_mesh(schema, 5)
    second = np.array([join_by_nodes(schema, mesh, JOINS["j2"])])
    trees = [tree_gen(mesh, second, 3), tree_gen(mesh, mesh.left[second], 2)]
    trees.append(tree_gen(mesh, mesh.left[mesh.left[second]], 1))
    assert [[schema.name(node) for node in one.nodes[0].tolist()] for one in trees] == [
        ["S{1}", "T{}", "V{2}"],
        ["S{1}", "T{}"],
        ["S{1}"],
    ]
    assert trees[0].parents[0].tolist() == [-1, 0, 1]
