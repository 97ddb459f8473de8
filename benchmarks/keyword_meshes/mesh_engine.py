"""Keyword search by operators: tuples come in, are joined along candidate networks, and results leave.

Cites: SKWS 3.3, SKWS 4.1, SKWS 4.3
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.keyword_meshes.join_buffers import PartialResults
from benchmarks.keyword_meshes.operator_mesh import OperatorMesh
from benchmarks.keyword_meshes.search_arrivals import SearchArrivals
from benchmarks.keyword_meshes.source_buffers import PlaceIndex, SourceBuffers
from benchmarks.keyword_meshes.tree_gen import tree_gen
from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.expansion import NetworkTrees
from seine.rows.grouping import ranges


@dataclass(frozen=True)
class ReportedTrees:
    """Results of one size: the tuples of each, and the tree that they form; with their lives."""

    numbers: IntArray
    trees: NetworkTrees
    start: IntArray
    end: IntArray


class MeshEngine:
    """The stateful part of keyword search over streams that only append, by a mesh or forest of operators.

    A step takes tuples in the order of arrival, and `low`, the least start that a later tuple may have. Law:
    the results of all steps are the trees of live tuples that are total and minimal, each once, in the step
    of its last tuple; how tuples are cut into steps and which operators sleep does not matter.

        left rows of size m, by operator        tuples by place
        -----------------------------------     ----------------------------
        new rows          x  all tuples    \\
        old rows          x  new tuples     >-- rows of size m + 1, or results
        old rows, missed  x  old tuples    /
        by joins that have just woken

    Eager purging drops every row as it ends. Lazy purging drops ended rows when a join looks through the
    buffer that holds them, and clears the buffer of a join that has slept until all its output has ended: so
    nothing stays longer than twice the window beyond its end, if joins sleep when not in demand.

    Differs: the paper takes one tuple at a time and loops over the joins above a source; here a step takes
    many, and a search by (left input, position, condition, node) finds the join. Results of a step are in the
    order of operators, not of t_start.
    """

    def __init__(self, schema: ExpandedSchema, mesh: OperatorMesh, lazy: bool = False) -> None:
        self.mesh, self._lazy = mesh, lazy
        self._schema = schema
        self.sources = SourceBuffers(schema)
        self.buffers = [PartialResults.empty(size) for size in range(mesh.max_tuples + 1)]
        self._step = 0
        self._low = np.iinfo(np.int64).min
        self._latest_end = self._low
        self.peak_rows = self.peak_joins = 0  # the most rows held, and joins standing, at a time
        self._sleepers: deque[tuple[int, IntArray]] = deque()  # (when all output has ended, joins)

    def step(self, arrivals: SearchArrivals, low: int) -> list[ReportedTrees]:
        """Tuples arrive, and time moves to `low`; returns the results that they complete."""
        self._step += 1
        before = self.sources.counts() > 0
        self.sources.append(arrivals, self._step)
        self._latest_end = max(self._latest_end, int(arrivals.end.max(initial=self._latest_end)))
        now = self.sources.counts() > 0
        self.mesh.sources_filled(np.flatnonzero(now & ~before), self._step)
        results = self._leaves(len(arrivals))
        for size in range(1, self.mesh.max_tuples):
            if len(self.buffers[size]):
                results += self._join_above(size)
        self.peak_rows = max(self.peak_rows, self.held_rows())
        self.peak_joins = max(self.peak_joins, self.mesh.count)
        self._purge(low)
        return results

    def _purge(self, low: int) -> None:
        """Time moves to `low`: what has ended by then can meet nothing that comes later."""
        self._low = low
        before = self.sources.counts() > 0
        self.sources.purge(low)
        dried = np.flatnonzero(before & ~(self.sources.counts() > 0))
        halted = self.mesh.sources_dried(dried, self._step)
        self._purge_rows(1, self.buffers[1].end > low)
        if not self._lazy:
            for size in range(2, self.mesh.max_tuples):
                self._purge_rows(size, self.buffers[size].end > low)
        elif len(halted):
            self._sleepers.append((self._latest_end, halted))
        self._clear_sleepers()
        self._shrink()

    def held_rows(self) -> int:
        """Rows in the buffers of sources and in the output buffers of joins."""
        return self.mesh.source_rows(self.sources.counts()) + self.join_rows()

    def join_rows(self) -> int:
        """Rows in the output buffers of joins."""
        return sum(map(len, self.buffers[2:]))

    def _leaves(self, arrived: int) -> list[ReportedTrees]:
        """New tuples that hold k1 become rows of size 1; those that hold everything are results."""
        tuples = self.sources.tuples.rows(slice(len(self.sources.tuples) - arrived, None))
        nodes = self._schema.node_of[tuples.stream, tuples.held]
        low, high, leaves = self.mesh.leaves_of(nodes)
        made = [
            PartialResults(
                leaves[place],
                tuples.number[mine].reshape(-1, 1),
                tuples.start[mine],
                tuples.end[mine],
                np.full(len(mine), self._step),
            )
            for mine, place in ranges(low, high)
        ]
        return self._keep(1, made)

    def _keep(self, size: int, made: list[PartialResults]) -> list[ReportedTrees]:
        """New rows go to their operators' buffers, or out."""
        results = []
        for rows in made:
            complete = self.mesh.operators.complete[rows.operator]
            if complete.any():
                done = rows.rows(complete)
                trees = tree_gen(self.mesh.operators, done.operator, size)
                results.append(ReportedTrees(done.numbers, trees, done.start, done.end))
        growing = (rows.rows(~self.mesh.operators.complete[rows.operator]) for rows in made)
        self.buffers[size] = self.buffers[size].joined(growing)
        return results

    def _join_above(self, size: int) -> list[ReportedTrees]:
        """All joins that take left rows of this size."""
        self.mesh.grow(size, np.unique(self.buffers[size].operator))
        if self._lazy and size > 1:
            self._purge_encountered(size)
        rows = self.buffers[size]
        new = rows.since == self._step
        alive = ~new & (rows.end > self._low)
        made = [
            *self._join(rows.rows(new), self.sources.all_places),
            *self._join(rows.rows(alive), self.sources.new_places),
        ]
        awoken = self.mesh.awoken(size)
        if len(awoken):
            made += self._catch_up(rows.rows(alive), awoken)
        return self._keep(size + 1, made)

    def _join(self, rows: PartialResults, places: PlaceIndex) -> Iterator[PartialResults]:
        """Left rows with every tuple at these places that a running join takes to them."""
        for at in range(rows.numbers.shape[1]):
            here = np.flatnonzero(self.mesh.meets[rows.operator, at])
            if not len(here):
                continue
            slots = self.sources.slots(rows.numbers[here, at])
            for mine, condition, partner in self.sources.matches(slots, places):
                yield self._extended(rows, here[mine], at, condition, partner)

    def _extended(
        self, rows: PartialResults, left: IntArray, at: int, condition: IntArray, right: IntArray
    ) -> PartialResults:
        """Pairs of a left row and a tuple: those that a running join makes, with lives that overlap."""
        tuples = self.sources.tuples
        nodes = self._schema.node_of[tuples.stream[right], tuples.held[right]]
        join = self.mesh.lookup.find(rows.operator[left], np.full(len(left), at), condition, nodes)
        wanted = join >= 0
        wanted[wanted] = self.mesh.runs(join[wanted])
        left, right, join = left[wanted], right[wanted], join[wanted]
        start = np.maximum(rows.start[left], tuples.start[right])
        end = np.minimum(rows.end[left], tuples.end[right])
        fine = (start < end) & self._is_another(rows.numbers[left], tuples.number[right])
        left, right = left[fine], right[fine]
        return PartialResults(
            join[fine],
            np.column_stack([rows.numbers[left], tuples.number[right]]),
            start[fine],
            end[fine],
            np.maximum(rows.since[left], self.sources.since[right]),
        )

    def _is_another(self, numbers: IntArray, number: IntArray) -> BoolArray:
        """No tuple twice in a row (Figure 3.7)."""
        return np.asarray((numbers != number[:, None]).all(axis=1))

    def _catch_up(self, rows: PartialResults, awoken: IntArray) -> Iterator[PartialResults]:
        """What joins that have woken missed: old rows with old tuples, one of them from their sleep."""
        asleep = np.zeros(len(self.mesh.operators), bool)
        asleep[awoken] = True
        below = np.zeros(len(self.mesh.operators), bool)
        below[self.mesh.operators.left[awoken]] = True
        for made in self._join(rows.rows(below[rows.operator]), self.sources.all_places):
            missed = asleep[made.operator] & (made.since < self._step)
            missed &= made.since > self.mesh.missed_from(made.operator)
            yield made.rows(missed)

    def _purge_rows(self, size: int, kept: BoolArray) -> None:
        if not kept.all():
            self.buffers[size] = self.buffers[size].rows(kept)

    def _purge_encountered(self, size: int) -> None:
        """Ended rows leave the buffers that a running join with new tuples, or one that has woken, reads."""
        rows = self.buffers[size]
        operators = self.mesh.operators
        present = np.unique(rows.operator)
        fresh = np.zeros(self._schema.nodes, bool)
        fresh[self.sources.nodes()[self.sources.since == self._step]] = True
        owner, join = self.mesh.lookup.above(present)
        reads = self.mesh.runs(join) & fresh[operators.node[join]]
        read = np.zeros(len(operators), bool)
        read[present[owner[reads]]] = True
        read[operators.left[self.mesh.awoken(size)]] = True
        self._purge_rows(size, ~read[rows.operator] | (rows.end > self._low))

    def _clear_sleepers(self) -> None:
        """The buffers of joins that have slept until all their output has ended are cleared."""
        while self._sleepers and self._sleepers[0][0] <= self._low:
            _, halted = self._sleepers.popleft()
            asleep = np.zeros(len(self.mesh.operators), bool)
            asleep[halted] = ~self.mesh.runs(halted)
            for size in range(2, self.mesh.max_tuples):
                rows = self.buffers[size]
                self._purge_rows(size, ~asleep[rows.operator] | (rows.end > self._low))

    def _shrink(self) -> None:
        """Operators whose left input has run dry are gone, and what they held with them."""
        for size in range(1, self.mesh.max_tuples):
            gone = self.mesh.shrink(size, np.unique(self.buffers[size].operator))
            if gone is not None:
                for above in range(size + 1, self.mesh.max_tuples):
                    self._purge_rows(above, ~gone[self.buffers[above].operator])
