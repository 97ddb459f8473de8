"""The node of a join of documents by equal string values, for the queries of all templates at once.

    S//book->b[.//author->x] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]

    source ── witness ──┐ broadcast
                        document join (classes: //book//author = //blog//author, ...) ── pairs ── complete
    source ── witness ──┘ broadcast      one port if both are the same

Its operator is `document_join.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.graph.node import NodesView, Signature
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, QueryWords, RowPart
from seine.operators.documents.document_join import DocumentJoinOperator
from seine.operators.documents.document_words import class_words, listed, story_lines, users_of
from seine.operators.documents.join_classes import JoinClasses, Orientation
from seine.operators.documents.operand_rows import PAIR
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class DocumentJoinNode(StatefulNode):
    """Pairs of documents, with the classes of queries whose edges hold for them; one port, or two.

    A row of the table `classes` is (class, orientation, edges, low, high): see `join_classes.py`.
    """

    kind = "documents"
    reason = "same pair of streams of documents"
    passes = "pairs"
    is_join = True
    tint = "#e8710a"
    classes: int

    def make_operator(self, flow: HostFlow) -> DocumentJoinOperator:
        rows = [*flow.tables[self.classes].rows.values()]
        orientations = [
            Orientation(
                orientation,
                len(self.ports) - 1 - orientation,
                JoinClasses([(row[0], *row[2:]) for row in rows if row[1] == orientation]),
            )
            for orientation in range(len(self.ports))
        ]
        used = [orientation for orientation in orientations if len(orientation.classes.tags)]
        return DocumentJoinOperator(self, used, flow.buckets, flow.tables[self.classes])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.classes,)

    def signature(self, standing: NodesView) -> Signature:
        return document_join_signature(self.inputs, self.owner)

    def describe(self, words: NodeWords) -> str:
        return "pairs of documents with equal string values"

    def details(self, words: NodeWords) -> list[str]:
        table, nodes = words.tables[self.classes], [words.nodes[i] for i in self.inputs]
        texts = [class_words(nodes, row[1], row[2], words) for row in table.rows.values()]
        return listed("pairs with", texts, users_of(table))

    def story(self, query: QueryWords) -> Iterator[str]:
        nodes = [query.words.nodes[i] for i in self.inputs]
        return story_lines(
            (f"it takes pairs with {class_words(nodes, row[1], row[2], query.words)}", others)
            for row, others in query.rows_of(self.classes, 1)
        )

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart(f"#{self.id}", tuple(f"column {number}" for number in range(len(PAIR)))),)

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return "documents with equal values", ""


def document_join_signature(inputs: tuple[int, ...], owner: str) -> Signature:
    """The join of what two nodes give, in either order."""
    return ("documents", *inputs, owner)
