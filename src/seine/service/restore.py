"""Restores what a service had registered when it last ran, from its catalog and network files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from seine.algebra.definitions import ViewDef
from seine.algebra.plan import Query, tables_needed
from seine.algebra.search_plan import SchemaGraphs
from seine.algebra.serialise import plan_from_json
from seine.catalog import CatalogView, QueryPosition, StoredQuery
from seine.errors import RunError
from seine.frontends.script.script import Declarations
from seine.network.network import Network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure
from seine.runtime.history_replay import HistoryStart
from seine.service.access.allow_list import confine
from seine.service.published_view import RegisteredQuery, ServiceView, frozen
from seine.typed_json import typed_value


@dataclass(frozen=True)
class RelationsInUse:
    """The relations that running queries read: how many queries name each one, and the tuples of all."""

    uses: Counter[str] = field(default_factory=Counter)
    tuples: Mapping[str, pa.RecordBatch] = field(default_factory=dict)


def restore(
    catalog: CatalogView,
    deployment: Deployment,
    roots: tuple[str, ...],
    strategy: Strategy = CONFIGURATIONS["all"],
) -> tuple[ServiceView, Network, RelationsInUse]:
    """What a catalog says is registered; the network is the version that it names.

    Files are read within `roots` alone.
    """
    version, last = catalog.version(), deployment.journal.last()
    if last is not None and last.network > version:
        raise RunError(
            f"the catalog is older than the pipeline: it knows version {version} of the network, "
            f"entry {last.number} was cut for version {last.network}",
            hint="put the catalog back that belongs to this folder",
        )
    network = deployment.versions.network(version, strategy)
    declared = Declarations(catalog.streams(), catalog.relations(), catalog.edges())
    confine(declared, Declarations(), roots)
    graphs = SchemaGraphs(declared.tables, declared.edges)
    registered = {query.name.lower(): _registered(query, network, graphs) for query in catalog.queries()}
    for key, one in registered.items():
        declared.add_query(key, one.query)
    declared.views.update(typed_value(catalog.setting("views", {}), dict[str, ViewDef]))
    sinks = {one.definition.name.lower(): one for one in catalog.sinks()}
    declared.sinks.update((key, one.definition) for key, one in sinks.items())
    view = ServiceView(
        declared,
        frozen(registered),
        version,
        frozen(network.nodes),
        network.next_id,
        network.depth,
        catalog.setting("epoch", 0),
        frozen(catalog.setting("since", {})),
        frozen(typed_value(catalog.setting("failures", {}), dict[str, Failure])),
        histories=frozen(typed_value(catalog.setting("histories", {}), dict[str, HistoryStart])),
        sinks=frozen(sinks),
    )
    running = (one.query for one in registered.values() if not one.paused)
    return (
        view,
        network,
        RelationsInUse(relations_of(running, declared), deployment.versions.relations(version)),
    )


def relations_of(queries: Iterable[Query], declared: Declarations) -> Counter[str]:
    """How many of these queries name each relation; searches that follow the schema name none."""
    return Counter(name for query in queries for name in tables_needed(query) if name in declared.relations)


def _registered(stored: StoredQuery, network: Network, graphs: SchemaGraphs) -> RegisteredQuery:
    options = tuple(stored.options.items())
    query = Query(stored.name, plan_from_json(stored.plan, graphs), options, stored.text)
    nodes = network.used_nodes(stored.name)
    position = stored.position or QueryPosition(0, 0, {})
    return RegisteredQuery(query, stored.birth_epoch, position, stored.paused, nodes, stored.owner)
