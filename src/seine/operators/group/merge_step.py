"""The step of UNION ALL: rows pass on with the identity of the merged output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.operators.step.arrived_delta import ArrivedDelta
from seine.operators.step.working_nodes import AnyOutput, Pushing
from seine.rows.delta import identity_names

if TYPE_CHECKING:
    from seine.operators.group.breaker_node import SetOperatorNode
    from seine.operators.group.merge_node import MergeNode


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
