"""The leaf of the network: the admitted tuples of a stream (a table scan; in Flink, a source).

    SELECT ... FROM transactions        source "transactions"

Tuples enter with their lives [ts, ts + window): see `runtime/flow/admitted_rows.py`. Without state.

The leaf of the network through which a stream's punctuations of one scheme enter.

    PUNCTUATED ON (itemid)      {"itemid": 7}: no tuple to come has itemid = 7

A punctuation is a row of the scheme's columns. Joins and groups that listen purge state by it. Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node import Node, NodesView, Signature


@dataclass(frozen=True)
class SourceNode(Node):
    """The admitted tuples of a stream. Of a retractable one, deletions are not resolved yet."""

    kind = "source"
    is_leaf = True
    is_metered = False
    stream: str
    columns: int = 0  # of the stream, which may have been given more since; 0: all

    def signature(self, standing: NodesView) -> Signature:
        return source_signature(self.stream, self.columns)


def source_signature(stream: str, columns: int) -> Signature:
    """What a source is known by: a stream that was given a column is another source to later queries."""
    return (SourceNode.kind, stream, columns)


@dataclass(frozen=True)
class PunctuationsNode(Node):
    """The accepted punctuations of one scheme of a stream, a row each.

    Its columns are the scheme's, and it lives from the punctuation's time to its limit, FOREVER if it never
    lapses: no tuple that arrives after it and starts before the limit has these values. Tuples that
    arrived before it have come to every port when it does: in its entry or in an earlier one.
    """

    kind = "punctuations"
    is_leaf = True
    is_metered = False
    is_punctuation = True
    stream: str
    scheme: int

    def signature(self, standing: NodesView) -> Signature:
        return punctuation_signature(self.stream, self.scheme)


def punctuation_signature(stream: str, scheme: int) -> Signature:
    return ("punctuations", stream, scheme)
