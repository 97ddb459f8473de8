"""A side: keyword search by the operators of SKWS, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.keyword_meshes.full_mesh import full_mesh, operator_forest
from benchmarks.keyword_meshes.mesh_engine import MeshEngine
from benchmarks.keyword_meshes.operator_mesh import DemandDrivenMesh, OperatorForest, OperatorMesh
from benchmarks.keyword_meshes.partial_mesh import PartialMesh
from benchmarks.workloads.search_schemas import ternary_tree
from benchmarks.workloads.search_trace import SearchTrace
from seine.keyword_networks.expanded_schema import ExpandedSchema

ROWS_OF_A_STEP = 900  # of the default trace: a minute


@dataclass(frozen=True)
class SearchRun:
    """What a run took: CPU seconds to set up and to run, results, rows held and joins standing at most."""

    set_up: float
    seconds: float
    results: int
    peak_rows: int
    peak_joins: int


def _forest(schema: ExpandedSchema, most: int) -> MeshEngine:
    return MeshEngine(schema, OperatorForest(schema, most, operator_forest(schema, most)))


def _full(demand: bool, lazy: bool) -> Callable[[ExpandedSchema, int], MeshEngine]:
    kind = DemandDrivenMesh if demand else OperatorMesh
    return lambda schema, most: MeshEngine(schema, kind(schema, most, full_mesh(schema, most)), lazy)


def _partial(schema: ExpandedSchema, most: int) -> MeshEngine:
    return MeshEngine(schema, PartialMesh(schema, most))


# the paper's names: FM and PM are the full and the partial mesh, D demand-driven, L lazy, ! without
ENGINES: dict[str, Callable[[ExpandedSchema, int], MeshEngine]] = {
    "forest": _forest,
    "FM": _full(demand=True, lazy=True),
    "FM-D-!L": _full(demand=True, lazy=False),
    "FM-!D-L": _full(demand=False, lazy=True),
    "FM-!D-!L": _full(demand=False, lazy=False),
    "PM": _partial,
}


def run_mesh(
    name: str,
    trace: SearchTrace,
    rows: int = ROWS_OF_A_STEP,
    selective: bool = True,
    keyword_order: Sequence[int] | None = None,
) -> SearchRun:
    """Run one engine over a trace; `selective` and `keyword_order` decide what is joined first."""
    pieces = list(trace.steps(rows, keyword_order))
    began = time.process_time()
    schema = ExpandedSchema(ternary_tree(trace.streams), trace.keywords, selective)
    engine = ENGINES[name](schema, trace.max_tuples)
    ready = time.process_time()
    results = 0
    for arrivals, low in pieces:
        results += sum(len(trees.numbers) for trees in engine.step(arrivals, low))
    done = time.process_time()
    return SearchRun(ready - began, done - ready, results, engine.peak_rows, engine.peak_joins)
