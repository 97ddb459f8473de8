"""The windows of panes: partial aggregates of short spans go to every window that has the span.

    window(ts, 20), window(ts, 30)       pane [10, 20) ──> (tag 1, [0, 20)), (tag 2, [0, 30))

Law: that of a fan, over partial aggregates of panes instead of rows. Without state.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.match.fan_step import FanNode


@dataclass(frozen=True)
class PaneFanNode(FanNode):
    """In front of an aggregate of windows: a row of its table is a window's length, slide and start.

    Its input is the aggregate of panes, of which it reads the parts.
    """

    kind = "panes"
    reason = "same panes"
    reads_parts = True

    def describe(self, words: NodeWords) -> str:
        return f"panes of {words.legend(self.inputs[0])}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        """The keys of windows, and the row that panes are made of: of that there are parts."""
        (windows,) = super().row_parts(words)
        row = words.names(words.nodes[self.inputs[0]].inputs[0])
        return (RowPart(windows.what, (*windows.names, *row), tagged=True),)
