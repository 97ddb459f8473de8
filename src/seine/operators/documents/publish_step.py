"""The step of a publish node: results that satisfy its one condition become tuples of its stream.

A result whose document is over the limits of documents (it has all that its parts have, and a root more) is
reported and not published: readers take for granted that documents are acceptable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from seine.documents.parse_document import fault_of
from seine.operators.documents.operand_rows import DOCUMENT, RESULT_LATEST, column
from seine.operators.match.filters import Tables, selection_of
from seine.operators.match.matched_rows import matched
from seine.operators.step.arrived_delta import ArrivedDelta
from seine.operators.step.working_nodes import AnyOutput, Pushing
from seine.rows.delta import ARRIVAL_NUMBER, Delta, data_names

if TYPE_CHECKING:
    from seine.operators.documents.publish_node import PublishNode


class PublishStep:
    """Selects the results of one query, and gives them the columns of a stream."""

    def __init__(self, node: PublishNode, tables: Tables) -> None:
        self._node = node
        self._selection = selection_of(node.filter, tables)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        (places, _), _ = matched(self._selection, arrived)
        if not len(places):
            return
        rows = arrived.delta.plus.take(pa.array(places))
        rows = rows.filter(pa.array([fault_of(text) is None for text in rows[column(DOCUMENT)].to_pylist()]))
        columns = [rows[column(DOCUMENT)], rows["_s"].view(self._node.types[1].arrow())]
        columns += [rows[column(RESULT_LATEST)]][: len(self._node.types) - 2]
        front = ["_s", "_e", ARRIVAL_NUMBER]
        batch = pa.RecordBatch.from_arrays(
            [*(rows[name] for name in front), *columns], [*front, *data_names(len(columns))]
        )
        flow.push(self._node.id, Delta(batch), emission)
