"""The partial mesh: joins stand if and only if their left input has output (Figure 4.2)."""

from __future__ import annotations

from random import Random

import numpy as np
from benchmarks.keyword_meshes.full_mesh import full_mesh
from benchmarks.keyword_meshes.mesh_engine import MeshEngine
from benchmarks.keyword_meshes.operator_rows import OperatorRows
from benchmarks.keyword_meshes.partial_mesh import PartialMesh
from benchmarks.keyword_meshes.tree_gen import tree_gen

from seine.keyword_networks.expanded_schema import ExpandedSchema
from tests.support.keyword_schemas import PAPER
from tests.support.mesh_engines import run_engine
from tests.support.seeds import seeds
from tests.support.tree_brute_force import LooseTuple, random_tuples


def _standing(schema: ExpandedSchema, mesh: PartialMesh) -> set[str]:
    names = set()
    for size in range(2, mesh.max_tuples + 1):
        numbers = np.flatnonzero((mesh.operators.left >= 0) & (mesh.operators.size == size))
        trees = tree_gen(mesh.operators, numbers, size)
        names |= {" ".join(map(schema.name, nodes)) for nodes in trees.nodes.tolist()}
    return names


def test_figure_4_2() -> None:
    """S{k1} creates j1 and j7; output of j1 creates j2, j5 and j6; what dries takes them all away."""
    schema = ExpandedSchema(PAPER, 3)
    mesh = PartialMesh(schema, 5)
    seen: list[set[str]] = []
    tuples = [
        LooseTuple(3, 0b010, 0, 2, {4: 1}),
        LooseTuple(0, 0b001, 1, 9, {0: 1}),
        LooseTuple(1, 0, 3, 6, {1: 1, 3: 1, 5: 1}),
        LooseTuple(3, 0, 4, 10, {4: 5}),
        LooseTuple(3, 0, 7, 10, {4: 5}),
        LooseTuple(3, 0, 9, 12, {4: 5}),
    ]
    run_engine(
        MeshEngine(schema, mesh),
        schema,
        tuples,
        Random(1),
        1,
        lambda _, low: seen.append(_standing(schema, mesh)),
    )
    sources, first, second, shrunk, gone = seen[:5]
    assert sources == set() == gone
    assert {"S{1} T{}", "S{1} T{2,3}"} <= first == shrunk
    assert {"S{1} T{} V{2}", "S{1} T{} U{2,3}", "S{1} T{} V{2,3}"} <= second - first
    assert mesh.made == len(second)


@seeds(4)
def test_joins_stand_where_there_is_left_input(seed: int) -> None:
    draw = Random(seed)
    schema = ExpandedSchema(PAPER, 2)
    mesh = PartialMesh(schema, 4)
    whole = full_mesh(schema, 4)
    counts: list[int] = []

    def look(engine: MeshEngine, low: int) -> None:
        operators = mesh.operators
        joins = np.flatnonzero(operators.left >= 0)
        with_output = set(np.concatenate([rows.operator for rows in engine.buffers]).tolist())
        assert set(operators.left[joins].tolist()) <= with_output
        above = np.bincount(operators.left[joins], minlength=len(operators))
        for size in (1, 2, 3):
            for number in set(engine.buffers[size].operator.tolist()):
                same = _same_tree(
                    whole, tree_gen(operators, np.array([number]), size).nodes[0].tolist(), size
                )
                assert above[number] in same
        counts.append(len(joins))

    assert run_engine(MeshEngine(schema, mesh), schema, random_tuples(draw, PAPER, 2, 60, 0.3), draw, 3, look)
    assert max(counts) > 10 and mesh.made > max(counts)


def _same_tree(mesh: OperatorRows, nodes: list[int], size: int) -> set[int]:
    """How many joins stand in the full mesh above the operators of trees with these nodes."""
    numbers = np.flatnonzero(mesh.size == size)
    fits = numbers[(tree_gen(mesh, numbers, size).nodes == nodes).all(1)]
    return {int((mesh.left == number).sum()) for number in fits.tolist()}
