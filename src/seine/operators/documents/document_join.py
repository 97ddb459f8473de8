"""Join of documents with equal string values: documents at home, newcomers everywhere.

Law: after every step the output so far has, once each, all pairs (l, r) of different documents, l of a port
with left operands, r of one with right operands, whose lives overlap, together with all classes of queries
whose edges hold for the pair and whose bounds of time it keeps. An edge (p, q) holds if some value that l has
at pattern p has the hash of a value that r has at q. So it is *enough*: structure, predicates and strings are
for the complete node behind it.

    new right documents ─ probe ─> left index, new ones too ─┐            pairs ─> edges of each pair
    new left documents ── probe ─> right index ──────────────┴─ pairs ──>          ─> edge tree ─> classes

Every new document comes to all buckets and is kept in one, its home, so that all values of two documents meet
in one task. A pair of which both are new is formed by the right one at the home of the left one. Pairs are
formed by first edges alone; a value that very many documents share costs only queries with no rarer edge.

Cites: MMQJP 4.4, Algorithm 1
Differs: one index over the queries of all templates instead of a conjunctive query for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.operators.documents.edge_frequency import edge_levels
from seine.operators.documents.held_documents import (
    INDEX_DOCUMENT,
    INDEX_PATTERN,
    FlatWitnesses,
    HeldDocuments,
    NewDocuments,
)
from seine.operators.documents.join_classes import Orientation, RankedClasses
from seine.operators.documents.operand_rows import ARRIVAL, CONTENT, IDENTITY, LATEST, OPERAND, column
from seine.operators.documents.pair_edges import edges_of_pairs
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import KEY, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.work_budget import NodeFault
from seine.rows.clock import Clock
from seine.rows.coalesce import coalesce
from seine.rows.delta import Delta, concat_batches, data_names
from seine.rows.hashing import bucket_of

if TYPE_CHECKING:
    from seine.operators.documents.document_join_node import DocumentJoinNode

_MOST_PAIRS_AT_ONCE = 16_384  # pairs whose edges are compared together


class _Candidates(NamedTuple):
    """Pairs of a new document, by place, and another document, by key."""

    new: IntArray
    key: IntArray


class DocumentJoinOperator:
    """A document join in one bucket."""

    def __init__(
        self,
        node: DocumentJoinNode,
        orientations: Sequence[Orientation],
        buckets: int,
        owners: Callable[[set[int]], tuple[str, ...]] | None = None,
    ) -> None:
        """`owners` are the queries of classes: if matches are too many, those of the heaviest edge fail."""
        self._node, self._orientations, self._buckets = node, orientations, buckets
        self._owners = owners
        self._ports = range(len(node.ports))

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        return tuple(data_names(len(OPERAND)))

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        held = [HeldDocuments(store, port) for port in self._ports]
        new = [_arrivals(inputs[port]) for port in self._ports]
        homes = [None if one is None else self._at_home(one, store) for one in new]
        yield from coalesce(
            chain.from_iterable(
                self._joined(orientation, new, homes, held, store) for orientation in self._orientations
            )
        )
        for port in self._ports:
            bound = clock.low(self._node.ports[len(self._node.ports) - 1 - port].streams)
            if (one := new[port]) is not None and (home := homes[port]) is not None and len(home):
                held[port].add(one, home, self._indexes(port, one, home, held[port]), bound)
            held[port].settle(bound)

    def state_rows(self, store: Store) -> int:
        return sum(self.state_by_port(store))

    def state_by_port(self, store: Store) -> list[int]:
        """How many documents are held of each port."""
        return [HeldDocuments(store, port).documents.rows for port in self._ports]

    def _at_home(self, new: NewDocuments, store: Store) -> IntArray:
        """The places of the documents that are kept in this bucket."""
        return np.flatnonzero(bucket_of(new.keys, self._buckets) == store.bucket)

    def _indexes(
        self, port: int, new: NewDocuments, home: IntArray, held: HeldDocuments
    ) -> list[tuple[Runs, pa.RecordBatch]]:
        """The index rows of new documents, as left operands and as right ones."""
        rows = []
        for orientation in self._orientations:
            classes = orientation.classes
            if orientation.left == port:
                rows.append((held.left, new.index(classes.left_patterns, classes.left_reach, home)))
            if orientation.right == port:
                rows.append((held.right, new.index(classes.right_patterns, classes.right_reach, home)))
        return rows

    def _joined(
        self,
        orientation: Orientation,
        new: Sequence[NewDocuments | None],
        homes: Sequence[IntArray | None],
        held: Sequence[HeldDocuments],
        store: Store,
    ) -> Iterator[Delta]:
        """The pairs of one orientation: new right documents with all left, new left with old right ones."""
        left, right = new[orientation.left], new[orientation.right]
        classes = orientation.classes.ranked(edge_levels(orientation, left, right, store))
        matches = np.zeros(len(orientation.classes.codes), np.int64)
        try:
            yield from self._formed(orientation, classes, (left, right), homes, held, matches)
        except NodeFault as fault:
            if self._owners is None:
                raise
            owners = self._owners(classes.heaviest(matches))
            raise NodeFault(fault.kind, fault.reason, queries=owners) from None

    def _formed(
        self,
        orientation: Orientation,
        classes: RankedClasses,
        new: tuple[NewDocuments | None, NewDocuments | None],
        homes: Sequence[IntArray | None],
        held: Sequence[HeldDocuments],
        matches: IntArray,
    ) -> Iterator[Delta]:
        """The pairs of ranked classes; counts the matches of each edge on the way."""
        (left, right), same = new, orientation.left == orientation.right
        left_patterns, right_patterns = classes.first_patterns
        if right is not None:
            probe = SortedRun.of(right.witnesses_of(right_patterns), KEY)
            fresh, home = [], homes[orientation.left]
            if left is not None and home is not None:
                fresh = [SortedRun.of(left.witnesses_of(left_patterns, home), KEY)]
            runs = chain(fresh, held[orientation.left].left.near(probe) if probe.rows else ())
            candidates = _candidates(classes, probe, runs, right, matches, probe_is_left=False, same=same)
            for rows, others in _fetched(candidates, held[orientation.left], left, right):
                yield from _pairs(classes, others, rows)
        if left is not None:
            probe = SortedRun.of(left.witnesses_of(left_patterns), KEY)
            runs = chain(held[orientation.right].right.near(probe) if probe.rows else ())
            candidates = _candidates(classes, probe, runs, left, matches, probe_is_left=True, same=False)
            for rows, others in _fetched(candidates, held[orientation.right], None, left):
                yield from _pairs(classes, rows, others)


def _arrivals(pieces: Sequence[Delta]) -> NewDocuments | None:
    batches = [delta.plus for delta in pieces if delta.plus.num_rows]
    return NewDocuments(concat_batches(batches)) if batches else None


def _candidates(
    classes: RankedClasses,
    probe: SortedRun,
    runs: Iterable[SortedRun],
    new: NewDocuments,
    matches: IntArray,
    *,
    probe_is_left: bool,
    same: bool,
) -> _Candidates:
    """The distinct pairs with a first edge of some class within its bounds of time."""
    first, low, high = classes.first_edges
    keys = [[np.zeros(0, np.int64)], [np.zeros(0, np.int64)]]
    for run in runs:
        for pairs in run.matches(probe):
            mine, theirs = (
                one.batch[INDEX_PATTERN].to_numpy()[at]
                for one, at in ((probe, pairs.probe), (run, pairs.run))
            )
            rank = classes.ranks(mine, theirs) if probe_is_left else classes.ranks(theirs, mine)
            matches += np.bincount(rank[rank >= 0], minlength=len(matches))
            apart = run.starts[pairs.run] - probe.starts[pairs.probe]
            apart = apart if probe_is_left else -apart
            wanted = (rank >= 0) & first[rank] & (low[rank] <= apart) & (apart <= high[rank])
            ours = probe.batch[INDEX_DOCUMENT].to_numpy()[pairs.probe[wanted]]
            others = run.batch[INDEX_DOCUMENT].to_numpy()[pairs.run[wanted]]
            if same:
                different = ours != others
                ours, others = ours[different], others[different]
            keys[0].append(ours)
            keys[1].append(others)
    return _distinct(np.concatenate(keys[0]), np.concatenate(keys[1]), new)


def _distinct(ours: IntArray, others: IntArray, new: NewDocuments) -> _Candidates:
    order = np.argsort(new.keys, kind="stable")
    places = order[np.searchsorted(new.keys[order], ours)] if len(ours) else ours
    known, number = np.unique(others, return_inverse=True)
    codes = np.unique(places * max(len(known), 1) + number)
    return _Candidates(codes // max(len(known), 1), known[codes % max(len(known), 1)])


def _fetched(
    candidates: _Candidates, held: HeldDocuments, fresh: NewDocuments | None, new: NewDocuments
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The rows of pairs, a bounded number at once: the new documents, and beside them the others."""
    for begin in range(0, len(candidates.key), _MOST_PAIRS_AT_ONCE):
        places, keys = (one[begin : begin + _MOST_PAIRS_AT_ONCE] for one in candidates)
        wanted, number = np.unique(keys, return_inverse=True)
        pieces, at = [], []
        if fresh is not None:
            order = np.argsort(fresh.keys, kind="stable")
            spots = np.minimum(np.searchsorted(fresh.keys[order], wanted), len(order) - 1)
            hit = np.flatnonzero(fresh.keys[order[spots]] == wanted)
            pieces.append(take_rows(fresh.batch, order[spots[hit]]))
            at.append(hit)
        for hit, rows in held.find(wanted):
            pieces.append(rows.select(new.batch.schema.names))
            at.append(hit)
        if not pieces:
            continue
        row_of = np.full(len(wanted), -1)
        row_of[np.concatenate(at)] = np.arange(sum(map(len, at)))
        rows = row_of[number]
        there = np.flatnonzero(rows >= 0)
        yield take_rows(new.batch, places[there]), take_rows(concat_batches(pieces), rows[there])


