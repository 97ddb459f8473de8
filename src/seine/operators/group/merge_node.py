"""UNION ALL: all rows of all inputs.

    SELECT a FROM s UNION ALL SELECT b FROM t

Law: merge(inputs) is the concatenation of its inputs. Without state: where rows may end early, the identity
of a row tells its input and tag, so that rows of two inputs are never taken for one another.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.merge_step import MergeStep
from seine.operators.step.working_nodes import HostFlow, StatelessNode


@dataclass(frozen=True)
class MergeNode(SetOperatorNode, StatelessNode):
    """All rows of all inputs. With identities, the first tells input and tag."""

    kind = "merge"
    reason = "same union"
    tint = "#b08900"

    def make_step(self, port: int, flow: HostFlow) -> MergeStep:
        return MergeStep(self, port)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "all rows of all inputs"
