"""Index join of rows with the tuples of a relation, which are always alive (in Flink, a lookup join).

Law: lookup(rows) = {row + tuple | row_key = relation_key, a filter holds}, of plus and minus alike. A row
keeps its lifetime and identity; if it meets several tuples they share it, and end together. Without state:
the relation is an index that its host has (`relation_index.py`).

    SELECT ... FROM transactions t JOIN customers c ON t.customer = c.id
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Expression
from seine.algebra.types import Type
from seine.graph.node import FilteringNode, NodesView, Signature
from seine.operators.join.combination import GatheredRows, PairProjection, key_columns
from seine.operators.match.any_of import AnyOf, any_of
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.sorted_run import KEY
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import Delta, carried_names, coalesce


@dataclass(frozen=True)
class LookupNode(FilteringNode, StatelessNode):
    """Joins each row with the relation's tuples on equal keys.

    Filters and `out` address the row followed by the tuple.
    `relation_key` are expressions over the relation's columns, one for each of `row_key`.
    """

    kind = "lookup"
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]

    def make_step(self, port: int, flow: HostFlow) -> LookupStep:
        return LookupStep(self.id, self.make_lookup(flow))

    def make_lookup(self, flow: HostFlow) -> LookupOperator:
        """What looks rows up."""
        index = flow.relations.index(self.relation, self.relation_key)
        return LookupOperator(self, any_of(self.filters, flow.tables), index)

    def signature(self, standing: NodesView) -> Signature:
        row = standing.beneath_prefilter(self, 0)
        return lookup_signature(row, self.relation, self.row_key, self.relation_key, self.owner)

    def first_column(self, port: int) -> int:
        return 0


def lookup_signature(row: int, relation: str, row_key: Hashable, key: Hashable, owner: str) -> Signature:
    return ("lookup", row, relation, row_key, key, owner)


NO_PAIRS = (np.zeros(0, np.int64), np.zeros(0, np.int64))


class LookupOperator:
    """One lookup node with its relation; it serves any number of deltas until the relation changes."""

    def __init__(self, node: LookupNode, filters: AnyOf, relation: RelationIndex | pa.RecordBatch) -> None:
        self._key = node.row_key
        self._combination = PairProjection(
            node.ports[0].types,
            node.relation_types,
            (node.row_key, node.relation_key),
            filters,
            node.tested,
            node.out,
        )
        self._index = (
            relation if isinstance(relation, RelationIndex) else index_relation(relation, node.relation_key)
        )

    def apply(self, delta: Delta) -> Iterator[Delta]:
        """What a delta becomes, in pieces of bounded size; with or without `_k`, which is dropped."""
        if delta.minus is None:
            return coalesce(Delta(batch) for batch in self._joined(delta.plus))
        no_plus, no_minus = (self._combined(b[:0], *NO_PAIRS) for b in (delta.plus, delta.minus))
        pieces = zip_longest(self._joined(delta.plus), self._joined(delta.minus))
        return coalesce(Delta(plus or no_plus, minus or no_minus) for plus, minus in pieces)

    def _joined(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        key = key_columns(batch, self._key)
        for rows, tuples in self._index.candidates(key, batch.num_rows):
            columns = self._combination.columns(
                GatheredRows(batch, rows), GatheredRows(self._index.batch, tuples)
            )
            mask = self._combination.holds(columns, len(rows))
            if mask is not None:
                rows, tuples = rows[mask], tuples[mask]
            yield self._combined(batch, rows, tuples)

    def _combined(self, batch: pa.RecordBatch, rows: AnyArray, tuples: AnyArray) -> pa.RecordBatch:
        left, right = GatheredRows(batch, rows), GatheredRows(self._index.batch, tuples)
        named = [(name, left.column(name)) for name in carried_names(batch) if name != KEY]
        named += self._combination.output(self._combination.columns(left, right))
        return pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])


class LookupStep:
    """A lookup node at work."""

    def __init__(self, node_id: int, operator: LookupOperator) -> None:
        self._node_id = node_id
        self._operator = operator

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        for piece in self._operator.apply(arrived.delta):
            flow.push(self._node_id, piece, emission)


def index_relation(tuples: pa.RecordBatch, key: Sequence[Expression]) -> RelationIndex:
    """Sort a relation's tuples by a key, for all who look them up by it."""
    return RelationIndex(tuples, key_columns(tuples, key))
