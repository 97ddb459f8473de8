"""What stands in a service at this moment: declarations, the network, who runs since when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from seine.algebra.plan import Query, tables_of
from seine.algebra.serialise import plan_from_json
from seine.catalog import CatalogView, QueryPosition, StoredQuery
from seine.errors import RunError, SeineError
from seine.frontends.script.script import Declarations
from seine.network.network import Network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.runtime.folder.deployment import Deployment


@dataclass(frozen=True)
class RegisteredQuery:
    """A registered query: it counts tuples of epoch `born` and later.

    `position` tells where that was: `entry`, the first that counts, `results`, how long the
    output was, and of each of its streams the number of the next arrival.
    """

    query: Query
    born: int
    position: QueryPosition
    paused: bool = False


@dataclass(frozen=True)
class Present:
    """What stands at a moment; a change makes another one. Only the network is changed in place, by the
    registrar alone: others may know its `nodes` and `depth`.

    `uses` counts the running queries of each relation; `relations` has the tuples of those in use.
    """

    declared: Declarations
    standing: dict[str, RegisteredQuery]
    network: Network
    version: int
    nodes: int
    next_id: int  # of the network
    depth: int
    epoch: int
    since: dict[str, int]  # of each stream, the first entry that can have tuples of it
    relations: dict[str, pa.RecordBatch]
    uses: Counter[str]

    def find(self, name: str) -> RegisteredQuery:
        """The query of a name, in any case."""
        found = self.standing.get(name.lower())
        if found is None:
            raise MissingError(f"there is no query {name}", hint="seine list shows what there is")
        return found


class MissingError(SeineError):
    """Something was asked of a query that is not there."""


def restore(catalog: CatalogView, deployment: Deployment) -> Present:
    """What a catalog says stands; the network is the version that it names."""
    standing = {query.name.lower(): _standing(query) for query in catalog.queries()}
    queries = {key: one.query for key, one in standing.items()}
    declared = Declarations(catalog.streams(), catalog.relations(), catalog.edges(), queries)
    version, last = catalog.version(), deployment.journal.last()
    if last is not None and last.network > version:
        raise RunError(
            f"the catalog is older than the pipeline: it knows version {version} of the network, "
            f"entry {last.number} was cut for version {last.network}",
            hint="put the catalog back that belongs to this folder",
        )
    network = deployment.versions.network(version, CONFIGURATIONS["all"])
    return Present(
        declared,
        standing,
        network,
        version,
        len(network.nodes),
        network.next_id,
        network.depth,
        catalog.setting("epoch", 0),
        catalog.setting("since", {}),
        deployment.versions.relations(version),
        relations_of((one.query for one in standing.values() if not one.paused), declared),
    )


def relations_of(queries: Iterable[Query], declared: Declarations) -> Counter[str]:
    """How many of these queries read each relation."""
    return Counter(name for query in queries for name in tables_of(query) if name in declared.relations)


def _standing(stored: StoredQuery) -> RegisteredQuery:
    options = tuple(stored.options.items())
    query = Query(stored.name, plan_from_json(stored.plan), options, stored.text)
    position = stored.position or QueryPosition(0, 0, {})
    return RegisteredQuery(query, stored.born, position, stored.paused)
