"""Relations that change while queries run: a change is a version of the network with other tuples.

A followed relation is looked at before each journal entry is cut. If its files are others than before it is
read again, whole, and becomes part of the next network version; entries name their version, so a replay sees
what the first run saw. When its tuples count, VALID says: a tuple of a stream is joined with the relation as
it was in the entry in which its instant was complete, and no result is retracted for a later change.

Cites: STAR 2.2
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from seine.algebra.definitions import RelationDef
from seine.lifecycle.edited_network import RelationsInUse
from seine.lifecycle.view import View
from seine.network.network import Network
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.relation_watch import RelationWatch

_logger = logging.getLogger(__name__)


class FollowedRelations:
    """Looks at the relations that running queries read and that are followed."""

    def __init__(self, deployment: Deployment, notice: Callable[[str], None]) -> None:
        self._deployment = deployment
        self._watch = RelationWatch(notice)

    def close(self) -> None:
        """Look at them no more."""
        self._watch.close()

    @staticmethod
    def of(view: View, relations: RelationsInUse) -> dict[str, RelationDef]:
        """The relations to look at, by name."""
        declared = view.declared.relations
        return {name: declared[name] for name in relations.tuples if declared[name].followed}

    def changed(self, view: View, relations: RelationsInUse, network: Network) -> RelationsInUse | None:
        """The relations as they are now, with the files of a new version; None if they are as they were."""
        fresh, dead = self._watch.look(self.of(view, relations), relations.tuples)
        if not fresh:
            return None
        tuples = {**relations.tuples, **fresh}
        change = network.renew()
        streams = view.declared.streams.values()
        self._deployment.versions.extend(network, change, streams, tuples, dead)
        _logger.info("relations changed", extra={"relations": ", ".join(fresh), "version": network.version})
        return replace(relations, tuples=tuples)
