"""The node of outer, semi and anti joins with a relation, which is looked up by key.

    SELECT ... FROM transactions t LEFT JOIN customers c ON t.customer = c.id

Its step is `partner_lookup.py`.

Outer, semi and anti lookups: rows are asked for partners in a relation, whose tuples are always alive.

Law: a row is in pairs with the tuples for which a condition on both holds. A semi lookup gives the rows that
are in a pair, an anti lookup those that are in none, and an outer one the pairs, and with NULLs the rows that
are in none; of plus and minus alike. Rows keep their lifetimes. Without state.

    SELECT ... FROM transactions t LEFT JOIN customers c ON t.customer = c.id
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Expression
from seine.algebra.plan import LookupKind
from seine.algebra.types import Type
from seine.evaluate.evaluate import truth
from seine.operators.group.set_operations import SetOperatorNode, merged
from seine.operators.join.combination import GatheredRows, PairColumns, key_columns
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import Delta


@dataclass(frozen=True)
class PartnerLookupNode(SetOperatorNode, StatelessNode):
    """Rows that are asked for partners in a relation; `predicate` is over the row followed by the tuple.

    `relation_key` are expressions over the relation's columns, one for each of `row_key`: the equalities of
    the predicate.
    """

    kind = "partner_lookup"
    relation: str
    relation_types: tuple[Type, ...]
    row_key: tuple[Expression, ...]
    relation_key: tuple[Expression, ...]
    predicate: Expression
    rule: str

    def make_step(self, port: int, flow: HostFlow) -> PartnerLookupStep:
        return PartnerLookupStep(self, flow.relations.index(self.relation, self.relation_key))

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    @property
    def operation(self) -> str:
        return f"{self.rule} {self.relation} {self.predicate}"


class PartnerLookupStep:
    """A lookup of partners at work."""

    def __init__(self, node: PartnerLookupNode, index: RelationIndex) -> None:
        self._node, self._index = node, index
        self._left = node.ports[0].types
        self._types = (*self._left, *node.relation_types)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        delta = arrived.delta
        minus = None if delta.minus is None else self._apply(delta.minus)
        flow.push(self._node.id, Delta(self._apply(delta.plus), minus), emission)

    def _apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What the rows of a batch become."""
        rows, tuples = self._pairs(batch)
        met = np.zeros(batch.num_rows, bool)
        met[rows] = True
        if self._node.rule == LookupKind.SEMI.value:
            return merged(self._node, 0, batch.take(pa.array(met.nonzero()[0])))
        alone = (~met).nonzero()[0]
        if self._node.rule == LookupKind.ANTI.value:
            return merged(self._node, 0, batch.take(pa.array(alone)))
        rows = np.concatenate([rows, alone])
        tuples = np.concatenate([tuples, np.full(len(alone), -1)])
        return merged(self._node, 0, self._outer(batch, rows, tuples))

    def _pairs(self, batch: pa.RecordBatch) -> tuple[AnyArray, AnyArray]:
        """The pairs of rows and tuples for which the condition holds."""
        key = key_columns(batch, self._node.row_key)
        pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for rows, tuples in self._index.candidates(key, batch.num_rows):
            sides = GatheredRows(batch, rows), GatheredRows(self._index.batch, tuples)
            columns = PairColumns(*sides, len(self._left), self._types)
            holds = truth(self._node.predicate, columns, len(rows))
            pairs.append((rows[holds], tuples[holds]))
        rows, tuples = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return rows, tuples

    def _outer(self, batch: pa.RecordBatch, rows: AnyArray, tuples: AnyArray) -> pa.RecordBatch:
        """Rows with tuples behind them; with NULLs where the tuple is -1."""
        left = batch.take(pa.array(rows))
        at = pa.array(np.maximum(tuples, 0), mask=tuples < 0)
        arrays, names = [*left.columns], [*left.schema.names]
        for index, type_ in enumerate(self._node.relation_types):
            arrays.append(self._index.batch[f"c{index}"].take(at).cast(type_.arrow()))
            names.append(f"c{len(self._left) + index}")
        return pa.RecordBatch.from_arrays(arrays, names)
