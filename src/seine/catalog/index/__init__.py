"""The computation index: which conditions the queries have, found by what equals, implies or follows."""

from seine.catalog.index.enter_index import enter_index
from seine.catalog.index.group_placements import grouping, set_operation
from seine.catalog.index.indexed_node import Spot, placements_of
from seine.catalog.index.leave_index import leave_index
from seine.catalog.index.placement import Match, Placement, Topology
from seine.catalog.index.search_index import Search

__all__ = [
    "Match",
    "Placement",
    "Search",
    "Spot",
    "Topology",
    "enter_index",
    "grouping",
    "leave_index",
    "placements_of",
    "set_operation",
]
