"""Arrivals meet: the results that a slice of event time adds.

Law: of each combination of one tuple of each stream, with relation tuples between them, that has an arrival,
exactly one arrival tells: the first in the order of ports. It meets what was held in streams before its
own, and all tuples in streams behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, columns_of
from seine.algebra.star import Probe
from seine.operators.join.combination import key_columns
from seine.operators.limited.residents import Residents
from seine.operators.limited.star_combinations import Combinations, Partners, extended
from seine.operators.limited.tokens import Relations
from seine.operators.state.relation_index import RelationIndex

if TYPE_CHECKING:
    from seine.operators.limited.limited_node import LimitedNode


class Meeting:
    """How the tuples of a star meet."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._star, self._out, self._relations = node.star, node.out, relations

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that the tuples of a port need: what is told, asked, matched and weighed."""
        number = self._star.streams[port]
        item = self._star.items[number]
        ways = [*self._star.ways, *(way for edge in self._star.edges for way in edge.ways)]
        ways += [way for ways_of_port in self._star.filters for way in ways_of_port]
        probes = [probe for way in ways for probe in way]
        whole = {*self._out, *_read(e for probe in probes for e in (*probe.bound_key, *probe.conditions))}
        own = _read(e for probe in probes if probe.item == number for e in probe.own_key)
        keys = [(edge, edge.ports.index(port)) for edge in self._star.edges if port in edge.ports]
        own |= _read(e for edge, place in keys for e in edge.keys[place])
        own |= {index - item.start for index in whole if index in item.positions}
        own |= set() if item.importance is None else {item.importance}
        return tuple(f"c{index}" for index in sorted(own))

    def meet(self, residents: Sequence[Residents]) -> Iterator[Combinations]:
        """The results of the arrivals of a slice."""
        indexes: dict[tuple[int, tuple[Expression, ...]], RelationIndex] = {}
        for port, own in enumerate(residents):
            number = self._star.streams[port]
            new = np.arange(own.old, own.batch.num_rows)
            start = Combinations(self._star, {number: own.batch}, {number: new}, own.lives.take(new))
            way = self._star.ways[port]
            partners = [self._partners(probe, port, residents, indexes) for probe in way]
            yield from extended(start, way, partners)

    def _partners(
        self,
        probe: Probe,
        port: int,
        residents: Sequence[Residents],
        indexes: dict[tuple[int, tuple[Expression, ...]], RelationIndex],
    ) -> Partners:
        item = self._star.items[probe.item]
        if item.port is None:
            return Partners(self._relations(item.relation or "", probe.own_key))
        others = residents[item.port]
        key = (item.port, probe.own_key)
        if key not in indexes:
            indexes[key] = RelationIndex(others.batch, key_columns(others.batch, probe.own_key))
        return Partners(indexes[key], others.lives, others.old if item.port < port else None)

    def told(self, found: Combinations) -> pa.RecordBatch:
        """The rows that combinations become."""
        names = ["_s", "_e", *(f"c{index}" for index in self._out)]
        columns = [pa.array(found.lives.start), pa.array(found.lives.end)]
        return pa.RecordBatch.from_arrays([*columns, *(found[index] for index in self._out)], names)


def _read(expressions: Iterator[Expression]) -> set[int]:
    return {index for expression in expressions for index in columns_of(expression)}
