"""A selection of partial aggregates, in front of an aggregate that rolls finer groups up into coarser ones.

    SELECT a, b, count(*) FROM s GROUP BY a, b        aggregate (a, b) ── regroup ── aggregate (a)
    SELECT a, count(*)    FROM s GROUP BY a

Law: partial aggregates of groups pass if their tag is one that coarser groups are made of. Without state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.graph.node_words import ColumnWords, NodeWords, QueryWords, RowPart
from seine.operators.match.prefilter_node import PrefilterNode

_UNREAD = "finer groups that nobody reads for themselves"


@dataclass(frozen=True)
class RegroupNode(PrefilterNode):
    """In front of an aggregate that regroups: keeps out the parts of tags that no coarser group is made of.

    Its input is the finer aggregate. Of that one's rows it has the keys.
    """

    kind = "regroup"
    reason = "same finer groups"
    reads_parts = True

    def describe(self, words: NodeWords) -> str:
        return f"parts of {words.legend(self.id)}"

    def details(self, words: NodeWords) -> list[str]:
        return []

    def story(self, query: QueryWords) -> Iterator[str]:
        readers = query.other_readers(self)
        yield f"grouped from {f'the finer groups of {readers}' if readers else _UNREAD}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        """The keys of finer groups, and the row that these are made of: of that there are parts."""
        groups = words.row_parts(self.inputs[0])[0]
        row = words.names(words.nodes[self.inputs[0]].inputs[0])
        return (RowPart(groups.what, (*groups.names[: len(self.types)], *row), tagged=True),)
