"""The least HAVING COUNT(*) threshold over all readers of an aggregate: smaller groups need no result.

Every condition above an aggregate is a row of some table. If each of them compares a COUNT with a
constant from below, a group of fewer rows than the least constant is wanted by nobody.

Cites: ARGUS 5.1 (the weakest constant does the work)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from seine.algebra.expressions import Column, conjuncts
from seine.graph.node import Filter, Node
from seine.operators.match.comparison import Comparison, comparison_of
from seine.operators.match.filters import Tables, table_columns

if TYPE_CHECKING:
    from seine.operators.group.aggregate_node import AggregateNode

_COUNTS = ("count_all", "count")  # no more than there are rows, also of distinct values
_MORE = {"ge": 0, "eq": 0, "gt": 1}


def least_rows(node: AggregateNode, above: Iterable[Node], tables: Tables) -> int:
    """The rows that a group must have to be wanted by any of the nodes above; 1 if that is not known."""
    if node.carried or node.regroups or not node.ports[0].key:
        return 1
    first = len(node.ports[0].key)
    counts = {first + i for i, call in enumerate(node.calls) if call.function in _COUNTS}
    unknown: tuple[Filter | None, ...] = (None,)
    filters = [
        filter_ for one in above for filter_ in (unknown if one.input_filters is None else one.input_filters)
    ]
    least = [_least_of(one, counts, tables) for one in filters if one is None or len(tables[one.table])]
    return max(1, min(least, default=1))


def _least_of(filter_: Filter | None, counts: set[int], tables: Tables) -> int:
    """The rows that a group must have to satisfy any row of a filter's table."""
    if filter_ is None or filter_.shape is None:
        return 1
    columns, size = table_columns(tables[filter_.table]), len(tables[filter_.table])
    parts = (comparison_of(part, columns, size) for part in conjuncts(filter_.shape))
    return max((_least(part, counts) for part in parts if part is not None), default=1)


def _least(part: Comparison, counts: set[int]) -> int:
    """The least constant with which a comparison bounds a count from below."""
    if part.op not in _MORE or not isinstance(part.expression, Column) or part.expression.index not in counts:
        return 1
    least = pc.min(part.constants[0]).as_py()
    return 1 if least is None else least + _MORE[part.op]
