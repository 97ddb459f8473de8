"""Index join of rows with the tuples of a relation, which are always alive.

Law: lookup(rows) = {row + tuple | row_key = relation_key, a filter holds}, of plus and minus alike. A row
keeps its lifetime and identity; if it meets several tuples they share it, and end together. Without state:
the relation is an index that its host has (`relation_index.py`).

    SELECT ... FROM transactions t JOIN customers c ON t.customer = c.id
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Expression
from seine.operators.join.combination import GatheredRows, PairProjection, key_columns
from seine.operators.match.any_of import AnyOf
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.sorted_run import KEY
from seine.operators.step.working_nodes import AnyOutput, ArrivedDelta, Pushing
from seine.rows.delta import Delta, carried_names, coalesce

if TYPE_CHECKING:
    from seine.operators.join.lookup_node import LookupNode

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
