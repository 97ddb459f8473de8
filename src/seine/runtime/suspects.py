"""Who is suspected when processes die again and again at one entry: one that is killed leaves no fault.

The operating system kills what takes too much memory, and says nothing of why. So deaths are counted: after
`DEATHS_TO_SUSPECT` in a row without the entry being delivered, the heaviest query of that entry is
quarantined, one at a time; of equally heavy ones the newest. After `MOST_SUSPECTS` of them nobody else is:
then it was not a query.

    entry 7:  died  died  died  died -> heaviest fails    died ... -> next    (delivered)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from seine.intake.journal import Entry
from seine.network.network import Network
from seine.operators.stream.source_node import SourceNode
from seine.runtime.culprits import Weights, network_of
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure

DEATHS_TO_SUSPECT = 4  # fewer may be the doing of whoever else needs memory on the machine
MOST_SUSPECTS = 3  # queries that fail for the deaths at one entry

PortRows = Mapping[int, Sequence[int]]  # the rows that nodes hold, by port


class Suspects:
    """Counts deaths by entry; the counts are those of this process."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._deaths: Counter[int] = Counter()

    def after_death(self, entry: int, held: PortRows) -> dict[str, Failure]:
        """Note that a process died before an entry was delivered; the query that fails for it, if any."""
        if not self._deployment.journal.exists(entry):
            return {}
        self._deaths[entry] += 1
        deaths = self._deaths[entry]
        if deaths % DEATHS_TO_SUSPECT or deaths > DEATHS_TO_SUSPECT * MOST_SUSPECTS:
            return {}
        suspect = heaviest_query(self._deployment, self._deployment.journal.load(entry), held)
        if suspect is None:
            return {}
        reason = f"it is the heaviest of entry {entry}, where processes died {deaths} times: out of memory?"
        return {suspect: Failure(entry, "memory", reason)}


def heaviest_query(deployment: Deployment, entry: Entry, held: PortRows) -> str | None:
    """The query that brings most to the node with most to do in an entry; of equal ones the newest."""
    network, version = network_of(deployment, entry)
    weights = Weights(network, version, entry)
    nodes = {i: _load(network, weights, i, held) for i in network.nodes if _is_suspect(network, i)}
    if not nodes:
        return None
    busiest = max(nodes, key=lambda i: (nodes[i], i))
    age = {name: number for number, name in enumerate(network.queries)}
    return max(network.users(busiest), key=lambda name: (weights.of(name, busiest), age[name]))


def _is_suspect(network: Network, node_id: int) -> bool:
    return not isinstance(network.nodes[node_id], SourceNode) and bool(network.users(node_id))


def _load(network: Network, weights: Weights, node_id: int, held: PortRows) -> int:
    """The product, over the inputs of a node, of the rows that come and those that it holds of them."""
    load, rows = 1, held.get(node_id, ())
    for port, below in enumerate(network.nodes[node_id].inputs):
        load *= weights.of(None, below) + (rows[port] if port < len(rows) else 0)
    return load
