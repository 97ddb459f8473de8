"""How many stages a pipeline has, and how many the network needs."""

from __future__ import annotations

from collections.abc import Iterable

from seine.algebra.plan import Query
from seine.errors import SeineError
from seine.intake.source_branch import PipelineShape
from seine.network.network import Network
from seine.runtime.folder.deployment import Deployment

MOST_DEPTH = 24  # a stage costs time in every micro-batch, however small


class TooDeepError(Exception):
    """The pipeline must get more stages before this can be."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


def planned_shape(deployment: Deployment) -> PipelineShape:
    """The shape that the pipeline has, or will have when it gets to the last entry."""
    entries = [entry for entry in deployment.journal.entries() if entry.handover]
    settings = deployment.settings  # read last: entries that are gone left their mark here
    shapes = [
        PipelineShape(entry.handover, entry.branches) for entry in entries if entry.number > settings.start
    ]
    return shapes[-1] if shapes else PipelineShape(settings.depth, settings.branches)


def planned_depth(deployment: Deployment) -> int:
    """The stages that the pipeline has, or will have when it gets to the last entry."""
    return planned_shape(deployment).depth


def refuse_deep(network: Network, queries: Iterable[Query]) -> None:
    """Refuse queries with which the network needs more stages than a pipeline may have."""
    if network.depth > MOST_DEPTH:
        query = max(queries, key=lambda query: max(node.stage for node in network.beneath(query.name)))
        raise SeineError(
            f"query {query.name} needs {network.depth} stages above one another; the most is {MOST_DEPTH}",
            hint="split it",
        )
