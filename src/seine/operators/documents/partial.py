"""Partial combinations of a chain of joins as operands of its next join.

    a JOIN{x = y, 5} b JOIN{y = z, 9} c        (a JOIN b) is a hidden publication that carries its variables

    complete ── partial (x, y of a with b) ──┐
                                             document join ── complete ── deliver
    source ──── witness ─────────────────────┘

Law: a result with the tag of a row of the table, within the row's bounds of time, has a witness (number of
the row, hash of the string of the row's variable). Without state.

Differs: MMQJP says of several operators only that it "can be extended" (3).

The step of a partial node: results become operands, with the strings of their variables as witnesses.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from seine.documents.path_witnesses import LONGEST_HASHED
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.documents.operand_bindings import PartialCombination
from seine.operators.documents.operand_rows import (
    APART,
    DOCUMENT,
    OPERAND,
    RESULT_ARRIVAL,
    RESULT_LATEST,
    TAG,
    column,
)
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.column_arrays import as_lists
from seine.rows.delta import ARRIVAL_NUMBER, Delta, data_names
from seine.rows.hashing import hash_columns
from seine.typed_json import json_decoder


@dataclass(frozen=True)
class PartialNode(StatelessNode):
    """Combinations on their way to a further join; a row of `variables` is (tag, low, high, variable)."""

    kind = "partial"
    variables: int

    def make_step(self, port: int, flow: HostFlow) -> PartialStep:
        return PartialStep(self, flow.tables[self.variables])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.variables,)

    def signature(self, standing: NodesView) -> Signature:
        return partial_signature(self.inputs[0], self.owner)


def partial_signature(results: int, owner: str) -> Signature:
    return ("partial", results, owner)


class PartialStep:
    """Gives each combination the witnesses of the chains that join it further."""

    def __init__(self, node: PartialNode, table: ParameterTable) -> None:
        self._node = node
        self._rows: dict[int, list[tuple[int, int, int, str]]] = {}
        for number, (tag, low, high, variable) in table.rows.items():
            self._rows.setdefault(tag, []).append((number, low, high, variable))

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        batch = arrived.delta.plus
        places: list[int] = []
        patterns: list[list[int]] = []
        values: list[str] = []
        names = map(column, (TAG, APART, DOCUMENT))
        for place, (tag, apart, text) in enumerate(
            zip(*(batch[name].to_pylist() for name in names), strict=True)
        ):
            wanted = [row for row in self._rows.get(tag, ()) if row[1] <= apart <= row[2]]
            if wanted:
                options = json_decoder(PartialCombination).decode(text).options
                pairs = {(row[0], option[row[3]][:LONGEST_HASHED]) for row in wanted for option in options}
                places.append(place)
                patterns.append([number for number, _ in sorted(pairs)])
                values += [value for _, value in sorted(pairs)]
        if places:
            rows = batch.take(pa.array(places))
            lists = as_lists(pa.array(patterns, pa.list_(pa.int64())))
            hashes = hash_columns([pa.array(values, pa.large_string())], len(values))
            columns = [
                *(rows[name] for name in ("_s", "_e", column(DOCUMENT), ARRIVAL_NUMBER)),
                *(rows[column(one)] for one in (RESULT_ARRIVAL, RESULT_LATEST)),
                lists,
                pa.ListArray.from_arrays(lists.offsets, pa.array(hashes)),
            ]
            operands = pa.RecordBatch.from_arrays(columns, ["_s", "_e", *data_names(len(OPERAND))])
            flow.push(self._node.id, Delta(operands), emission)
