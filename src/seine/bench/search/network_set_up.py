"""Part of the benchmark `search`: what it takes to make the operators of a query.

Cites: SKWS 5
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from seine.bench.harness.table import Table
from seine.bench.workloads.search_schemas import ternary_tree
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.full_mesh import full_mesh
from seine.keyword_networks.operator_mesh import DemandDrivenMesh


def set_up(sizes: Sequence[tuple[int, int, int]]) -> Table:
    """The table of networks, joins and CPU seconds by streams, keywords, and tuples in a result."""
    table = Table("streams", "keywords", "most tuples", "candidate networks", "joins", "CPU seconds")
    for streams, keywords, max_tuples in sizes:
        began = time.process_time()
        schema = ExpandedSchema(ternary_tree(streams), keywords, selective=True)
        operators = full_mesh(schema, max_tuples)
        joins = DemandDrivenMesh(schema, max_tuples, operators).count
        spent = time.process_time() - began
        networks = int(operators.complete.sum())
        table.add(str(streams), str(keywords), str(max_tuples), f"{networks:,}", f"{joins:,}", f"{spent:.2f}")
    return table
