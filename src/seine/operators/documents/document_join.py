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

The documents that new ones of a step are paired with, found by key: held ones, and those new as well.

The edges that hold for pairs of documents: which patterns of the two have a value in common.

    left   (title, h1) (author, h2) (author, h3)
    right  (title, h1) (name, h3)                     edges: title = title, author = name

Law: edge (p, q) holds for a pair if a witness of its left document at p and one of its right document at q
have the same hash; each edge is given once, whatever the number of such witnesses.

The node of a join of documents by equal string values, for the queries of all templates at once.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]

    source ── witness ──┐ broadcast
                        document join (classes: //book//author = //blog//author, ...) ── pairs ── complete
    source ── witness ──┘ broadcast      one port if both are the same
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.documents.held_documents import (
    NO_REACH,
    FlatWitnesses,
    HeldDocuments,
    NewDocuments,
    NewIndexes,
    PathReach,
    digest_of,
    narrow,
)
from seine.operators.documents.join_classes import (
    JoinClasses,
    Orientation,
    RankedClasses,
    known_places,
    time_apart,
)
from seine.operators.documents.operand_rows import (
    ARRIVAL,
    CONTENT,
    IDENTITY,
    LATEST,
    OPERAND,
    PATTERNS,
    VALUES,
    ListedClasses,
    TagBytes,
    bounded_pairs,
    column,
    owners_of,
)
from seine.operators.documents.pair_candidates import (
    DeeperPairs,
    EdgeFrequency,
    PairCandidates,
    PairClasses,
    ProbingWitnesses,
)
from seine.operators.state.sorted_run import SortedRun, take_rows
from seine.operators.state.store import Store
from seine.operators.state.work_budget import NodeFault, byte_account, spend_candidates
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import Delta, coalesce, concat_batches, data_names
from seine.rows.grouping import ranges
from seine.rows.hashing import bucket_of, mix


@dataclass(frozen=True)
class DocumentJoinNode(StatefulNode):
    """Pairs of documents, with the classes of queries whose edges hold for them; one port, or two.

    A row of the table `classes` is (class, orientation, edges, low, high): see `join_classes.py`.
    """

    kind = "documents"
    is_join = True
    classes: int

    def make_operator(self, flow: HostFlow) -> DocumentJoinOperator:
        rows = [*flow.tables[self.classes].rows.values()]
        orientations = [
            Orientation(
                orientation,
                len(self.ports) - 1 - orientation,
                JoinClasses([(row[0], *row[2:]) for row in rows if row[1] == orientation]),
            )
            for orientation in range(len(self.ports))
        ]
        used = [orientation for orientation in orientations if len(orientation.classes.tags)]
        return DocumentJoinOperator(self, used, flow.buckets, flow.tables[self.classes])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.classes,)

    def signature(self, standing: NodesView) -> Signature:
        return document_join_signature(self.inputs, self.owner)


def document_join_signature(inputs: tuple[int, ...], owner: str) -> Signature:
    """The join of what two nodes give, in either order."""
    return ("documents", *inputs, owner)


_CLASS = 0  # a column of the table of classes
_MOST_PAIRS_AT_ONCE = 16_384  # pairs whose edges are compared together
_LEAST_PAIRS_OF_BATCH = 1 << 16  # pairs and classes that are passed on together, unless they are the last


