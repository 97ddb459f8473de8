"""What a query publishes, as the tuples of a stream: XML documents that XSCL and SQL read like any others.

    SELECT * FROM S//book->b[./author->x] FOLLOWED BY{x = y, 12} S//blog->g[./author->y] PUBLISH pairs

    complete ── publish pairs (doc, ts) ──┬── witness ── ...       XSCL reads pairs//book
                                          └── join, deliver ...    SELECT doc, ts FROM pairs

Law: one tuple for each record of the query: its output document, its t_start as time, its life. Without
state: a published document appears where its pair is completed.

Cites: MMQJP 2 (PUBLISH)

The step of a publish node: results that satisfy its one condition become tuples of its stream.

A result whose document is over the limits of documents (it has all that its parts have, and a root more) is
reported and not published: readers take for granted that documents are acceptable.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from seine.documents.parse_document import fault_of
from seine.graph.node import NodesView, SelectingNode, Signature
from seine.operators.documents.operand_rows import DOCUMENT, RESULT_LATEST, column
from seine.operators.match.any_of import Tables, selection_of
from seine.operators.match.selection import matched
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import ARRIVAL_NUMBER, Delta, data_names


@dataclass(frozen=True)
class PublishNode(SelectingNode, StatelessNode):
    """The records of one query as tuples of a stream; in a live network with the epoch of each."""

    kind = "publish"
    stream: str

    def make_step(self, port: int, flow: HostFlow) -> PublishStep:
        return PublishStep(self, flow.tables)

    def signature(self, standing: NodesView) -> Signature:
        return publish_signature(self.stream)


def publish_signature(stream: str) -> Signature:
    return ("publish", stream)


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
