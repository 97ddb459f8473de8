"""The computation index: which conditions the queries have, found by what equals, implies or follows."""

from seine.catalog.index.enter import enter
from seine.catalog.index.groups import grouping, set_operation
from seine.catalog.index.leave import leave
from seine.catalog.index.placement import Match, Placement, Topology
from seine.catalog.index.search import Search
from seine.catalog.index.spots import Spot, placements_of

__all__ = [
    "Match",
    "Placement",
    "Search",
    "Spot",
    "Topology",
    "enter",
    "grouping",
    "leave",
    "placements_of",
    "set_operation",
]
