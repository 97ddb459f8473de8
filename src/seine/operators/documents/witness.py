"""Stage 1: which path patterns of all queries a document satisfies, and with which string values.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]

    <book><author>Ann</author><author>Bob</author></book>     patterns   1  //book//author
                                                                         2  //blog//author
    operand: the document, witnesses (1, hash of "Ann") (1, hash of "Bob")

Law: an operand has a witness (p, hash(v)) for each row p of the table whose path leads to a node with the
string value v; predicates are not asked. A document without a witness goes nowhere. Without state: it
runs where the document is read, once for all queries.

Cites: MMQJP 3.1 (R_binW, R_docW)
Differs: a witness is a value at a path, not a pair of nodes: structure is checked on whole blocks at the end.

The step of a witness node: documents become operands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.documents.path_witnesses import PathWitnesses, WitnessFinder
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.documents.operand_rows import OPERAND
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import ARRIVAL_NUMBER, Delta, data_names
from seine.rows.hashing import mix


@dataclass(frozen=True)
class WitnessNode(StatelessNode):
    """The documents of one column of a stream, each with its witnesses; a row of `patterns` is a path.

    `arrival` is the column with the epochs of documents, in a live network.
    """

    kind = "witness"
    numbered = True
    patterns: int
    column: int
    arrival: int | None
    any_namespace: bool

    def make_step(self, port: int, flow: HostFlow) -> WitnessStep:
        return WitnessStep(self, flow.tables[self.patterns])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.patterns,)

    def signature(self, standing: NodesView) -> Signature:
        return witness_signature(self.inputs[0], self.column, self.any_namespace, self.owner)


def witness_signature(documents: int, column: int, any_namespace: bool, owner: str) -> Signature:
    return ("witness", documents, column, any_namespace, owner)


class WitnessStep:
    """Finds the witnesses of each document, in one pass for all patterns."""

    def __init__(self, node: WitnessNode, table: ParameterTable) -> None:
        self._node = node
        patterns = {
            number: tuple((axis, name, bool(is_attribute)) for axis, name, is_attribute in json.loads(path))
            for number, (path,) in table.rows.items()
        }
        self._finder = WitnessFinder(patterns, node.any_namespace)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        batch = arrived.delta.plus
        witnesses = self._finder.find(batch[f"c{self._node.column}"].to_pylist())
        if len(witnesses.patterns):
            flow.push(self._node.id, Delta(self._operands(batch, witnesses)), emission)

    def _operands(self, batch: pa.RecordBatch, witnesses: PathWitnesses) -> pa.RecordBatch:
        """The documents that have witnesses."""
        counts = np.diff(witnesses.offsets)
        rows = batch.take(pa.array(np.flatnonzero(counts)))
        offsets = pa.array(np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int32))
        place = self._node.arrival
        arrival = pa.array(np.zeros(rows.num_rows, np.int64)) if place is None else rows[f"c{place}"]
        columns = [
            rows["_s"],
            rows["_e"],
            rows[f"c{self._node.column}"],
            self._identities(rows),
            arrival,
            arrival,
            pa.ListArray.from_arrays(offsets, pa.array(witnesses.patterns)),
            pa.ListArray.from_arrays(offsets, pa.array(witnesses.values)),
        ]
        return pa.RecordBatch.from_arrays(columns, ["_s", "_e", *data_names(len(OPERAND))])

    def _identities(self, rows: pa.RecordBatch) -> pa.Array:
        """One number for each document: unlike those of its stream and column, by a hash unlike others.

        A tuple may have several documents, and two queries may publish results that are alike.
        """
        numbers = rows[ARRIVAL_NUMBER].to_numpy()
        place = np.array([self._node.inputs[0], self._node.column], np.uint64)
        salt = mix(mix(place[:1]) + place[1:])
        return pa.array(mix(numbers.view(np.uint64) ^ salt).view(np.int64))
