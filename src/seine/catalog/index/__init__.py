"""The computation index: an index over the conditions of registered queries, searched by implication.

Given a predicate set over some inputs it finds the registered sets that equal it, that it implies (weaker
ones) and that imply it (stronger ones), by range scans of b-trees and never by a scan over queries.
"""

from seine.catalog.index.clauses import Match, Placement, Topology, grouping, set_operation
from seine.catalog.index.enter_index import enter_index
from seine.catalog.index.leave_index import leave_index
from seine.catalog.index.search_index import IndexSearch

__all__ = [
    "IndexSearch",
    "Match",
    "Placement",
    "Topology",
    "enter_index",
    "grouping",
    "leave_index",
    "set_operation",
]
