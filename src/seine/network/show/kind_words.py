"""What each kind of node has to say of itself: why it is shared, what it does, how it is drawn.

    Label:  #7 join bid, item on bid.itemid = item.itemid     shared by q1, q2: same join

`words_of.py` lists the words of all kinds. A node is shown by the words of its kind, and the names of columns
come from `labels.py`, the rows of one query from `query_story.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from seine.algebra.expressions import Expression
from seine.graph.node import FilteringNode, Node, SelectingNode

if TYPE_CHECKING:
    from seine.network.show.labels import ColumnNames, Labels
    from seine.network.show.query_story import Story

AnyNode = TypeVar("AnyNode", bound=Node)
Filtering = TypeVar("Filtering", bound=FilteringNode)
Selecting = TypeVar("Selecting", bound=SelectingNode)


@dataclass(frozen=True)
class RowPart:
    """One of the rows that stand side by side in a row: what it is, and its columns as SQL.

    A tagged one has its tag first, a dated one its arrival last.
    """

    what: str
    names: tuple[str, ...]
    tagged: bool = False
    dated: bool = False


class BoxContent(NamedTuple):
    """What there is to write in a box: of its first node, and of nodes without a box that belong to it."""

    text: str
    details: Sequence[str]
    part_details: Sequence[str]
    users: Sequence[str]
    is_pile: bool


@dataclass(frozen=True)
class KindWords(Generic[AnyNode]):
    """The words of one kind of node, and its colour."""

    reason: str  # why queries share a node of this kind: "same join"
    tint: str | None = None  # the colour of its box
    text: str = ""  # what it does, if that is the same for all nodes of the kind
    passes: str = "rows"  # what passes its filters: rows, pairs, combinations
    pile_level: int | None = None  # the smaller, the sooner nodes with the same inputs are one box
    drawn_with_reader: bool = False  # it has no box: it belongs to that of the node that reads it

    def describe(self, node: AnyNode, words: Labels) -> str:
        """What it does, in words and SQL."""
        return self.text

    def describe_for(self, node: AnyNode, tables: Collection[int], words: Labels) -> str:
        """What it does for the query that has rows in these tables."""
        return self.describe(node, words)

    def row_parts(self, node: AnyNode, words: ColumnNames) -> tuple[RowPart, ...]:
        """What stands side by side in a row of its output, with the names of the columns."""
        raise NotImplementedError(node.kind)

    def details(self, node: AnyNode, words: Labels) -> list[str]:
        """Which rows pass it, a line for each shape of conditions."""
        return []

    def story(self, node: AnyNode, query: Story) -> Iterator[str]:
        """What it does with the rows of one query."""
        return query.about_conditions(node)

    def undecided(self, node: AnyNode, conjuncts: list[Expression]) -> list[Expression]:
        """Those conjuncts of one of its filters that no single input can have decided; all if none is."""
        return conjuncts

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        """The two lines of text in its box of the picture."""
        return box.text, box.part_details[0] if box.part_details else ""


class FilteringWords(KindWords[Filtering]):
    """Of a node that lets pass what any of its filters wants."""

    def details(self, node: Filtering, words: Labels) -> list[str]:
        return words.passing_lines(node)


class SelectingWords(KindWords[Selecting]):
    """Of a node that sends a row on for each row of its table."""

    def details(self, node: Selecting, words: Labels) -> list[str]:
        return words.selection_lines(node)
