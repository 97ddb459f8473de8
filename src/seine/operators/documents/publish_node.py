"""What a query publishes, as the tuples of a stream: XML documents that XSCL and SQL read like any others.

    SELECT * FROM S//book->b[./author->x] FOLLOWED BY{x = y, 12} S//blog->g[./author->y] PUBLISH pairs

    complete ── publish pairs (doc, ts) ──┬── witness ── ...       XSCL reads pairs//book
                                          └── join, deliver ...    SELECT doc, ts FROM pairs

Law: one tuple for each record of the query: its output document, its t_start as time, its life. Without
state: a published document appears where its pair is completed.

Cites: MMQJP 2 (PUBLISH)
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node import SelectingNode
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.documents.publish_step import PublishStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class PublishNode(SelectingNode, StatelessNode):
    """The records of one query as tuples of a stream; in a live network with the epoch of each."""

    kind = "publish"
    reason = "same published stream"
    tint = "#2f7ed8"
    stream: str

    def make_step(self, port: int, flow: HostFlow) -> PublishStep:
        return PublishStep(self, flow.tables)

    def signature(self, standing: NodesView) -> Signature:
        return publish_signature(self.stream)

    def describe(self, words: NodeWords) -> str:
        return f"stream {column_name(self.stream)}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        names = ("doc", "ts", "arrival")[: len(self.types)]
        return (RowPart(self.stream, names),)


def publish_signature(stream: str) -> Signature:
    return ("publish", stream)
