"""Pairs of a new document and another one with the first edge of some class, by an index of values.

    classes  {channel = channel}, {title = title}, {title = title, author = author}

    new document ─ values ─> segments of the index ─┬─ a class ends with the edge     the pair, and the class
                         (`pair_candidates.py`)      └─ classes go on below it         the pair is compared

Law: `ended` has each pair (new document, other document) with each class of one edge that holds for it, and
`deeper` each pair with each edge that holds for it and with which longer classes begin, once; of edges whose
bounds of time the pair keeps. A pair whose class is decided by its first edge is never looked at again.

Cites: MMQJP 5 (R_L sliced by string value)

Equal values of new documents and of an index, as ranges of index rows instead of pairs.

The index of held documents is sorted by value, within it by pattern, and within that by time:

    value  pattern        time                      a new document has value h1 at /item/channel, time 9:
    h1     /item/channel  2  4  7  8                  one segment, of the pattern /item/channel: 2 4 7 8
    h1     /item/title    5                           one of the pattern /item/title: 5
    h2     ...                                      T = 6, FOLLOWED BY: of the first, 4 7 8

What holds for a segment is looked at once for all its rows: which edge it is, and, by binary search, which
rows are near enough in time. A value that very many documents share costs a few looks, and then its matches.

Law: the rows of all segments are, for each witness that probes, the rows of the run with its value.

How frequent the edges of a document join are, by samples of the documents that arrive.

    channel = channel    1,700 matches of a document    level 6
    title = title        one match of 20 documents      level 0

Of each step a few of the new right documents are looked up in the index of left ones, those that are held and
those that arrived with them: segments say how many rows have a value, so nothing is paired. The counts are
kept in the state. An edge's *level* is the logarithm of the matches of a document, coarse enough to be
steady: all edges with less than one match in two documents are alike, however many there are. Levels order
the edges of classes: a pair of documents is formed by the rarest edge of a class, so a value that very many
documents have costs only queries that ask for nothing rarer.

Law: no answer depends on levels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.documents.held_documents import (
    INDEX_DOCUMENT,
    INDEX_PATTERN,
    FlatWitnesses,
    NewDocuments,
    spread,
)
from seine.operators.documents.join_classes import (
    PATTERN_BITS,
    JoinClasses,
    RankedClasses,
    known_places,
    time_apart,
)
from seine.operators.state.sorted_run import ProbeKeys, SortedRun
from seine.operators.state.work_budget import spend_candidates
from seine.rows.grouping import ranges


class ValueSegments(NamedTuple):
    """Ranges [low, high) of rows of a run with one value and one pattern, each beside a probing witness."""

    probe: IntArray
    low: IntArray
    high: IntArray

    def take(self, places: IntArray) -> ValueSegments:
        return ValueSegments(*(column[places] for column in self))


def segments_of(run: SortedRun, probe: ProbeKeys) -> ValueSegments:
    """The segments of a run that have the values of a probe."""
    pattern = run.batch[INDEX_PATTERN].to_numpy()
    left = ValueSegments(*run.key_ranges(probe))
    pieces = []
    while len(left.probe):  # once for each pattern of the value with the most
        ends = left.high.copy()
        here = pattern[left.low]
        mixed = np.flatnonzero(pattern[left.high - 1] != here)
        if len(mixed):
            ends[mixed] = _first(left.low[mixed], ends[mixed], _above(pattern, here[mixed]))
        pieces.append(left._replace(high=ends))
        left = left._replace(low=ends).take(np.flatnonzero(ends < left.high))
    if not pieces:
        return left
    return ValueSegments(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def near_in_time(
    segments: ValueSegments, starts: IntArray, times: IntArray, low: IntArray, high: IntArray
) -> tuple[ValueSegments, IntArray]:
    """The parts of segments whose rows begin `low` to `high` after the times of their witnesses.

    `starts` are the times of all rows of the run; the others are those of each segment. Segments without
    such rows are left out: what comes with the rest is their places.
    """
    first, last = segments.low.copy(), segments.high.copy()
    early = np.flatnonzero(time_apart(times, starts[first]) < low)
    first[early] = _first(first[early], last[early], _not_before(starts, times[early], low[early]))
    late = np.flatnonzero(time_apart(times, starts[segments.high - 1]) > high)
    last[late] = _first(first[late], last[late], _not_before(starts, times[late], high[late] + 1))
    near = np.flatnonzero(first < last)
    return ValueSegments(segments.probe[near], first[near], last[near]), near


def _first(low: IntArray, high: IntArray, holds: Callable[[IntArray], BoolArray]) -> IntArray:
    """The first place in each range [low, high) from which on something holds; `high` if there is none."""
    last = int(high.max(initial=1)) - 1
    while (low < high).any():
        middle = np.minimum((low + high) >> 1, last)
        inside, after = low < high, holds(middle)
        high = np.where(inside & after, middle, high)
        low = np.where(inside & ~after, middle + 1, low)
    return low


def _above(values: IntArray, bounds: IntArray) -> Callable[[IntArray], BoolArray]:
    return lambda places: values[places] > bounds


def _not_before(starts: IntArray, times: IntArray, bounds: IntArray) -> Callable[[IntArray], BoolArray]:
    return lambda places: time_apart(times, starts[places]) >= bounds


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


_SAMPLED_DOCUMENTS = 64  # of one step
_MOST_DOCUMENTS_COUNTED = 2_048  # then older samples count half
_LEAST_MATCHES = 4  # fewer may be chance


class EdgeFrequency:
    """The counts of one orientation, in the state of its join."""

    def __init__(self, classes: JoinClasses, kept: dict[str, Any]) -> None:
        self._classes, self._counts = classes, kept
        kept.setdefault("documents", 0)
        kept.setdefault("edges", {})

    def sample(self, right: NewDocuments, fresh: SortedRun | None, held: Iterable[SortedRun]) -> None:
        """Look new right documents up in the index of left ones, of the same step and of earlier ones."""
        chosen = np.argsort(right.keys, kind="stable")[:_SAMPLED_DOCUMENTS]
        witnesses = right.witnesses.at(chosen)
        witnesses = witnesses.take(known_places(witnesses.pattern, self._classes.right_patterns))
        probe = ProbeKeys(spread(witnesses.value))
        matches = np.zeros(len(self._classes.codes), np.int64)
        for run in held:
            matches += self._matches(run, witnesses, probe)
        if fresh is not None:
            matches += self._matches(fresh, witnesses, probe, right.keys[chosen])
        self._add(matches, len(chosen))

    def _matches(
        self, run: SortedRun, witnesses: FlatWitnesses, probe: ProbeKeys, documents: IntArray | None = None
    ) -> IntArray:
        """How many rows of a run match along each edge; `documents` if some may be the sampled ones."""
        segments = segments_of(run, probe)
        left = run.batch[INDEX_PATTERN].to_numpy()[segments.low]
        edges = self._classes.places(left, witnesses.pattern[segments.probe])
        sizes = segments.high - segments.low
        if documents is not None:
            ours = documents[witnesses.document[segments.probe]]
            for numbers, rows in ranges(segments.low, segments.high):
                itself = run.batch[INDEX_DOCUMENT].to_numpy()[rows] == ours[numbers]
                sizes -= np.bincount(numbers[itself], minlength=len(sizes))
        known = edges >= 0
        counts = np.bincount(edges[known], sizes[known], len(self._classes.codes))
        return counts.astype(np.int64)

    def _add(self, matches: IntArray, documents: int) -> None:
        counts = self._counts
        if counts["documents"] > _MOST_DOCUMENTS_COUNTED:
            counts["documents"] //= 2
            counts["edges"] = {code: count // 2 for code, count in counts["edges"].items() if count > 1}
        counts["documents"] += documents
        hit = np.flatnonzero(matches)
        for code, number in zip(self._classes.codes[hit].tolist(), matches[hit].tolist(), strict=True):
            counts["edges"][str(code)] = counts["edges"].get(str(code), 0) + number

    def levels(self) -> IntArray:
        """The level of each edge."""
        classes, counts = self._classes, self._counts
        levels = np.zeros(len(classes.codes), np.int64)
        matched = {int(code): n for code, n in counts["edges"].items() if n >= _LEAST_MATCHES}
        if matched:
            codes = np.array(sorted(matched), np.int64)
            each = np.array([matched[code] for code in codes.tolist()]) / max(counts["documents"], 1)
            places = np.searchsorted(classes.codes, codes)
            places[places == len(classes.codes)] = 0
            known = classes.codes[places] == codes
            steps = np.ceil(np.maximum(np.log2(each) + 1, 0) / 2).astype(np.int64)
            levels[places[known]] = steps[known]
        return levels