class DocumentJoinOperator:
    """A document join in one bucket."""

    def __init__(
        self,
        node: DocumentJoinNode,
        orientations: Sequence[Orientation],
        buckets: int,
        table: ParameterTable | None = None,
    ) -> None:
        """`table` has the queries of classes: if matches are too many, those of the heaviest edge fail."""
        self._node, self._orientations, self._buckets = node, orientations, buckets
        self._table = table or ParameterTable(())
        self._ports = range(len(node.ports))

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        return tuple(data_names(len(OPERAND)))

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        held = [HeldDocuments(store, port) for port in self._ports]
        new = [_arrivals(inputs[port]) for port in self._ports]
        homes = [None if one is None else self._at_home(one, store) for one in new]
        bounds = [clock.low(self._node.ports[-1 - port].streams) for port in self._ports]
        indexes = [self._indexes(*one) for one in zip(self._ports, new, homes, bounds, strict=True)]
        yield from coalesce(
            chain.from_iterable(
                self._joined(orientation, new, indexes, held, store) for orientation in self._orientations
            )
        )
        for port, bound in enumerate(bounds):
            if (one := new[port]) is not None and (home := homes[port]) is not None and len(home):
                held[port].add(one, home, indexes[port], bound)
            came = 0 if (home := homes[port]) is None else len(home)
            narrow(held[port], store, port, self._sides(port), self._digest, came)
            held[port].settle(bound)

    def _sides(self, port: int) -> tuple[PathReach, PathReach]:
        """How far the paths of a port reach, as left operands and as right ones."""
        left = right = NO_REACH
        for orientation in self._orientations:
            classes = orientation.classes
            if orientation.left == port:
                left = PathReach(classes.left_patterns, classes.left_reach)
            if orientation.right == port:
                right = PathReach(classes.right_patterns, classes.right_reach)
        return left, right

    @cached_property
    def _digest(self) -> str:
        return digest_of(side for port in self._ports for side in self._sides(port))

    def state_rows(self, store: Store) -> int:
        return sum(self.state_by_port(store))

    def state_by_port(self, store: Store) -> list[int]:
        """How many documents are held of each port."""
        return [HeldDocuments(store, port).documents.rows for port in self._ports]

    def _at_home(self, new: NewDocuments, store: Store) -> IntArray:
        """The places of the documents that are kept in this bucket."""
        return np.flatnonzero(bucket_of(new.keys, self._buckets) == store.bucket)

    def _indexes(self, port: int, new: NewDocuments | None, home: IntArray | None, bound: int) -> NewIndexes:
        """The indexes of the new documents of a port that are kept here; right ones are probed later."""
        left = right = None
        if new is None or home is None or not len(home):
            return NewIndexes(None, None)
        for orientation in self._orientations:
            classes = orientation.classes
            if orientation.left == port:
                left = new.index(classes.left_patterns, classes.left_reach, home)
            if orientation.right == port:
                right = new.index(classes.right_patterns, classes.right_reach, home, bound)
        return NewIndexes(left, right)

    def _joined(
        self,
        orientation: Orientation,
        new: Sequence[NewDocuments | None],
        indexes: Sequence[NewIndexes],
        held: Sequence[HeldDocuments],
        store: Store,
    ) -> Iterator[Delta]:
        """The pairs of one orientation: new right documents with all left, new left with old right ones."""
        left, right = new[orientation.left], new[orientation.right]
        fresh = indexes[orientation.left]
        classes = self._ranked(orientation, right, fresh, held[orientation.left], store)
        matches = np.zeros(len(orientation.classes.codes), np.int64)
        try:
            if right is not None:
                same = orientation.left == orientation.right and bool((classes.classes.low <= 0).any())
                probe = ProbingWitnesses(classes, right, is_left=False, same=same)
                others = OtherDocuments(held[orientation.left], left)
                older = held[orientation.left].left.overlapping(*probe.life)
                runs: Iterator[SortedRun] = chain([] if fresh.left is None else [fresh.left], older)
                yield from self._formed(probe, runs, others, matches)
            if left is not None:
                probe = ProbingWitnesses(classes, left, is_left=True, same=False)
                others = OtherDocuments(held[orientation.right], None)
                runs = held[orientation.right].right.overlapping(*probe.life)
                yield from self._formed(probe, runs, others, matches)
        except NodeFault as fault:
            owners = owners_of(self._table, _CLASS, classes.heaviest(matches))
            if not owners:
                raise
            raise NodeFault(fault.kind, fault.reason, queries=owners) from None

    def _ranked(
        self,
        orientation: Orientation,
        right: NewDocuments | None,
        fresh: NewIndexes,
        held: HeldDocuments,
        store: Store,
    ) -> RankedClasses:
        """The classes with their edges in order of frequency, after a look at the new documents."""
        kept = store.head.setdefault("frequency", {}).setdefault(str(orientation.left), {})
        frequency = EdgeFrequency(orientation.classes, kept)
        if right is not None:
            frequency.sample(right, fresh.left, held.left.overlapping())
        return orientation.classes.ranked(frequency.levels())

    def _formed(
        self, probe: ProbingWitnesses, runs: Iterable[SortedRun], others: OtherDocuments, matches: IntArray
    ) -> Iterator[Delta]:
        """The pairs of new documents with those of an index; counts the matches of each edge on the way."""
        candidates = PairCandidates(probe, matches)
        ended = candidates.ended(runs)
        compared = (_compared(probe, pairs, others) for pairs in candidates.deeper(_MOST_PAIRS_AT_ONCE))
        for pairs in _gathered(chain(ended, compared)):
            yield from self._rows(probe, pairs, others)

    def _rows(self, probe: ProbingWitnesses, pairs: PairClasses, others: OtherDocuments) -> Iterator[Delta]:
        """Rows of pairs, left and right documents side by side, each with the classes that want it."""
        codes, numbers, known = _pair_codes(pairs)
        order = np.lexsort((pairs.class_, codes))
        firsts = _firsts(codes[order])
        documents = probe.new.batch, others.rows(known, probe.new.batch.schema.names)
        places = pairs.new[order[firsts]], numbers[order[firsts]]
        listed = ListedClasses(probe.classes.classes.tags, pairs.class_[order], np.append(firsts, len(order)))
        account = byte_account(self._node.id, partial(TagBytes, self._table, _CLASS))
        for mine, theirs, lists in bounded_pairs(documents, places, listed, account):
            yield Delta(_pair_rows(*((mine, theirs) if probe.is_left else (theirs, mine)), lists))


