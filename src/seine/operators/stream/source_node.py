"""The leaf of the network: the admitted tuples of a stream (a table scan; in Flink, a source).

    SELECT ... FROM transactions        source "transactions"

Tuples enter with their lives [ts, ts + window): see `runtime/flow/admitted_rows.py`. Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node import Node
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.graph.standing_nodes import Signature, StandingNodes


@dataclass(frozen=True)
class SourceNode(Node):
    """The admitted tuples of a stream. Of a retractable one, deletions are not resolved yet."""

    kind = "source"
    reason = "same stream"
    is_leaf = True
    is_metered = False
    tint = "#2f7ed8"
    stream: str

    def signature(self, standing: StandingNodes) -> Signature:
        return stream_signature(self.kind, self.stream)

    def describe(self, words: NodeWords) -> str:
        return f"stream {column_name(self.stream)}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (words.stream_part(self.stream, len(self.types)),)


def stream_signature(kind: str, stream: str) -> Signature:
    return (kind, stream)