def _pairs(classes: RankedClasses, left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[Delta]:
    """Rows of pairs, left and right documents side by side, each with the classes that want it."""
    starts = [side["_s"].to_numpy() for side in (left, right)]
    apart = starts[1] - starts[0]
    firsts, edges = edges_of_pairs(FlatWitnesses.of(left), FlatWitnesses.of(right), left.num_rows, classes)
    pairs, matched = classes.tree.within(firsts, edges, apart)
    if not len(pairs):
        return
    order = np.lexsort((matched, pairs))
    rows, counts = np.unique(pairs[order], return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    tags = pa.ListArray.from_arrays(pa.array(offsets), pa.array(classes.classes.tags[matched[order]]))
    yield Delta(_pair_rows(take_rows(left, rows), take_rows(right, rows), tags))


def _pair_rows(left: pa.RecordBatch, right: pa.RecordBatch, classes: pa.Array) -> pa.RecordBatch:
    times = [side["_s"].to_numpy() for side in (left, right)]
    ends = np.minimum(left["_e"].to_numpy(), right["_e"].to_numpy())
    arrival = np.minimum(*(side[column(ARRIVAL)].to_numpy() for side in (left, right)))
    latest = np.maximum(*(side[column(LATEST)].to_numpy() for side in (left, right)))
    columns = [
        pa.array(np.maximum(*times)),
        pa.array(ends),
        pa.array(times[1] - times[0]),
        pa.array(arrival),
        pa.array(latest),
        left["_s"],
        right["_s"],
        classes,
        *(side[column(CONTENT)] for side in (left, right)),
        *(side[column(IDENTITY)] for side in (left, right)),
    ]
    return pa.RecordBatch.from_arrays(columns, ["_s", "_e", *data_names(len(columns) - 2)])
