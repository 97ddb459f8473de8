"""A join of streams, directly or through relations, as one operator does it: how its tuples meet.

A row of it is all items side by side, in the order of FROM.

Cites: STAR 2.1 (the star-streaming join)
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.types import Type


@dataclass(frozen=True)
class StarItem:
    """One of the rows side by side: tuples that come by a port, or those of a relation.

    `start` is where its columns begin, `window` a stream's. `importance` and, of a relation with VALID,
    `until` are positions in its own row.
    """

    start: int
    types: tuple[Type, ...]
    port: int | None = None
    relation: str | None = None
    window: int | None = None
    importance: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if (self.port is None) == (self.relation is None):
            raise ValueError("an item is a stream or a relation")

    @property
    def positions(self) -> range:
        return range(self.start, self.start + len(self.types))


@dataclass(frozen=True)
class Probe:
    """An item joins those before it: by keys, theirs over the whole row and its own over its own row.

    Then `conditions`, over the whole row, can be asked.
    """

    item: int
    bound_key: tuple[Expression, ...]
    own_key: tuple[Expression, ...]
    conditions: tuple[Expression, ...]


ArrivalProbes = tuple[Probe, ...]


@dataclass(frozen=True)
class Edge:
    """What lets tuples of some streams match: a key that all of them have, and relations between them.

    For each of its ports: the key over its own row, and the probes that find the relations' tuples.
    """

    ports: tuple[int, ...]
    keys: tuple[tuple[Expression, ...], ...]
    ways: tuple[ArrivalProbes, ...]


@dataclass(frozen=True)
class Star:
    """Its items; for each port how an arrival meets all other items; and what makes tuples match.

    `filters` are, for each port, the relations in which its tuples must find something, apart from edges.
    """

    items: tuple[StarItem, ...]
    ways: tuple[ArrivalProbes, ...]
    edges: tuple[Edge, ...]
    filters: tuple[tuple[ArrivalProbes, ...], ...]

    @property
    def streams(self) -> tuple[int, ...]:
        """The number of the item of each port."""
        places = {item.port: number for number, item in enumerate(self.items) if item.port is not None}
        return tuple(places[port] for port in range(len(places)))
