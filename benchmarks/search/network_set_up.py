"""Part of the benchmark `search`: what it takes to make the operators of a query.

Cites: SKWS 5
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence

from benchmarks.harness.table import Table
from benchmarks.keyword_meshes.full_mesh import full_mesh
from benchmarks.keyword_meshes.operator_mesh import DemandDrivenMesh
from benchmarks.workloads.search_files import keyword_search, keyword_texts, write_search
from benchmarks.workloads.search_schemas import ternary_tree
from benchmarks.workloads.search_trace import SearchTrace
from seine.frontends.script.parser import read_script
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.network.network import build_network


def set_up(sizes: Sequence[tuple[int, int, int]]) -> Table:
    """The table of networks, joins and CPU time by streams, keywords, and tuples in a result."""
    names = ("streams", "keywords", "most tuples")
    table = Table(*names, "candidate networks", "joins", "FM: CPU s", "ours: CPU ms")
    for streams, keywords, max_tuples in sizes:
        began = time.process_time()
        schema = ExpandedSchema(ternary_tree(streams), keywords, selective=True)
        operators = full_mesh(schema, max_tuples)
        joins = DemandDrivenMesh(schema, max_tuples, operators).count
        spent = time.process_time() - began
        networks = int(operators.complete.sum())
        ours = 1e3 * _ours(streams, keywords, max_tuples)
        size = (str(streams), str(keywords), str(max_tuples))
        table.add(*size, f"{networks:,}", f"{joins:,}", f"{spent:.2f}", f"{ours:.1f}")
    return table


def _ours(streams: int, keywords: int, max_tuples: int) -> float:
    """CPU seconds to build the network of the same query with our own operator, the least of three."""
    trace = SearchTrace(streams=streams, keywords=keywords, max_tuples=max_tuples, hours=0.001)
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        path = write_search(folder, trace, keyword_texts(trace), [keyword_search(trace)])
        queries = read_script(path).declarations.queries
    spent = []
    for _ in range(3):
        began = time.process_time()
        build_network(queries.values())
        spent.append(time.process_time() - began)
    return min(spent)
