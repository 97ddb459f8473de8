"""Time bounds of a multi-way join: how late rows of one input may start, given a row of another.

From `s.ts <= r.ts + INTERVAL '5' MINUTE` follows that a row of r joins no row of s that starts more than five
minutes later (see `join/time_bounds.py`). Of all filters of a node the weakest bound counts; if one of them
has none, there is none. A column may be replaced by one that a group makes equal to it. A timestamp in a
group bounds the other members of the group for every filter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from seine.algebra.expressions import conjuncts
from seine.algebra.upper_bounds import Terms, time_column, upper_bounds
from seine.graph.node import Filter
from seine.operators.join.time_bounds import most_added, shifted
from seine.operators.match.filters import Tables

if TYPE_CHECKING:
    from seine.operators.multi_join.multi_join_node import MultiJoinNode

Choice = tuple[Terms, int]  # a sum of columns of a row, and a constant that is added to it


class TimeBound(NamedTuple):
    """Rows of `port` that join a row of `other` start no later than the greatest of its `choices`."""

    port: int
    other: int
    choices: tuple[Choice, ...]


Pair = tuple[int, int]  # a port, and another that bounds it


def bounds_of(node: MultiJoinNode, tables: Tables) -> list[TimeBound]:
    """The bounds that hold for every filter of a node."""
    filters = [dict(_bounds(node, filter_, tables)) for filter_ in node.filters if len(tables[filter_.table])]
    shared = set.intersection(*map(set, filters)) if filters else set[Pair]()
    bounds = [TimeBound(*pair, tuple(sorted({by[pair] for by in filters}))) for pair in sorted(shared)]
    return bounds + list(_by_groups(node))


def _bounds(node: MultiJoinNode, filter_: Filter, tables: Tables) -> Iterator[tuple[Pair, Choice]]:
    """The bounds of one filter, for all rows of its table: by pair of ports, what bounds the first."""
    firsts = _firsts(node)
    starts = enumerate(zip(firsts, node.times, strict=False))
    times = {first + time: port for port, (first, time) in starts if time >= 0}
    for part in conjuncts(filter_.shape):
        for bound in upper_bounds(part):
            port = times.get(bound.column)
            most = None if port is None else most_added(bound, filter_, tables)
            if port is not None and most is not None:
                for other, terms in _rows_with(node, firsts, bound.terms):
                    if other != port:
                        yield (port, other), (terms, most)


def _rows_with(node: MultiJoinNode, firsts: list[int], terms: Terms) -> Iterator[tuple[int, Terms]]:
    """The ports whose rows have all the given columns; a single column may also be had through a group."""
    places = [(bisect_right(firsts, column) - 1, column) for column, _ in terms]
    (owner, first), *others = places
    if all(port == owner for port, _ in others):
        yield owner, tuple((column - firsts[owner], sign) for column, sign in terms)
    if not others:
        members = [(m.port, m.group, time_column(m.expression)) for m in node.members]
        groups = {g for port, g, column in members if (port, column) == (owner, first - firsts[owner])}
        for port, group, column in members:
            if group in groups and port != owner and column is not None:
                yield port, ((column, terms[0][1]),)


def _by_groups(node: MultiJoinNode) -> Iterator[TimeBound]:
    """The bounds that follow from timestamps in groups."""
    times = [(m.port, m.group, sum_) for m in node.members if (sum_ := shifted(m.expression)) is not None]
    for port, group, (time, later) in times:
        if port < node.width and time == node.times[port]:
            for other, same, (column, added) in times:
                if same == group and other != port:
                    yield TimeBound(port, other, ((((column, 1),), added - later),))


def _firsts(node: MultiJoinNode) -> list[int]:
    """The position of the first column of each port in the combined row."""
    firsts = [0]
    for types in node.row_types[:-1]:
        firsts.append(firsts[-1] + len(types))
    return firsts
