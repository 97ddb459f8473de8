"""Part of the benchmark `search`: what it takes to generate the candidate networks of a query.

Cites: SKWS 5
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from seine.bench.harness.table import Table
from seine.bench.workloads.search_schemas import ternary_tree
from seine.keyword_networks.candidate_networks import count_networks
from seine.keyword_networks.expanded_schema import ExpandedSchema


def set_up(sizes: Sequence[tuple[int, int, int]]) -> Table:
    """The table of networks and CPU seconds by number of streams, of keywords, and of tuples in a result."""
    table = Table("streams", "keywords", "most tuples", "candidate networks", "CPU seconds")
    for streams, keywords, max_tuples in sizes:
        began = time.process_time()
        count = count_networks(ExpandedSchema(ternary_tree(streams), keywords), max_tuples)
        spent = time.process_time() - began
        table.add(str(streams), str(keywords), str(max_tuples), f"{count:,}", f"{spent:.2f}")
    return table
