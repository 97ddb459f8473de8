"""The node of searches whose results are single tuples: one term, or MAX 1 TUPLES.

    SEARCH 'quentin'                      every tuple with the term is a result, with its own life
    SEARCH 'vol 1' MAX 1 TUPLES           every tuple with both terms

Law: a tuple is a result of each query whose tables it is of and all of whose terms it contains. Without
state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from seine.graph.node_words import ColumnWords, NodeWords, QueryWords, RowPart
from seine.graph.standing_nodes import NodesView, Signature
from seine.operators.search.search_node import RECORD_NAMES
from seine.operators.search.searches import SearchRow
from seine.operators.search.spot_step import SpotStep
from seine.operators.search.watch_node import WatchNode
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class SpotNode(StatelessNode):
    """Tuples that are results by themselves, each with the tag of its query; `schema` as of a
    `SearchNode`.
    """

    kind = "spot"
    reason = "same search"
    tint = "#9c36b5"
    searches: int
    schema: int = 0

    def make_step(self, port: int, flow: HostFlow) -> SpotStep:
        watch = flow.nodes[self.inputs[0]]
        assert isinstance(watch, WatchNode)
        return SpotStep(self, watch, flow.tables[self.searches])

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.searches,)

    def signature(self, standing: NodesView) -> Signature:
        return spot_signature(self.inputs[0])

    def describe(self, words: NodeWords) -> str:
        count = len(words.tables[self.searches])
        return f"single tuples for {count:,} {'search' if count == 1 else 'different searches'}"

    def story(self, query: QueryWords) -> Iterator[str]:
        for row, _ in query.rows_of(self.searches, 1):
            yield f"it looks for {replace(SearchRow.of(row), max_tuples=1).words}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return (RowPart("tree", RECORD_NAMES, tagged=True),)


def spot_signature(watch: int) -> Signature:
    return ("spot", watch)
