"""How late rows of one input of a join may start, given a row of another: see `join/time_bounds.py`.

Of all filters of a node the weakest bound counts; where one of them has none, or is not read, there is none.
A column that a group makes equal to another is as good as that. What is a time in a group bounds the other
members of the group for every filter.
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

Choice = tuple[Terms, int]  # the sum of some columns of a row, and what is added to it


class TimeBound(NamedTuple):
    """Rows of `port` start no later than the latest of some sums of columns of a row of `other`."""

    port: int
    other: int
    choices: tuple[Choice, ...]


Pair = tuple[int, int]  # a port, and another that bounds it


def bounds_of(node: MultiJoinNode, tables: Tables) -> list[TimeBound]:
    """The bounds that hold for whatever some query wants of a node."""
    filters = [dict(_bounds(node, filter_, tables)) for filter_ in node.filters if len(tables[filter_.table])]
    shared = set.intersection(*(set(choices) for choices in filters)) if filters else set[Pair]()
    bounds = [
        TimeBound(*pair, tuple(sorted({choices[pair] for choices in filters}))) for pair in sorted(shared)
    ]
    return bounds + list(_by_groups(node))


def _bounds(node: MultiJoinNode, filter_: Filter, tables: Tables) -> Iterator[tuple[Pair, Choice]]:
    """By ports: the columns of the second and the span that bound the first, for all rows of a table."""
    firsts = _firsts(node)
    times = {first + time: port for port, (first, time) in enumerate(zip(firsts, node.times, strict=False))}
    for part in conjuncts(filter_.shape):
        for bound in upper_bounds(part):
            port = times.get(bound.column)
            most = None if port is None else most_added(bound, filter_, tables)
            if port is not None and most is not None:
                for other, terms in _rows_with(node, firsts, bound.terms):
                    if other != port:
                        yield (port, other), (terms, most)


def _rows_with(node: MultiJoinNode, firsts: list[int], terms: Terms) -> Iterator[tuple[int, Terms]]:
    """The ports whose rows have all of some columns; of a single one also those whose groups have it."""
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
    shifts = [(m.port, m.group, shift) for m in node.members if (shift := shifted(m.expression)) is not None]
    for port, group, (time, later) in shifts:
        if port < node.width and time == node.times[port]:
            for other, same, (column, added) in shifts:
                if same == group and other != port:
                    yield TimeBound(port, other, ((((column, 1),), added - later),))


def _firsts(node: MultiJoinNode) -> list[int]:
    firsts = [0]
    for types in node.row_types[:-1]:
        firsts.append(firsts[-1] + len(types))
    return firsts