def _arrivals(pieces: Sequence[Delta]) -> NewDocuments | None:
    batches = [delta.plus for delta in pieces if delta.plus.num_rows]
    return NewDocuments(concat_batches(batches)) if batches else None


def _compared(probe: ProbingWitnesses, pairs: DeeperPairs, others: OtherDocuments) -> PairClasses:
    """The classes of several edges that hold for pairs with their first edge."""
    known, numbers = np.unique(pairs.key, return_inverse=True)
    rows = others.rows(known, [column(PATTERNS), column(VALUES)])
    codes = pairs.new * len(known) + numbers
    firsts = _firsts(codes)  # those of one pair are together
    pair_of = np.cumsum(np.isin(np.arange(len(codes)), firsts)) - 1
    mine = probe.new.witnesses.at(pairs.new[firsts])
    theirs = FlatWitnesses.of(rows).at(numbers[firsts])
    left, right = (mine, theirs) if probe.is_left else (theirs, mine)
    starts, edges = edges_of_pairs(left, right, len(firsts), probe.classes)
    at, classes = probe.classes.tree.below(
        pairs.node, starts[:-1][pair_of], starts[1:][pair_of], edges, pairs.apart
    )
    return PairClasses(pairs.new[at], pairs.key[at], classes)


def _gathered(pieces: Iterable[PairClasses]) -> Iterator[PairClasses]:
    """Pieces put together until they are worth a batch."""
    waiting: list[PairClasses] = []
    for piece in pieces:
        if len(piece.new):
            waiting.append(piece)
        if sum(len(one.new) for one in waiting) >= _LEAST_PAIRS_OF_BATCH:
            yield _concatenated(waiting)
            waiting = []
    if waiting:
        yield _concatenated(waiting)


def _concatenated(pieces: list[PairClasses]) -> PairClasses:
    return pieces[0] if len(pieces) == 1 else PairClasses(*map(np.concatenate, zip(*pieces, strict=True)))


def _pair_codes(pairs: PairClasses) -> tuple[IntArray, IntArray, IntArray]:
    """A number for each pair; the number of its other document; and the keys of these by number."""
    known, numbers = np.unique(pairs.key, return_inverse=True)
    return pairs.new * len(known) + numbers, numbers, known


