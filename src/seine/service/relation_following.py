"""Relations that change while a service runs: a change is a version of the network with other tuples.

As with every change (`registrar.py`), first the files of the version are there, then the catalog names it,
and then an entry can ask for it. So after a crash an entry is joined with the same tuples again.

Cites: STAR 2.2
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from seine.algebra.definitions import RelationDef
from seine.catalog import Catalog
from seine.network.network import Network
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.relation_watch import RelationWatch
from seine.service.published_view import ServiceView
from seine.service.restore import RelationsInUse

_logger = logging.getLogger(__name__)


class RelationFollowing:
    """Looks at the relations that running queries read and that are followed."""

    def __init__(self, catalog: Catalog, deployment: Deployment, notice: Callable[[str], None]) -> None:
        self._catalog = catalog
        self._deployment = deployment
        self._watch = RelationWatch(notice)

    def close(self) -> None:
        """Look at them no more."""
        self._watch.close()

    @staticmethod
    def followed(view: ServiceView, relations: RelationsInUse) -> dict[str, RelationDef]:
        """The relations to look at, by name."""
        declared = view.declared.relations
        return {name: declared[name] for name in relations.tuples if declared[name].followed}

    def changed(
        self, view: ServiceView, relations: RelationsInUse, network: Network
    ) -> RelationsInUse | None:
        """The relations as they are now, with the files of a new version; None if they are as they were."""
        fresh, dead = self._watch.look(self.followed(view, relations), relations.tuples)
        if not fresh:
            return None
        tuples = {**relations.tuples, **fresh}
        change = network.renew()
        streams = view.declared.streams.values()
        self._deployment.versions.extend(network, change, streams, tuples, dead)
        _logger.info("relations changed", extra={"relations": ", ".join(fresh), "version": network.version})
        return replace(relations, tuples=tuples)

    def name(self, view: ServiceView, network: Network) -> ServiceView:
        """Name the new version in the catalog, from which moment on it is true; the view that has it."""
        with self._catalog.change() as change:
            change.save_version(network.version)
        return replace(view, version=network.version)
