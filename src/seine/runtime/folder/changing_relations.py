"""Relations that change while queries run, as a log of versions.

A followed relation is looked at before each journal entry is cut. If its files are others than before it is
read again, whole, and becomes part of the next network version; entries name their version, so a replay sees
what the first run saw. When its tuples count, VALID says: a tuple of a stream is joined with the relation as
it was in the entry in which its instant was complete, and no result is retracted for a later change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from seine.algebra.definitions import RelationDef, StreamDef
from seine.network.network import Network
from seine.runtime.folder.relation_watch import RelationWatch
from seine.runtime.folder.versions import Versions

_logger = logging.getLogger(__name__)


class ChangingRelations:
    """Keeps the version of a network in step with its relations."""

    def __init__(
        self,
        network: Network,
        versions: Versions,
        streams: Iterable[StreamDef],
        relations: Iterable[RelationDef],
        current: Mapping[str, pa.RecordBatch],
        notice: Callable[[str], None],
    ) -> None:
        """`current` are the tuples of all relations in the network's version; nothing if none is followed."""
        self._network, self._versions, self._streams = network, versions, list(streams)
        self._followed = {relation.name: relation for relation in relations if relation.followed}
        self._current = dict(current)
        self._watch = RelationWatch(notice)

    def version(self) -> int:
        """The version of the network, a new one if a relation has changed."""
        fresh, dead = self._watch.look(self._followed, self._current)
        if fresh:
            self._current = {**self._current, **fresh}
            change = self._network.renew()
            _logger.info(
                "relations changed", extra={"relations": ", ".join(fresh), "version": self._network.version}
            )
            self._versions.extend(self._network, change, self._streams, self._current, dead)
        return self._network.version

    def close(self) -> None:
        """Look at them no more."""
        self._watch.close()
