"""The node of a memory-limited join of streams, directly or through relations."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from seine.algebra.expressions import conjunction
from seine.algebra.star import UNLIMITED, MemoryLimit, Star, StarItem
from seine.graph.node import NodesView, Signature
from seine.graph.node_words import ColumnWords, NodeWords, RowPart
from seine.operators.limited.limited_join import LimitedOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class LimitedNode(StatefulNode):
    """Joins streams, directly or through relations, within a memory; all of it is in one bucket.

    Each port is a stream of the star, and has a window that holds an equal share of the memory. `out`
    addresses all items side by side.
    """

    kind = "limited"
    reason = "same join and the same memory"
    is_join = True
    numbered = True
    budgeted = True
    star: Star
    memory: MemoryLimit

    def make_operator(self, flow: HostFlow) -> LimitedOperator:
        return LimitedOperator(self, flow.relations.index)

    def signature(self, standing: NodesView) -> Signature:
        below = tuple(standing.beneath_prefilter(self, port) for port in range(len(self.ports)))
        return limited_signature(below, self.star, self.memory, self.owner)

    def describe(self, words: NodeWords) -> str:
        names, memory = words.names(self.id), self.memory
        whole = conjunction([c for probe in self.star.probe_orders[0] for c in probe.conditions])
        on = "every pair" if whole is None else words.plain(whole, names)
        joined = f"{words.legend(self.id)} on {on}"
        if memory.tuples == UNLIMITED:
            return f"{joined}, as the relation is when tuples arrive"
        held = f"{memory.tuples:,} tuples" if memory.tuples is not None else f"{memory.bytes:,} bytes"
        return f"{joined} within {held}, by {memory.shed}"

    def row_parts(self, words: ColumnWords) -> tuple[RowPart, ...]:
        return tuple(self._row_part(item, words) for item in self.star.items)

    def _row_part(self, item: StarItem, words: ColumnWords) -> RowPart:
        if item.port is not None:
            return words.row_parts(self.inputs[item.port])[0]
        return words.relation_part(item.relation or "", len(item.types))


def limited_signature(inputs: Hashable, star: Hashable, memory: Hashable, owner: str) -> Signature:
    """Constants count: what is given up depends on all conditions and options."""
    return ("limited", inputs, star, memory, owner)
