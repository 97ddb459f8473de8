"""Exact bindings of whole blocks in pairs of documents, and their output documents.

    S//book->b[.//author->x][price > 10] FOLLOWED BY{x = y, 100} S//blog->g[.//author->y]

    pair (d1, d2), class //book//author = //blog//author
      form  //book->0[.//author->1][./price[. > 10]],  //blog->0[.//author->1],  1 = 1,  names b, x, g, y
        -> {"b": 0, "x": 2, "g": 0, "y": 1}, <result><book>..</book><blog>..</blog></result>

Law: for each pair and each form of its classes, one row for each distinct binding of the form's variables
over all embeddings of its blocks whose joined variables have equal strings. Queries that differ in T, in
birth or in name share a form; those that differ in names of variables share its evaluation. Without state.

Cites: MMQJP 2 (default output), 4.4 (R_outT)
Differs: whole blocks are evaluated on the documents, so no variable that a graph minor removes is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.graph.node import NodesView, Signature
from seine.graph.node_words import ColumnWords, NodeWords, QueryWords, RowPart
from seine.operators.documents.complete_step import CompleteStep
from seine.operators.documents.document_words import comparison_words, listed, users_of
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class CompleteNode(StatelessNode):
    """Bindings and output documents of forms; a row of `forms` is (class, form, tag, low, high, compared,
    constants): see `class_forms.py`.

    Its input gives pairs of documents or, for queries of one block, single documents.
    """

    kind = "complete"
    reason = "same pairs of documents"
    tint = "#b08900"
    forms: int
    single: bool

    def make_step(self, port: int, flow: HostFlow) -> CompleteStep:
        return CompleteStep(self, flow.tables[self.forms])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.forms,)

    def signature(self, standing: NodesView) -> Signature:
        return complete_signature(self.inputs[0], self.owner)

    def describe(self, words: NodeWords) -> str:
        return "bindings and output documents"

    def details(self, words: NodeWords) -> list[str]:
        table = words.tables[self.forms]
        forms = len({(row[0], row[1]) for row in table.rows.values()})
        return listed("results of", [f"{forms} form{'' if forms == 1 else 's'}"], users_of(table))

    def story(self, query: QueryWords) -> Iterator[str]:
        for row, others in query.rows_of(self.forms, 2):
            looked_up = comparison_words(row[-2], row[-1])
            yield f"the same bindings as for {others}" if others else "bindings of its own blocks"
            if looked_up:
                yield f"looked up by {' AND '.join(looked_up)}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        names = ("tag", "distance", "arrival", "latest", "left_ts", "right_ts", "bindings", "doc")
        return (RowPart(f"#{self.id}", names),)


def complete_signature(pairs: int, owner: str) -> Signature:
    return ("complete", pairs, owner)
