"""How late rows of one input of a join may start, given a row of another: see reach.

Of all filters of a node the weakest bound counts; where one of them has none, or is not read, there is none.
A column of times in a group bounds the other members of the group for every filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from seine.algebra.expressions import Column, conjuncts
from seine.network.nodes import Filter, MultiJoinNode
from seine.operators.parameters import Tables
from seine.operators.reach import is_time, upper_bound


class Bound(NamedTuple):
    """Rows of `port` start no later than the latest of some columns of a row of `other`, each with a span."""

    port: int
    other: int
    choices: tuple[tuple[int, int], ...]


Pair = tuple[int, int]  # a port, and another that bounds it


def bounds_of(node: MultiJoinNode, tables: Tables) -> list[Bound]:
    """The bounds that hold for whatever some query wants of a node."""
    filters = [dict(_bounds(node, filter_, tables)) for filter_ in node.filters if len(tables[filter_.table])]
    shared = set.intersection(*(set(found) for found in filters)) if filters else set[Pair]()
    bounds = [Bound(*pair, tuple(sorted({found[pair] for found in filters}))) for pair in sorted(shared)]
    return bounds + list(_by_groups(node))


def _bounds(node: MultiJoinNode, filter_: Filter, tables: Tables) -> Iterator[tuple[Pair, tuple[int, int]]]:
    """By ports: the column of the second and the span that bound the first, for all rows of a table."""
    firsts = _firsts(node)
    for port, time in enumerate(node.times):
        for part in conjuncts(filter_.shape):
            found = upper_bound(part, firsts[port] + time)
            if found is None:
                continue
            column, sign, constant = found
            values = [0] if constant is None else [r[constant] for r in tables[filter_.table].rows.values()]
            other = max(p for p in range(node.width) if firsts[p] <= column)
            if other != port and all(isinstance(value, int) for value in values):
                yield (port, other), (column - firsts[other], max(sign * value for value in values))


def _by_groups(node: MultiJoinNode) -> Iterator[Bound]:
    columns = [(m.port, m.group, m.expression) for m in node.members if isinstance(m.expression, Column)]
    for port, group, time in columns:
        if time.index == node.times[port]:
            for other, same, column in columns:
                if same == group and other != port and is_time(column):
                    yield Bound(port, other, ((column.index, 0),))


def _firsts(node: MultiJoinNode) -> list[int]:
    firsts = [0]
    for port in node.ports[: node.width - 1]:
        firsts.append(firsts[-1] + len(port.types))
    return firsts
