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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.graph.node_words import ColumnWords, NodeWords, QueryWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.documents.document_words import listed, path_words, story_lines, users_of
from seine.operators.documents.witness_step import WitnessStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class WitnessNode(StatelessNode):
    """The documents of one column of a stream, each with its witnesses; a row of `patterns` is a path.

    `arrival` is the column with the epochs of documents, in a live network.
    """

    kind = "witness"
    reason = "same documents"
    numbered = True
    tint = "#2f7ed8"
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

    def describe(self, words: NodeWords) -> str:
        return "witnesses of paths in documents"

    def details(self, words: NodeWords) -> list[str]:
        table = words.tables[self.patterns]
        return listed("paths", [path_words(row[0]) for row in table.rows.values()], users_of(table))

    def story(self, query: QueryWords) -> Iterator[str]:
        return story_lines(
            (f"it reads {path_words(row[0])}", others) for row, others in query.rows_of(self.patterns, 1)
        )

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart(f"#{self.id}", ("document", "identity", "arrival", "latest", "patterns", "values")),)


def witness_signature(documents: int, column: int, any_namespace: bool, owner: str) -> Signature:
    return ("witness", documents, column, any_namespace, owner)
