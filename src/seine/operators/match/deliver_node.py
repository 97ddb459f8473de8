"""The root of the network: selects and projects rows, and says for which queries each is a result (a sink).

    SELECT a, b FROM s WHERE v > 5        row of the table: 5, form (a, b), query q1
    SELECT a    FROM s WHERE v > 7        row of the table: 7, form (a),    query q2

Law: a row that satisfies row i of the table is a record of each of the queries of row i. Without state.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from seine.algebra.expressions import Expression
from seine.graph.node import NodesView, SelectingNode, Signature, TablePart
from seine.graph.node_words import BoxContent, ColumnWords, NodeWords, RowPart
from seine.operators.match.deliver_step import DeliverStep
from seine.operators.step.record_form import Form
from seine.operators.step.working_nodes import HostFlow, StatelessNode

_MOST_USERS_IN_BOX = 4


@dataclass(frozen=True)
class DeliverNode(SelectingNode, StatelessNode):
    """Where records leave: a row that satisfies row i of the table is a result of the queries of row i.

    The last two columns of the table tell how: a form, by its table, and a row of that table.
    """

    kind = "deliver"
    reason = "same conditions, up to constants"
    tint = "#2f9e63"
    is_delivery = True
    pile_level = 1
    forms: tuple[Form, ...]

    def make_step(self, port: int, flow: HostFlow) -> DeliverStep:
        return DeliverStep(self, flow.tables, flow.nodes[self.inputs[0]])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.filter.table, *(form.table for form in self.forms))

    @property
    def computed(self) -> tuple[tuple[int, tuple[Expression, ...]], ...]:
        forms = ((form.table, (*form.checks, *form.outputs)) for form in self.forms)
        return (*super().computed, *forms)

    @property
    def parts(self) -> tuple[TablePart, ...]:
        return self.forms

    def with_parts(self, parts: Sequence[Any]) -> Self:
        return replace(self, forms=tuple(parts))

    def signature(self, standing: NodesView) -> Signature:
        return deliver_signature(self.inputs[0], self.filter.shape, self.owner)

    def describe(self, words: NodeWords) -> str:
        texts = list(dict.fromkeys(self._columns(form, words) for form in self.forms))
        return texts[0] if len(texts) == 1 else f"records of {len(texts)} forms"

    def describe_for(self, tables: Collection[int], words: NodeWords) -> str:
        texts = (self._columns(form, words) for form in self.forms if form.table in tables)
        return "; ".join(dict.fromkeys(texts))

    def details(self, words: NodeWords) -> list[str]:
        texts = {form.table: self._columns(form, words) for form in self.forms}
        return [*super().details(words), *words.lines_by_user(texts, "records of {} more forms")]

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart(f"#{self.id}", ()),)

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return ", ".join(box.users[:_MOST_USERS_IN_BOX]), "" if box.is_pile else box.text

    def _columns(self, form: Form, words: NodeWords) -> str:
        """The columns of records of a form."""
        columns = words.select_list(form.expressions, form.names, words.names(self.inputs[0]), form.table)
        return columns + (" (a changelog)" if form.changelog else "")


def deliver_signature(row: int, shape: object, owner: str) -> Signature:
    return ("deliver", row, shape, owner)
