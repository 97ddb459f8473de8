"""The leaf of the network: the admitted tuples of a stream (a table scan; in Flink, a source).

    SELECT ... FROM transactions        source "transactions"

Tuples enter with their lives [ts, ts + window): see `runtime/flow/admitted_rows.py`. Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.plan_text import column_name
from seine.graph.node import Node, NodesView, Signature
from seine.graph.node_words import ColumnWords, NodeWords, RowPart


@dataclass(frozen=True)
class SourceNode(Node):
    """The admitted tuples of a stream. Of a retractable one, deletions are not resolved yet."""

    kind = "source"
    reason = "same stream"
    is_leaf = True
    is_metered = False
    tint = "#2f7ed8"
    stream: str
    columns: int = 0  # of the stream, which may have been given more since; 0: all

    def signature(self, standing: NodesView) -> Signature:
        return source_signature(self.stream, self.columns)

    def describe(self, words: NodeWords) -> str:
        stream = words.streams.get(self.stream)
        text = f"stream {column_name(self.stream)}"
        if stream is None or self.columns in (0, len(stream.fields)):
            return text
        return f"{text}, its first {self.columns} columns"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (words.stream_part(self.stream, len(self.types), self.columns),)


def source_signature(stream: str, columns: int) -> Signature:
    """What a source is known by: a stream that was given a column is another source to later queries."""
    return (SourceNode.kind, stream, columns)
