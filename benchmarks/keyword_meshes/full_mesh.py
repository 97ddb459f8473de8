"""The operators of a whole query: shared as a mesh, or as a forest in which every network has its own.

Cites: SKWS 3.3, SKWS 4.1
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.keyword_meshes.operator_rows import OperatorRows
from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.candidate_networks import levels, roots
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.expansion import Additions, NetworkTrees


def full_mesh(schema: ExpandedSchema, max_tuples: int) -> OperatorRows:
    """An operator for every tree that CNGen comes to; its left input is that of the tree it grew from.

    A cluster is what stands above one leaf; clusters share sources alone. Trees of one cluster that begin
    alike share their joins, and the output of a join is the left buffer of all that stand above it.
    """
    growing, alone = roots(schema)
    mesh = [OperatorRows.leaves(alone.nodes[:, 0], complete=True), OperatorRows.leaves(growing.nodes[:, 0])]
    count = len(mesh[0])
    level = count + np.arange(len(growing))  # the operators of the trees that grow now
    count += len(growing)
    above: list[IntArray] = []
    size = 1
    for piece in levels(schema, max_tuples):
        if piece.grown.size > size + 1:
            level, above, size = np.concatenate(above), [], size + 1
        mesh.append(joins_for(piece, level))
        above.append((count + np.arange(len(piece.tree)))[~piece.complete])
        count += len(piece.tree)
    return mesh[0].joined(*mesh[1:])


def joins_for(additions: Additions, operators: IntArray) -> OperatorRows:
    """The joins of grown trees, given the operators of the trees that they grew from."""
    size = np.full(len(additions.tree), additions.grown.size)
    return OperatorRows(
        operators[additions.tree],
        additions.node,
        additions.at,
        additions.condition,
        size,
        additions.complete,
    )


def operator_forest(schema: ExpandedSchema, max_tuples: int) -> OperatorRows:
    """A left-deep tree of operators for every candidate network, with sources and joins of its own."""
    networks = [roots(schema)[1]]
    networks += [piece.grown.rows(piece.complete) for piece in levels(schema, max_tuples)]
    return chains(networks)


def chains(trees: Iterable[NetworkTrees]) -> OperatorRows:
    """An operator tree for each network: a leaf for its root, and a join for each node added."""
    forest: list[OperatorRows] = []
    count = 0
    for some_trees in trees:
        forest.append(_chains(some_trees, count))
        count += some_trees.nodes.size
    return forest[0].joined(*forest[1:])


def _chains(trees: NetworkTrees, first: int) -> OperatorRows:
    below = first + np.arange(trees.nodes.size) - 1
    position = np.tile(np.arange(trees.size), len(trees))
    last: BoolArray = position == trees.size - 1
    return OperatorRows(
        np.where(position > 0, below, -1),
        trees.nodes.ravel(),
        trees.parents.ravel(),
        trees.conditions.ravel(),
        position + 1,
        last,
    )
