"""Sequential evaluation: each query joins by itself, one after the other. The yardstick of sharing.

A query keeps the tuples of its left block sorted by a hash of all strings that its value joins compare. The
tuples of its right block in arriving documents probe that index, whole batches at a time; what is hit is
compared for real. Tuples of blocks are shared, as Stage 1 is in the paper, and indexes are made as
documents are held: neither counts as matching.

Cites: MMQJP 4, 6.1 (Sequential)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.block_tuples import BlockTuples, QueryBlock, block_tuples
from benchmarks.template_engines.join_state import JoinState
from benchmarks.template_engines.packed_keys import join
from benchmarks.template_engines.result_relation import ResultRelation
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.window_check import within_window
from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import DocumentBatch
from seine.algebra.arrays import IntArray, UIntArray

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd: 2**64 divided by the golden ratio


@dataclass
class SingleQuery:
    """One query: its blocks, its window, and the index of its left tuples by all compared strings."""

    relation: TemplateRelation
    row: int
    number: int
    left: QueryBlock
    right: QueryBlock
    window: int
    alone: TemplateRelation  # with this query alone
    keys: UIntArray
    places: IntArray  # of the keys, among the tuples of the left block
    arriving: BlockTuples | None = None  # of the right block


class SequentialEngine:
    """Evaluates query by query; `hold` and `match` as in the engines by templates."""

    def __init__(self, relations: Sequence[TemplateRelation]) -> None:
        self.queries = [
            _single(relation, row, query)
            for relation in relations
            for row in range(len(relation.windows))
            for query in relation.queries[relation.offsets[row] : relation.offsets[row + 1]].tolist()
        ]
        self.state = JoinState(max(relation.widest for relation in relations))
        self._held: dict[QueryBlock, BlockTuples] = {}

    def hold(self, batch: DocumentBatch) -> WitnessIndex:
        """Take a batch into the state and the index of each query; returns R_binW and R_docW, indexed."""
        arriving = self.state.hold(batch)
        assert self.state.index is not None
        for block in {query.left for query in self.queries}:
            tuples = block_tuples(arriving, block)
            held = self._held[block].extended(tuples) if block in self._held else tuples
            self._held[block] = held.since(self.state.index.first)
        new = {block: block_tuples(arriving, block) for block in {query.right for query in self.queries}}
        for query in self.queries:
            query.arriving = new[query.right]
            keys = _keys(self._held[query.left].strings)
            query.places = np.argsort(keys, kind="stable")
            query.keys = keys[query.places]
        return arriving

    def match(self, arriving: WitnessIndex) -> list[ResultRelation]:
        """The results of each query that has any: of pairs whose right document is arriving."""
        results = []
        for query in self.queries:
            tuples = query.arriving
            if tuples is None or not len(query.keys):
                continue
            keys = _keys(tuples.strings)
            near = query.keys.take(query.keys.searchsorted(keys), mode="clip")
            hits = (near == keys).nonzero()[0]
            if len(hits):
                results += self._results(query, tuples, hits, keys[hits])
        return results

    def _results(
        self, query: SingleQuery, tuples: BlockTuples, hits: IntArray, keys: UIntArray
    ) -> list[ResultRelation]:
        """The pairs of tuples with equal strings that are within the window."""
        assert self.state.index is not None
        held = self._held[query.left]
        owners, places = join(query.keys, keys)
        left, right = query.places[places], hits[owners]
        kept = within_window(self.state.index, held.document[left], tuples.document[right], query.window)
        for ours, theirs in zip(held.strings, tuples.strings, strict=True):
            kept &= ours[left] == theirs[right]
        left, right = left[kept], right[kept]
        if not len(left):
            return []
        nodes = (*(column[left] for column in held.nodes), *(column[right] for column in tuples.nodes))
        row = np.zeros(len(left), dtype=np.int64)
        return [ResultRelation(query.alone, row, held.document[left], tuples.document[right], nodes)]


def _single(relation: TemplateRelation, row: int, number: int) -> SingleQuery:
    template = relation.template
    pairs = tuple(relation.pairs[row].tolist())
    lefts = len(template.left)
    left = QueryBlock(template.left, pairs[:lefts], tuple(a for a, _ in template.value_joins))
    right = QueryBlock(template.right, pairs[lefts:], tuple(b for _, b in template.value_joins))
    none = np.zeros(0, dtype=np.int64)
    alone = relation.single(row, number)
    return SingleQuery(
        relation, row, number, left, right, int(relation.windows[row]), alone, none.view(np.uint64), none
    )


def _keys(strings: Sequence[IntArray]) -> UIntArray:
    """A hash of the strings of each tuple; of one string, its code."""
    keys: UIntArray = strings[0].view(np.uint64)
    for column in strings[1:]:
        keys = keys * _MULTIPLIER + column.view(np.uint64)
    return keys
