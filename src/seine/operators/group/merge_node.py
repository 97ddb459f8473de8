"""UNION ALL: all rows of all inputs.

    SELECT a FROM s UNION ALL SELECT b FROM t

Law: merge(inputs) is the concatenation of its inputs. Without state: where rows may end early, the identity
of a row tells its input and tag, so that rows of two inputs are never taken for one another.

The step of UNION ALL: rows pass on with the identity of the merged output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.step.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import identity_names

if TYPE_CHECKING:
    from seine.operators.group.breaker_node import SetOperatorNode


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


class MergeStep:
    """One input of a union at work."""

    def __init__(self, node: MergeNode, port: int) -> None:
        self._node, self._port = node, port

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        delta = arrived.each(lambda batch, _: merged(self._node, self._port, batch))
        flow.push(self._node.id, delta, emission)


def merged(node: SetOperatorNode, port: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give the rows of one input the identity of the merged output: input and tag, then that of the row."""
    if not node.identities:
        return batch
    names = batch.schema.names
    parts_of_row = [batch[name] for name in names if name.startswith("_i")]
    tags = batch["c0"].to_numpy()
    parts = [pa.array(tags * len(node.ports) + port), *parts_of_row]
    parts += [pa.array(np.full(batch.num_rows, -1))] * (node.identities - len(parts))
    lives = [name for name in names if name[0] == "_" and not name.startswith("_i")]
    data = [name for name in names if name[0] == "c"]
    return pa.RecordBatch.from_arrays(
        [*(batch[name] for name in lives), *parts, *(batch[name] for name in data)],
        [*lives, *identity_names(node.identities), *data],
    )
