"""The exchange in front of a stateful node: its input leaves the task, by stage and bucket (a shuffle).

The input of a node that is chained to it stays in the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from seine.graph.node import Node
from seine.operators.step.arrived_delta import ArrivedDelta
from seine.operators.step.working_nodes import Pushing
from seine.runtime.flow.emission import Emission
from seine.runtime.flow.parcels import Parcel
from seine.runtime.flow.routing import Route, route


class OperatorPlacement(Protocol):
    """Where the operators of a version are, and what they read."""

    @property
    def buckets(self) -> int: ...

    @property
    def nodes(self) -> Mapping[int, Node]: ...

    def home(self, node: Node) -> int:
        """The one bucket of a node whose rows have no routing key."""
        ...

    def needed(self, node: Node, port: int) -> tuple[str, ...] | None:
        """The data columns that a node needs at a port; None if all."""
        ...


class SendRows:
    """One input of a stateful node: sends rows to it, by stage and bucket."""

    def __init__(self, node: Node, port: int, worker: Node, placement: OperatorPlacement) -> None:
        """`worker` is the node whose operator works on the rows: mostly the node itself."""
        target = node.ports[port]
        self._stays = placement.nodes[target.node].stage == worker.stage
        home = None if worker.ports[0].key else placement.home(worker)
        needed = placement.needed(node, port)
        self._route = Route(
            worker.stage,
            home,
            target.key,
            worker.drops_null_keys,
            needed,
            node.numbered,
            target.broadcast,
            target.spread,
        )
        self._address = ((node.id, port),)
        self._buckets = 1 if self._stays else min(placement.buckets, worker.most_buckets or placement.buckets)

    def __call__(self, flow: Pushing[Emission], arrived: ArrivedDelta, emission: Emission) -> None:
        delta = arrived.delta
        pieces = ((True, delta.plus, arrived.plus), (False, delta.minus, arrived.minus))
        for plus, batch, columns in pieces:
            if batch is not None and columns is not None and batch.num_rows:
                for bucket, piece in route(batch, columns, self._route, self._buckets):
                    parcels = emission.kept if self._stays else emission.parcels[self._route.stage, bucket]
                    parcels.append(Parcel(self._address, plus, piece))
