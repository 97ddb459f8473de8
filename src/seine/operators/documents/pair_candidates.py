"""Pairs of a new document and another one with the first edge of some class, by an index of values.

    classes  {channel = channel}, {title = title}, {title = title, author = author}

    new document ─ values ─> segments of the index ─┬─ a class ends with the edge     the pair, and the class
                         (`value_segments.py`)      └─ classes go on below it         the pair is compared

Law: `ended` has each pair (new document, other document) with each class of one edge that holds for it, and
`deeper` each pair with each edge that holds for it and with which longer classes begin, once; of edges whose
bounds of time the pair keeps. A pair whose class is decided by its first edge is never looked at again.

Cites: MMQJP 5 (R_L sliced by string value)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.documents.held_documents import INDEX_DOCUMENT, INDEX_PATTERN, NewDocuments, spread
from seine.operators.documents.join_classes import PATTERN_BITS, RankedClasses, known_places, time_apart
from seine.operators.documents.value_segments import ValueSegments, near_in_time, segments_of
from seine.operators.state.sorted_run import ProbeKeys, SortedRun
from seine.operators.state.work_budget import spend_candidates
from seine.rows.grouping import ranges

_MOST_AT_ONCE = 1 << 16  # pairs that are formed at once: arrays that stay in a cache


class PairClasses(NamedTuple):
    """Pairs of a new document, by place, and another document, by key; each with a class."""

    new: IntArray
    key: IntArray
    class_: IntArray


class DeeperPairs(NamedTuple):
    """Pairs with the node of the edge tree from which classes go on, and how far apart in time they are."""

    new: IntArray
    key: IntArray
    node: IntArray
    apart: IntArray


@dataclass(frozen=True)
class ProbingWitnesses:
    """The witnesses of new documents with which some classes begin, and which side these documents are."""

    classes: RankedClasses
    new: NewDocuments
    is_left: bool
    same: bool  # whether a document may meet itself

    @property
    def life(self) -> tuple[int, int]:
        """From when until when some of the new documents live."""
        return int(self.new.starts.min()), int(self.new.ends.max())

    @cached_property
    def _places(self) -> IntArray:
        patterns = self.classes.first_patterns[0 if self.is_left else 1]
        return known_places(self.new.witnesses.pattern, patterns)

    @cached_property
    def document(self) -> IntArray:
        """The place of the document of each witness."""
        return self.new.witnesses.document[self._places]

    @cached_property
    def pattern(self) -> IntArray:
        return self.new.witnesses.pattern[self._places]

    @cached_property
    def starts(self) -> IntArray:
        return self.new.starts[self.document]

    @cached_property
    def ends(self) -> IntArray:
        return self.new.ends[self.document]

    @cached_property
    def keys(self) -> ProbeKeys:
        return ProbeKeys(spread(self.new.witnesses.value[self._places]))

    @cached_property
    def repeated(self) -> BoolArray | None:
        """Which witnesses share document and pattern with another; None if none does."""
        codes = (self.document << PATTERN_BITS) | self.pattern
        ordered = np.sort(codes)
        again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.isin(codes, again) if len(again) else None


class PairCandidates:
    """The candidates of one probe: call `ended` to the end, then `deeper`."""

    def __init__(self, probe: ProbingWitnesses, matches: IntArray) -> None:
        """`matches` counts the matches of each edge on the way."""
        self._probe, self._matches = probe, matches
        self._tree = probe.classes.tree
        self._deeper: list[DeeperPairs] = []

    def ended(self, runs: Iterable[SortedRun]) -> Iterator[PairClasses]:
        """Pairs whose class ends with its first edge."""
        again: list[PairClasses] = []
        repeated = self._probe.repeated
        for run in runs:
            segments, nodes = self._wanted(run)
            classes = self._tree.ending(nodes)
            plain = np.flatnonzero(classes >= 0)
            for at, rows, owners in self._expanded(run, segments.take(plain)):
                pairs = PairClasses(*self._documents(run, at, rows), classes[plain[owners]])
                if repeated is None:
                    yield pairs
                    continue
                twice = repeated[at]
                again.append(PairClasses(*(column[twice] for column in pairs)))
                yield PairClasses(*(column[~twice] for column in pairs))
            self._note_deeper(run, segments, nodes)
        if again:
            whole = PairClasses(*map(np.concatenate, zip(*again, strict=True)))
            yield PairClasses(*(column[_distinct(whole)] for column in whole))

    def deeper(self, most: int) -> Iterator[DeeperPairs]:
        """Pairs of which more edges have to be known, those of one pair together, about `most` at once."""
        if not self._deeper:
            return
        whole = DeeperPairs(*map(np.concatenate, zip(*self._deeper, strict=True)))
        order = _distinct(PairClasses(whole.new, whole.key, whole.node))
        for begin in range(0, len(order), most):
            yield DeeperPairs(*(column[order[begin : begin + most]] for column in whole))

    def _wanted(self, run: SortedRun) -> tuple[ValueSegments, IntArray]:
        """The segments of first edges, trimmed by their bounds of time, and the tree node of each."""
        probe, classes, tree = self._probe, self._probe.classes, self._tree
        segments = segments_of(run, probe.keys)
        theirs = run.batch[INDEX_PATTERN].to_numpy()[segments.low]
        mine = probe.pattern[segments.probe]
        rank = classes.ranks(mine, theirs) if probe.is_left else classes.ranks(theirs, mine)
        nodes = classes.first_nodes[rank]
        first = np.flatnonzero(nodes >= 0)
        segments, nodes, rank = segments.take(first), nodes[first], rank[first]
        low, high = tree.lows[nodes], tree.highs[nodes]
        if not probe.is_left:
            low, high = -high, -low
        near, kept = near_in_time(segments, run.starts, probe.starts[segments.probe], low, high)
        sizes = near.high - near.low
        self._matches += np.bincount(rank[kept], sizes, len(self._matches)).astype(np.int64)
        spend_candidates(int(sizes.sum()))
        return near, nodes[kept]

    def _expanded(
        self, run: SortedRun, segments: ValueSegments
    ) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Probing witness, row of the run and number of the segment of each match that lives at some time."""
        probe, always = self._probe, not len(segments.probe) or self._all_alive(run)
        for owners, rows in ranges(segments.low, segments.high, _MOST_AT_ONCE):
            at = segments.probe[owners]
            if not always:
                alive = (run.ends[rows] > probe.starts[at]) & (probe.ends[at] > run.starts[rows])
                at, rows, owners = at[alive], rows[alive], owners[alive]
            if probe.same:
                other = run.batch[INDEX_DOCUMENT].to_numpy()[rows] != probe.new.keys[probe.document[at]]
                at, rows, owners = at[other], rows[other], owners[other]
            yield at, rows, owners

    def _all_alive(self, run: SortedRun) -> bool:
        """Whether every row of a run lives at the same time as every new document, for some instant."""
        probe = self._probe
        return bool(run.ends.min() > probe.starts.max() and probe.ends.min() > run.starts.max())

    def _documents(self, run: SortedRun, at: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        return self._probe.document[at], run.batch[INDEX_DOCUMENT].to_numpy()[rows]

    def _note_deeper(self, run: SortedRun, segments: ValueSegments, nodes: IntArray) -> None:
        more = np.flatnonzero(self._tree.leads_on(nodes))
        for at, rows, owners in self._expanded(run, segments.take(more)):
            apart = time_apart(self._probe.starts[at], run.starts[rows])
            self._deeper.append(
                DeeperPairs(
                    *self._documents(run, at, rows),
                    nodes[more[owners]],
                    apart if self._probe.is_left else -apart,
                )
            )


def _distinct(pairs: PairClasses) -> IntArray:
    """The places of distinct rows, those of one pair together."""
    order = np.lexsort((pairs.class_, pairs.key, pairs.new))
    ordered = [column[order] for column in pairs]
    new = np.ones(len(order), bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in ordered])
    return order[new]
