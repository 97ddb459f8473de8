"""The operator mesh: Figure 3.8, clusters, sharing, and the forest without it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.keyword_meshes.full_mesh import full_mesh, operator_forest

from seine.keyword_networks.candidate_networks import candidate_networks
from seine.keyword_networks.expanded_schema import ExpandedSchema
from tests.support.keyword_schemas import PAPER, ternary
from tests.support.paper_mesh import JOINS, NETWORKS, join_by_nodes


def test_figure_3_8() -> None:
    """The joins j1 to j7 of four networks in the cluster of S{k1}; j1 is shared by three."""
    schema = ExpandedSchema(PAPER, 3)
    mesh = full_mesh(schema, 5)
    joins = {name: join_by_nodes(schema, mesh, path) for name, path in JOINS.items()}
    assert len(set(joins.values())) == 7
    left = {name: int(mesh.left[join]) for name, join in joins.items()}
    assert left["j2"] == left["j5"] == left["j6"] == joins["j1"]
    assert (left["j3"], left["j4"]) == (joins["j2"], joins["j3"])
    leaf = left["j1"]
    assert left["j7"] == leaf and mesh.left[leaf] == -1 and schema.name(int(mesh.node[leaf])) == "S{1}"
    ends = [name for name, join in joins.items() if mesh.complete[join]]
    assert ends == ["j4", "j5", "j6", "j7"] and len(NETWORKS) == 4


@pytest.mark.parametrize(("keywords", "max_tuples"), [(1, 3), (2, 4), (3, 4)])
def test_clusters_and_depth(keywords: int, max_tuples: int) -> None:
    """A cluster for each node with k1; every operator stands in one cluster; results at all levels."""
    schema = ExpandedSchema(ternary(10), keywords)
    mesh = full_mesh(schema, max_tuples)
    leaves = np.flatnonzero(mesh.left < 0)
    assert len(leaves) == 10 * 2 ** (keywords - 1)
    joins = np.flatnonzero(mesh.left >= 0)
    assert (mesh.size[joins] == mesh.size[mesh.left[joins]] + 1).all()
    assert mesh.size.max() == (max_tuples if keywords > 1 else 1)
    assert int(mesh.complete.sum()) == sum(1 for _ in candidate_networks(schema, max_tuples))
    assert not mesh.complete[mesh.left[joins]].any()
    rows = np.column_stack([mesh.left, mesh.node, mesh.at, mesh.condition])[joins]
    assert len(np.unique(rows, axis=0)) == len(joins)  # nothing is joined twice


def test_a_forest_shares_nothing() -> None:
    schema = ExpandedSchema(ternary(15), 2)
    forest, mesh = operator_forest(schema, 4), full_mesh(schema, 4)
    assert int((forest.left < 0).sum()) == int(forest.complete.sum()) == int(mesh.complete.sum()) == 291
    inner = forest.left[forest.left >= 0]
    assert len(np.unique(inner)) == len(inner)
    assert len(mesh) < len(forest)
