"""The data graph around the tuples of a step: partners of a tuple, found when they are first asked for.

Its nodes are tuples, and two tuples are joined by an edge for each join condition that they satisfy while
both live. A hop is one probe of the index of places (`watched_schema.py`) in every run.

Law: `partners(x)` are all held or new tuples y != x, each once for each edge of the schema that joins x with
y, whose lifetime overlaps that of x.

Cites: SKWS 2 (data graph)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.search.known_tuples import ID, KnownTuples, equal_texts
from seine.operators.search.watched_schema import opposite
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.work_budget import uncounted
from seine.rows.grouping import bounded_slices, ranges

SIDE, KEY_TEXT = "_side", "_key"
MOST_PARTNERS_AT_ONCE = 1 << 17  # pairs of a tuple and a partner that are formed together, about
MOST_PARTNERS_KEPT = 1 << 22  # pairs above which those that were found are found again when needed
_NUMBERS = np.zeros(0, np.int64)


class DataGraph:
    """Tuples and edges between them; `runs` are the indexes of places that are probed."""

    def __init__(self, tuples: KnownTuples, runs: Sequence[SortedRun]) -> None:
        self.tuples = tuples
        self._runs = runs
        self._at = self._end = _NUMBERS  # where the partners of a tuple are; -1 if they were not asked for
        self._partners = self._edges = _NUMBERS
        self._degrees = _NUMBERS  # by tuple; -1 if nobody asked

    def degrees(self, tuples: IntArray) -> IntArray:
        """How many partners tuples have, at most; where they are few they are found at once, and counted."""
        self._make_room()
        unknown = np.flatnonzero(np.bincount(tuples[self._at[tuples] < 0]))
        if len(unknown) * self._fullest <= MOST_PARTNERS_AT_ONCE:
            self._find(tuples)
            return self._end[tuples] - self._at[tuples]
        more = np.full(len(self.tuples) - len(self._degrees), -1, np.int64)
        self._degrees = np.concatenate([self._degrees, more])
        unknown = unknown[self._degrees[unknown] < 0]
        owners, places = self.tuples.places(unknown)
        self._degrees[unknown] = np.bincount(owners, self.crowds(opposite(places)), len(unknown))
        return np.where(self._at[tuples] < 0, self._degrees[tuples], self._end[tuples] - self._at[tuples])

    @cached_property
    def _fullest(self) -> int:
        """The most partners that a tuple can have at one place."""
        return sum(run.fullest_slot for run in self._runs)

    def crowds(self, places: IntArray) -> IntArray:
        """How many tuples are at places, at most."""
        counts = np.zeros(len(places), np.int64)
        for run in self._runs:
            counts += run.candidate_counts(places)
        return counts

    def partners(self, rows: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Partners of tuples: which of the given tuples has it, the partner, the edge; in chunks.

        Nobody's candidates are counted here: who asks knows for whom.
        """
        for part in bounded_slices(self.degrees(rows), MOST_PARTNERS_AT_ONCE):
            if len(self._partners) > MOST_PARTNERS_KEPT:
                self._partners = self._edges = self._at = self._end = _NUMBERS
            chosen = rows[part]
            self._find(chosen)
            partners, edges = self._partners, self._edges  # others may be kept when this goes on
            for owners, at in ranges(self._at[chosen], self._end[chosen], MOST_PARTNERS_AT_ONCE):
                yield owners + part.start, partners[at], edges[at]

    def at_places(self, places: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        """The tuples at places: which of the places, and the tuple; in chunks."""
        for run in self._runs:
            for probing, stored in run.equal_keys(places, uncounted):
                if len(probing):
                    yield probing, self.tuples.numbers_at(run.batch, stored)

    def _find(self, rows: IntArray) -> None:
        """Look for the partners of tuples where nobody has."""
        self._make_room()
        unknown = np.unique(rows[self._at[rows] < 0])
        if not len(unknown):
            return
        owners, partners, edges = self._joined(unknown)
        order = np.lexsort((edges, partners, owners))
        owners, partners, edges = owners[order], partners[order], edges[order]
        if len(owners):  # a condition of a table with itself may hold in both directions, and is one edge
            fresh = np.ones(len(owners), bool)
            fresh[1:] = (
                np.diff(owners).astype(bool) | np.diff(partners).astype(bool) | np.diff(edges).astype(bool)
            )
            owners, partners, edges = owners[fresh], partners[fresh], edges[fresh]
        self._make_room()
        bounds = len(self._partners) + np.searchsorted(owners, np.arange(len(unknown) + 1))
        self._at[unknown], self._end[unknown] = bounds[:-1], bounds[1:]
        self._partners = np.concatenate([self._partners, partners])
        self._edges = np.concatenate([self._edges, edges])

    def _make_room(self) -> None:
        more = np.full(len(self.tuples) - len(self._at), -1, np.int64)
        self._at, self._end = np.concatenate([self._at, more]), np.concatenate([self._end, more])

    def _joined(self, unknown: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Triples (place among the given tuples, partner, edge)."""
        owners, places, sides, keys = self.tuples.joined_places(unknown)
        parts: list[tuple[IntArray, IntArray, IntArray]] = []
        for run in self._runs:
            for probing, stored in run.equal_keys(opposite(places), uncounted):
                joined = self._fits(unknown[owners[probing]], sides[probing], run, stored)
                probing, stored = probing[joined], stored[joined]
                if keys.null_count < len(keys):
                    texts = run.batch[KEY_TEXT].take(pa.array(stored))
                    same = equal_texts(keys.take(pa.array(probing)), texts)
                    probing, stored = probing[same], stored[same]
                if len(probing):
                    numbers = self.tuples.numbers_at(run.batch, stored)
                    parts.append((owners[probing], numbers, sides[probing] >> 1))
        if not parts:
            return _NUMBERS, _NUMBERS, _NUMBERS
        joined_parts = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        return joined_parts[0], joined_parts[1], joined_parts[2]

    def _fits(self, tuples: IntArray, sides: IntArray, run: SortedRun, stored: IntArray) -> BoolArray:
        """Whether a stored place is the other end of the edge, of another tuple that lives at some time
        with this one.
        """
        known = self.tuples
        fits: BoolArray = run.batch[SIDE].to_numpy()[stored] == sides ^ 1
        fits &= run.batch[ID].to_numpy()[stored] != known.id[tuples]
        fits &= np.maximum(run.starts[stored], known.start[tuples]) < np.minimum(
            run.ends[stored], known.end[tuples]
        )
        return fits
