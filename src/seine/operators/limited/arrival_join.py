"""The delta rule of a multi-way join: the results that the arrivals of a slice of event time add.

    delta(R ⋈ S) = dR ⋈ (S + dS)  +  R ⋈ dS          likewise for more streams, in the order of ports

Law: each combination of one tuple of each stream, with relation tuples between them, that has an arrival is
emitted exactly once: by its first arrival in the order of ports, which probes what was held in the streams
before it, and all tuples of the streams behind it.
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


class ArrivalJoin:
    """Joins the arrivals of a star join with what its windows hold and with each other."""

    def __init__(self, node: LimitedNode, relations: Relations) -> None:
        self._star, self._out, self._relations = node.star, node.out, relations

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns of a port that output, conditions, keys and importance read."""
        number = self._star.streams[port]
        item = self._star.items[number]
        sequences = [
            *self._star.probe_orders,
            *(probes for edge in self._star.edges for probes in edge.probe_orders),
        ]
        sequences += [probes for filters in self._star.filters for probes in filters]
        all_probes = [probe for probes in sequences for probe in probes]
        combined = {
            *self._out,
            *_read(e for probe in all_probes for e in (*probe.bound_key, *probe.conditions)),
        }
        columns = _read(e for probe in all_probes if probe.item == number for e in probe.own_key)
        keys = [(edge, edge.ports.index(port)) for edge in self._star.edges if port in edge.ports]
        columns |= _read(e for edge, place in keys for e in edge.keys[place])
        columns |= {index - item.start for index in combined if index in item.positions}
        columns |= set() if item.importance is None else {item.importance}
        return tuple(f"c{index}" for index in sorted(columns))

    def results(self, residents: Sequence[Residents]) -> Iterator[Combinations]:
        """The combinations that the arrivals of a slice add, in chunks."""
        indexes: dict[tuple[int, tuple[Expression, ...]], RelationIndex] = {}
        for port, window in enumerate(residents):
            number = self._star.streams[port]
            new = np.arange(window.old, window.batch.num_rows)
            start = Combinations(self._star, {number: window.batch}, {number: new}, window.lives.take(new))
            probes = self._star.probe_orders[port]
            partners = [self._partners(probe, port, residents, indexes) for probe in probes]
            yield from extended(start, probes, partners)

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

    def output(self, combinations: Combinations) -> pa.RecordBatch:
        """Combinations as output rows."""
        names = ["_s", "_e", *(f"c{index}" for index in self._out)]
        columns = [pa.array(combinations.lives.start), pa.array(combinations.lives.end)]
        return pa.RecordBatch.from_arrays([*columns, *(combinations[index] for index in self._out)], names)


def _read(expressions: Iterator[Expression]) -> set[int]:
    """The columns that expressions read."""
    return {index for expression in expressions for index in columns_of(expression)}
