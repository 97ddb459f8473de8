"""The star join: one operator that joins streams, directly or through relations; here its probe orders.

A result row is the concatenation of all items in the order of FROM.

Cites: STAR 2.1 (the star-streaming join)
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.algebra.types import Type


@dataclass(frozen=True)
class StarItem:
    """An input of a star join: a stream, whose tuples arrive at a port, or a relation.

    `start` is the position of its first column in the result row; `window` is that of a stream. `importance`
    and, of a relation with VALID, `until` (the end of validity) are positions in the item's row.
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
        """The positions of its columns in the result row."""
        return range(self.start, self.start + len(self.types))


@dataclass(frozen=True)
class Probe:
    """One step of a probe order: an item is joined with the items bound before it.

    Equi-join keys are `bound_key`, over the result row, and `own_key`, over the item's row. `conditions` are
    those over the result row that can be evaluated from this step on.
    """

    item: int
    bound_key: tuple[Expression, ...]
    own_key: tuple[Expression, ...]
    conditions: tuple[Expression, ...]


ArrivalProbes = tuple[Probe, ...]  # the probe order of an arriving tuple


@dataclass(frozen=True)
class StarEdge:
    """An edge of the join graph between streams: a common key, perhaps of relations between them.

    For each of its ports, `keys` has the key over the stream's row and `probe_orders` the probes of the
    relations on the path to that key.
    """

    ports: tuple[int, ...]
    keys: tuple[tuple[Expression, ...], ...]
    probe_orders: tuple[ArrivalProbes, ...]


@dataclass(frozen=True)
class Star:
    """The definition of a star join: its items, the probe order of arrivals at each port, and its join graph.

    `filters` are, for each port, probes of relations that are on no edge: a tuple needs a match in each.
    """

    items: tuple[StarItem, ...]
    probe_orders: tuple[ArrivalProbes, ...]
    edges: tuple[StarEdge, ...]
    filters: tuple[tuple[ArrivalProbes, ...], ...]

    @property
    def streams(self) -> tuple[int, ...]:
        """The index of the item of each port."""
        places = {item.port: number for number, item in enumerate(self.items) if item.port is not None}
        return tuple(places[port] for port in range(len(places)))
