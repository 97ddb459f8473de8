"""The tokens that tuples of a stream carry: what lets them match, as shedding sees it.

Law: two tuples of streams on an edge are joined by as many combinations of the edge's relations (one, if it
has none) as they carry the same tokens of that edge, up to collisions of hashes of 56 bits. A tuple that
carries none of some edge, or finds nothing in a relation that must have something, makes no result.

Cites: STAR 2.2 (pre-filtering, formula 6), 3.2 (formula 8)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression
from seine.algebra.star import ArrivalProbes, Edge, Star
from seine.operators.join.combination import key_columns
from seine.operators.limited.star_combinations import Combinations, Partners, TupleLives, extended
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import FOREVER, NEVER
from seine.rows.hashing import hash_columns, mix, null_mask

Relations = Callable[[str, tuple[Expression, ...]], RelationIndex]


@dataclass(frozen=True)
class Carried:
    """Tokens of tuples, by tuple: those of tuple i are tokens[offsets[i] : offsets[i + 1]].

    `until` is when the last of the relation tuples ends that a tuple needs; a tuple that can make
    no result carries nothing.
    """

    offsets: np.ndarray
    tokens: np.ndarray
    until: np.ndarray

    @property
    def useful(self) -> np.ndarray:
        return np.flatnonzero(np.diff(self.offsets))


class Carrier:
    """Finds what the tuples of one port carry."""

    def __init__(self, star: Star, port: int, relations: Relations) -> None:
        self._star, self._port, self._relations = star, port, relations
        self._item = star.streams[port]

    def carried(self, batch: pa.RecordBatch) -> Carried:
        """What the tuples of a batch carry."""
        count = batch.num_rows
        useful, until = np.ones(count, bool), np.full(count, FOREVER)
        parts = []
        for number, edge in enumerate(self._star.edges):
            if self._port in edge.ports:
                owners, values, ends = self._edge(batch, edge)
                parts.append((owners, (values >> 8) * len(self._star.edges) + number))
                _need(useful, until, owners, ends)
        for way in self._star.filters[self._port]:
            owners, _, ends = self._found(batch, way)
            _need(useful, until, owners, ends)
        owners, tokens = (np.concatenate(some) for some in zip(*parts, strict=True))
        kept = useful[owners]
        owners, tokens = owners[kept], tokens[kept]
        order = np.argsort(owners, kind="stable")
        offsets = np.searchsorted(owners[order], np.arange(count + 1))
        return Carried(offsets, tokens[order], until)

    def _edge(self, batch: pa.RecordBatch, edge: Edge) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each token of an edge the tuple that carries it, its value, and when it ends."""
        place = edge.ports.index(self._port)
        owners, values, ends = self._found(batch, edge.ways[place])
        keys = key_columns(batch, edge.keys[place])
        hashes = hash_columns(keys, batch.num_rows)
        if edge.keys[place]:
            values = mix((values ^ hashes[owners]).view(np.uint64)).view(np.int64)
        if (missing := null_mask(keys)) is not None:
            known = ~missing[owners]
            owners, values, ends = owners[known], values[known], ends[known]
        return owners, values, ends

    def _found(self, batch: pa.RecordBatch, way: ArrivalProbes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The relation tuples that tuples find: whose, which, and when they end; one each on no way."""
        count = batch.num_rows
        if not way:
            return np.arange(count), np.zeros(count, np.int64), np.full(count, FOREVER)
        found = [*self._walked(batch, way)]
        owners, values, ends = (
            np.concatenate([np.zeros(0, np.int64), *some])
            for some in (zip(*found, strict=True) if found else [(), (), ()])
        )
        return owners, values, ends

    def _walked(
        self, batch: pa.RecordBatch, way: ArrivalProbes
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        star = self._star
        partners = [Partners(self._relations(star.items[p.item].relation or "", p.own_key)) for p in way]
        rows = {self._item: np.arange(batch.num_rows)}
        start = Combinations(star, {self._item: batch}, rows, TupleLives.always(batch.num_rows))
        for some in extended(start, way, partners):
            numbers = [some.rows[item] for item in sorted(probe.item for probe in way)]
            yield some.rows[self._item], _identity(numbers), self._ends(some, way)

    def _ends(self, found: Combinations, way: ArrivalProbes) -> np.ndarray:
        """When combinations of relation tuples end: with the first of them."""
        ends = np.full(found.num_rows, FOREVER)
        for probe in way:
            item = self._star.items[probe.item]
            if item.until is not None:
                column = found[item.start + item.until].cast(pa.int64()).fill_null(FOREVER)
                ends = np.minimum(ends, column.to_numpy())
        return ends


def _identity(numbers: list[np.ndarray]) -> np.ndarray:
    """One number for each combination of tuples of relations, whichever stream found it."""
    total = mix(numbers[0].view(np.uint64))
    for more in numbers[1:]:
        total = mix(total ^ mix(more.view(np.uint64)) << np.uint64(1))
    return total.view(np.int64)


def _need(useful: np.ndarray, until: np.ndarray, owners: np.ndarray, ends: np.ndarray) -> None:
    """Note which tuples have found something, and for how long that is good."""
    last = np.full(len(until), NEVER)
    np.maximum.at(last, owners, ends)
    useful &= last != NEVER
    np.minimum(until, last, out=until)