def _firsts(codes: IntArray) -> IntArray:
    """Where a code begins that differs from the one before."""
    differs = np.ones(len(codes), bool)
    differs[1:] = codes[1:] != codes[:-1]
    return np.flatnonzero(differs)


def _pair_rows(left: pa.RecordBatch, right: pa.RecordBatch, classes: pa.Array) -> pa.RecordBatch:
    times = [side["_s"].to_numpy() for side in (left, right)]
    ends = np.minimum(left["_e"].to_numpy(), right["_e"].to_numpy())
    arrival = np.minimum(*(side[column(ARRIVAL)].to_numpy() for side in (left, right)))
    latest = np.maximum(*(side[column(LATEST)].to_numpy() for side in (left, right)))
    columns = [
        pa.array(np.maximum(*times)),
        pa.array(ends),
        pa.array(time_apart(*times)),
        pa.array(arrival),
        pa.array(latest),
        left["_s"],
        right["_s"],
        classes,
        *(side[column(CONTENT)] for side in (left, right)),
        *(side[column(IDENTITY)] for side in (left, right)),
    ]
    return pa.RecordBatch.from_arrays(columns, ["_s", "_e", *data_names(len(columns) - 2)])


class OtherDocuments:
    """The documents that new ones are paired with: held ones, and those that arrived in the same step."""

    def __init__(self, held: HeldDocuments, fresh: NewDocuments | None) -> None:
        self._held, self._fresh = held, fresh

    def rows(self, keys: IntArray, columns: list[str]) -> pa.RecordBatch:
        """These columns of the documents of keys, in their order; all of them are there."""
        pieces, at = [], []
        if self._fresh is not None:
            order = np.argsort(self._fresh.keys, kind="stable")
            spots = np.minimum(np.searchsorted(self._fresh.keys[order], keys), len(order) - 1)
            hit = np.flatnonzero(self._fresh.keys[order[spots]] == keys)
            pieces.append(take_rows(self._fresh.batch.select(columns), order[spots[hit]]))
            at.append(hit)
        for hit, rows in self._held.find(keys, columns):
            pieces.append(rows)
            at.append(hit)
        row_of = np.full(len(keys), -1)
        row_of[np.concatenate(at)] = np.arange(sum(map(len, at)))
        if (row_of < 0).any():
            raise RuntimeError("a document was purged before its index rows")
        return take_rows(concat_batches(pieces), row_of)


_SPREAD = np.int64(-7046029254386353131)  # the increment of splitmix64, as a signed number


def edges_of_pairs(
    left: FlatWitnesses, right: FlatWitnesses, count: int, ranked: RankedClasses
) -> tuple[IntArray, IntArray]:
    """The edges of `count` pairs: those of pair i are at [firsts[i], firsts[i + 1]), ascending.

    Document i of each side belongs to pair i.
    """
    classes = ranked.classes
    left = left.take(known_places(left.pattern, classes.left_patterns))
    right = right.take(known_places(right.pattern, classes.right_patterns))
    keys = _keys(right)
    order = np.argsort(keys, kind="stable")
    ordered, probe = keys[order], _keys(left)
    codes = [np.zeros(0, np.int64)]
    width = max(len(classes.codes), 1)
    low, high = np.searchsorted(ordered, probe), np.searchsorted(ordered, probe, "right")
    for ours, theirs in ranges(low, high):
        spend_candidates(len(ours))
        others = order[theirs]
        rank = ranked.ranks(left.pattern[ours], right.pattern[others])
        held = (
            (rank >= 0)
            & (left.document[ours] == right.document[others])
            & (left.value[ours] == right.value[others])
        )
        codes.append(np.unique(left.document[ours[held]] * width + rank[held]))
    whole = np.unique(np.concatenate(codes))
    return np.searchsorted(whole, np.arange(count + 1) * width), whole % width


def _keys(witnesses: FlatWitnesses) -> IntArray:
    """One number for pair and value."""
    return mix((witnesses.document * _SPREAD + witnesses.value).view(np.uint64)).view(np.int64)
