"""The joins of the paper's Figure 3.8, by the nodes of their trees."""

from __future__ import annotations

import numpy as np
from benchmarks.keyword_meshes.operator_rows import OperatorRows
from benchmarks.keyword_meshes.tree_gen import tree_gen

from seine.algebra.arrays import IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema

# nodes in the order of their addition, each with the position that it is joined to
JOINS = {
    "j1": (("S{1}", -1), ("T{}", 0)),
    "j2": (("S{1}", -1), ("T{}", 0), ("V{2}", 1)),
    "j3": (("S{1}", -1), ("T{}", 0), ("V{2}", 1), ("T{1}", 0)),
    "j4": (("S{1}", -1), ("T{}", 0), ("V{2}", 1), ("T{1}", 0), ("U{3}", 3)),
    "j5": (("S{1}", -1), ("T{}", 0), ("U{2,3}", 1)),
    "j6": (("S{1}", -1), ("T{}", 0), ("V{2,3}", 1)),
    "j7": (("S{1}", -1), ("T{2,3}", 0)),
}
NETWORKS = ("j4", "j5", "j6", "j7")


def join_by_nodes(schema: ExpandedSchema, mesh: OperatorRows, path: tuple[tuple[str, int], ...]) -> int:
    """The one operator whose tree has these nodes."""
    numbers = np.flatnonzero(mesh.size == len(path))
    trees = tree_gen(mesh, numbers, len(path))
    names = np.array([schema.name(node) for node in range(schema.nodes)])
    fits = (names[trees.nodes] == [name for name, _ in path]).all(1)
    fits &= (trees.parents == [parent for _, parent in path]).all(1)
    (number,) = numbers[fits].tolist()
    return int(number)


def figure_3_8(schema: ExpandedSchema, mesh: OperatorRows) -> tuple[OperatorRows, dict[str, int]]:
    """A mesh of those joins alone and their leaf; and their numbers in it."""
    joins = {name: join_by_nodes(schema, mesh, path) for name, path in JOINS.items()}
    kept: IntArray = np.array([mesh.left[joins["j1"]], *joins.values()])
    renumber = np.full(len(mesh) + 1, -1)
    renumber[kept] = np.arange(len(kept))
    columns = (mesh.node, mesh.at, mesh.condition, mesh.size, mesh.complete)
    small = OperatorRows(renumber[mesh.left[kept]], *(column[kept] for column in columns))
    return small, {name: place for place, name in enumerate(joins, 1)}
