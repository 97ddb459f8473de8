"""Our join of documents on the workloads of MMQJP: one index over the queries of all templates.

What is timed is a whole step of the operator that users run: probing, edges of pairs, the tree of classes,
and also holding the new documents, which the paper's engines do beside the clock. R_out is there, as arrays
of document, document and class, and is counted; rows that carry both documents are not made of it, and
nothing is completed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from benchmarks.sides.on_templates import MatchCost
from benchmarks.template_engines.template_relation import TemplateRelation
from benchmarks.template_engines.witness_relations import DocumentBatch
from seine.algebra.arrays import IntArray
from seine.graph.node import Port
from seine.operators.documents.document_join import DocumentJoinNode, DocumentJoinOperator, OtherDocuments
from seine.operators.documents.join_classes import NO_TIME_BOUND, JoinClasses, Orientation
from seine.operators.documents.operand_rows import OPERAND, PAIR
from seine.operators.documents.pair_candidates import PairClasses, ProbingWitnesses
from seine.operators.state.sorted_run import KEY
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, data_names
from seine.rows.hashing import mix

_STREAM = "s"


class _HoldingOnly(DocumentJoinOperator):
    """The operator without its joining half: it fills the store as a long stream before would have."""

    def _joined(self, *_: object) -> Iterator[Delta]:
        return iter(())


class _CountingOnly(DocumentJoinOperator):
    """The operator without its last step: R_out is counted, not written."""

    def __init__(self, node: DocumentJoinNode, orientation: Orientation, weights: IntArray) -> None:
        super().__init__(node, [orientation], 1)
        self._weights = weights
        self.matched = self.records = 0

    def _rows(self, probe: ProbingWitnesses, pairs: PairClasses, others: OtherDocuments) -> Iterator[Delta]:
        self.matched += len(pairs.new)
        self.records += int(self._weights[probe.classes.classes.tags[pairs.class_]].sum())
        return iter(())


class DocumentJoinSide:
    """The operator of one document join in one bucket, fed with witness relations."""

    def __init__(
        self, relations: Sequence[TemplateRelation], pair_codes: Mapping[tuple[str, str], int]
    ) -> None:
        self._patterns, self._pattern_of_pair = _patterns(pair_codes)
        weights = np.concatenate([relation.weights for relation in relations])
        classes = JoinClasses(_class_rows(relations, self._pattern_of_pair))
        port = Port(0, OPERAND, (_STREAM,), broadcast=True)
        node = DocumentJoinNode(1, (port,), PAIR, (), (_STREAM,), (), 0, 1, "", classes=0)
        self._operator = _CountingOnly(node, Orientation(0, 0, classes), weights)
        self._holding = _HoldingOnly(node, [Orientation(0, 0, classes)], 1)
        self._store = MemoryStore()

    def hold(self, rows: pa.RecordBatch, watermark: int) -> None:
        """Take documents in without matching them with one another."""
        for _ in self._holding.step([[Delta(rows)]], Clock({_STREAM: watermark}), self._store):
            raise AssertionError("held documents bring no results")

    def step(self, rows: pa.RecordBatch, watermark: int) -> tuple[int, int]:
        """Take documents in; returns how many rows of R_out and how many records they bring."""
        before = self._operator.matched, self._operator.records
        for _ in self._operator.step([[Delta(rows)]], Clock({_STREAM: watermark}), self._store):
            raise AssertionError("R_out is counted, not written")
        return self._operator.matched - before[0], self._operator.records - before[1]

    def operands(self, batch: DocumentBatch) -> pa.RecordBatch:
        """Documents as a witness node gives them, routed to their only bucket."""
        pattern = self._patterns[batch.pairs.pair]
        kept = np.flatnonzero(pattern >= 0)
        document, pattern = batch.pairs.document[kept] - batch.first, pattern[kept]
        strings = _strings(batch, batch.pairs.document[kept], batch.pairs.node[kept])
        order = np.argsort(document, kind="stable")
        counts = np.bincount(document, minlength=len(batch.timestamps))
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        numbers = np.arange(batch.first, batch.first + len(batch.timestamps))
        zeros = pa.array(np.zeros(len(numbers), np.int64))
        columns = [
            *(pa.array(mix(numbers.view(np.uint64)).view(np.int64)), pa.array(batch.timestamps)),
            pa.array(np.full(len(numbers), FOREVER)),
            *(pa.array([""] * len(numbers)), pa.array(numbers), zeros, zeros),
            *(pa.ListArray.from_arrays(offsets, pa.array(one[order])) for one in (pattern, strings)),
        ]
        return pa.RecordBatch.from_arrays(columns, [KEY, "_s", "_e", *data_names(len(OPERAND))])


def join_cost(side: DocumentJoinSide, held: DocumentBatch, batches: Sequence[DocumentBatch]) -> MatchCost:
    """The cost of batches that arrive when others are held."""
    side.hold(side.operands(held), int(held.timestamps[-1]))
    seconds = rows = records = 0.0
    for batch in batches:
        operands = side.operands(batch)
        began = time.process_time()
        matched, reported = side.step(operands, int(batch.timestamps[-1]))
        seconds += time.process_time() - began
        rows, records = rows + matched, records + reported
    items = sum(len(batch.timestamps) for batch in batches)
    return MatchCost(1e6 * seconds / items, rows / items, records / items)


def _patterns(pair_codes: Mapping[tuple[str, str], int]) -> tuple[IntArray, dict[int, int]]:
    """For each pair of variables the number of its lower variable, at one pair of those with it; else -1."""
    numbers: dict[str, int] = {}
    of_pair = {code: numbers.setdefault(name, len(numbers)) for (_, name), code in pair_codes.items()}
    once = np.full(max(of_pair) + 1, -1)
    for code, number in of_pair.items():
        if number not in once:
            once[code] = number
    return once, of_pair


def _class_rows(
    relations: Sequence[TemplateRelation], of_pair: Mapping[int, int]
) -> list[tuple[int, str, int, int]]:
    """A class for each row of R_T: its value joins as edges, and its window."""
    rows: list[tuple[int, str, int, int]] = []
    for relation in relations:
        lefts = len(relation.template.left)
        for pairs, window in zip(relation.pairs.tolist(), relation.windows.tolist(), strict=True):
            joins = [(of_pair[pairs[a]], of_pair[pairs[b + lefts]]) for a, b in relation.template.value_joins]
            edges = " ".join(sorted(f"{left}:{right}" for left, right in joins))
            rows.append((len(rows), edges, 1, min(window, NO_TIME_BOUND)))
    return rows


def _strings(batch: DocumentBatch, documents: IntArray, nodes: IntArray) -> IntArray:
    """The strings of nodes."""
    width = int(max(batch.strings.node.max(), nodes.max())) + 1
    keys = batch.strings.document * width + batch.strings.node
    order = np.argsort(keys)
    strings: IntArray = batch.strings.string[order][np.searchsorted(keys[order], documents * width + nodes)]
    return strings
