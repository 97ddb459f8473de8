"""Engines of keyword search by name, and runs of them on tuples cut into steps."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.keyword_meshes.full_mesh import full_mesh, operator_forest
from benchmarks.keyword_meshes.mesh_engine import MeshEngine, ReportedTrees
from benchmarks.keyword_meshes.operator_mesh import DemandDrivenMesh, OperatorForest, OperatorMesh
from benchmarks.keyword_meshes.partial_mesh import PartialMesh

from seine.keyword_networks.expanded_schema import ExpandedSchema
from tests.support.tree_brute_force import FoundTree, LooseTuple, as_arrivals

ENGINES: dict[str, Callable[[ExpandedSchema, int], MeshEngine]] = {
    "forest": lambda schema, most: MeshEngine(
        schema, OperatorForest(schema, most, operator_forest(schema, most))
    ),
    "full, demand, lazy": lambda schema, most: MeshEngine(
        schema, DemandDrivenMesh(schema, most, full_mesh(schema, most)), lazy=True
    ),
    "full, demand, eager": lambda schema, most: MeshEngine(
        schema, DemandDrivenMesh(schema, most, full_mesh(schema, most))
    ),
    "full, lazy": lambda schema, most: MeshEngine(
        schema, OperatorMesh(schema, most, full_mesh(schema, most)), lazy=True
    ),
    "full, eager": lambda schema, most: MeshEngine(
        schema, OperatorMesh(schema, most, full_mesh(schema, most))
    ),
    "partial, eager": lambda schema, most: MeshEngine(schema, PartialMesh(schema, most)),
    "partial, lazy": lambda schema, most: MeshEngine(schema, PartialMesh(schema, most), lazy=True),
}


def run_engine(
    engine: MeshEngine,
    schema: ExpandedSchema,
    tuples: list[LooseTuple],
    draw: random.Random,
    longest: int,
    after_step: Callable[[MeshEngine, int], None] = lambda engine, low: None,
) -> list[FoundTree]:
    """All results; steps have up to `longest` tuples, and time moves as far as the tuples to come allow."""
    arrivals = as_arrivals(schema.schema, tuples)
    trees: list[FoundTree] = []
    begin = 0
    while begin < len(tuples):
        end = begin + draw.randint(1, longest)
        low = min((one.start for one in tuples[end:]), default=10**6)
        for reported in engine.step(arrivals.rows(slice(begin, end)), low):
            trees += read_trees(reported)
        after_step(engine, low)
        begin = end
    return trees


def read_trees(reported: ReportedTrees) -> list[FoundTree]:
    """Results with their edges as pairs of tuples."""
    trees = []
    for row, numbers in enumerate(reported.numbers.tolist()):
        parents, conditions = reported.trees.parents[row].tolist(), reported.trees.conditions[row].tolist()
        pairs = [(numbers[parents[i]], numbers[i], conditions[i]) for i in range(1, len(numbers))]
        edges = frozenset((min(a, b), max(a, b), condition) for a, b, condition in pairs)
        trees.append((frozenset(numbers), edges, int(reported.start[row]), int(reported.end[row])))
    return trees
