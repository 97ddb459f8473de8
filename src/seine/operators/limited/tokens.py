"""Join keys as tokens: integers such that two tuples join as often as they have tokens in common.

Joined directly, a tuple's token is the hash of its join key. Joined through relations, it has one token for
each relation tuple (or combination of them) that it joins with: shedding then knows only one kind of join.

    r(k=1) ─┐ edges(1, x) = token 71          r: {71, 72}
            ├ edges(1, y) = token 72          s: {71}        one token in common: one result
    s(k=x) ─┘

Law: two tuples of streams on an edge are joined by as many combinations of the edge's relations (one, if it
has none) as they have tokens of that edge in common, up to collisions of 56-bit hashes. A tuple that has no
token of an edge, or no match in a relation that must have one, makes no result.

Cites: STAR 2.2 (pre-filtering, formula 6), 2.3, 3.2 (formula 8)
Differs: the paper would look at a part of a relation that is too large; a lookup here is by index, and costs
what it finds, so nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Expression
from seine.algebra.star import ArrivalProbes, Star, StarEdge
from seine.operators.join.combination import key_columns
from seine.operators.limited.star_combinations import Combinations, Partners, TupleLives, extended
from seine.operators.state.relation_index import RelationIndex
from seine.rows.delta import FOREVER, NEVER
from seine.rows.hashing import hash_columns, mix, null_mask

Relations = Callable[[str, tuple[Expression, ...]], RelationIndex]


@dataclass(frozen=True)
class Carried:
    """The tokens of tuples as a ragged array: those of tuple i are tokens[offsets[i] : offsets[i + 1]].

    `until` is when the last of the relation tuples ends that a tuple needs. A tuple that can make no result
    has no tokens.
    """

    offsets: IntArray
    tokens: IntArray
    until: IntArray

    @property
    def useful(self) -> IntArray:
        """The tuples with a token."""
        return np.flatnonzero(np.diff(self.offsets))


class Carrier:
    """Computes the tokens of the tuples of one port."""

    def __init__(self, star: Star, port: int, relations: Relations) -> None:
        self._star, self._port, self._relations = star, port, relations
        self._item = star.streams[port]

    def carried(self, batch: pa.RecordBatch) -> Carried:
        """The tokens of the tuples of a batch."""
        count = batch.num_rows
        useful, until = np.ones(count, bool), np.full(count, FOREVER)
        parts = []
        for number, edge in enumerate(self._star.edges):
            if self._port in edge.ports:
                owners, values, ends = self._edge(batch, edge)
                parts.append((owners, (values >> 8) * len(self._star.edges) + number))
                _need(useful, until, owners, ends)
        for probes in self._star.filters[self._port]:
            owners, _, ends = self._matches(batch, probes)
            _need(useful, until, owners, ends)
        owners, tokens = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        kept = useful[owners]
        owners, tokens = owners[kept], tokens[kept]
        order = np.argsort(owners, kind="stable")
        offsets = np.searchsorted(owners[order], np.arange(count + 1))
        return Carried(offsets, tokens[order], until)

    def _edge(self, batch: pa.RecordBatch, edge: StarEdge) -> tuple[IntArray, IntArray, IntArray]:
        """For each token of an edge its tuple, its value, and when it ends."""
        place = edge.ports.index(self._port)
        owners, values, ends = self._matches(batch, edge.probe_orders[place])
        keys = key_columns(batch, edge.keys[place])
        hashes = hash_columns(keys, batch.num_rows)
        if edge.keys[place]:
            values = mix((values ^ hashes[owners]).view(np.uint64)).view(np.int64)
        if (missing := null_mask(keys)) is not None:
            known = ~missing[owners]
            owners, values, ends = owners[known], values[known], ends[known]
        return owners, values, ends

    def _matches(self, batch: pa.RecordBatch, probes: ArrivalProbes) -> tuple[IntArray, IntArray, IntArray]:
        """The combinations of relation tuples that tuples join with: whose, which, and when they end.

        Without probes each tuple has one match that never ends.
        """
        count = batch.num_rows
        if not probes:
            return np.arange(count), np.zeros(count, np.int64), np.full(count, FOREVER)
        chunks = [*self._probed(batch, probes)]
        owners, values, ends = (
            np.concatenate([np.zeros(0, np.int64), *columns])
            for columns in (zip(*chunks, strict=True) if chunks else [(), (), ()])
        )
        return owners, values, ends

    def _probed(
        self, batch: pa.RecordBatch, probes: ArrivalProbes
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        star = self._star
        partners = [Partners(self._relations(star.items[p.item].relation or "", p.own_key)) for p in probes]
        rows = {self._item: np.arange(batch.num_rows)}
        start = Combinations(star, {self._item: batch}, rows, TupleLives.always(batch.num_rows))
        for combinations in extended(start, probes, partners):
            numbers = [combinations.rows[item] for item in sorted(probe.item for probe in probes)]
            yield combinations.rows[self._item], _identity(numbers), self._ends(combinations, probes)

    def _ends(self, combinations: Combinations, probes: ArrivalProbes) -> IntArray:
        """When combinations of relation tuples end: with the first of them."""
        ends = np.full(combinations.num_rows, FOREVER)
        for probe in probes:
            item = self._star.items[probe.item]
            if item.until is not None:
                column = combinations[item.start + item.until].cast(pa.int64()).fill_null(FOREVER)
                ends = np.minimum(ends, column.to_numpy())
        return ends


def _identity(numbers: list[IntArray]) -> IntArray:
    """A hash of each combination of relation tuples, the same whichever stream probes."""
    total = mix(numbers[0].view(np.uint64))
    for more in numbers[1:]:
        total = mix(total ^ mix(more.view(np.uint64)) << np.uint64(1))
    return total.view(np.int64)


def _need(useful: BoolArray, until: IntArray, owners: IntArray, ends: IntArray) -> None:
    """Narrow, in place, which tuples can make a result and until when: a tuple needs one of these matches."""
    last = np.full(len(until), NEVER)
    np.maximum.at(last, owners, ends)
    useful &= last != NEVER
    np.minimum(until, last, out=until)
