"""What a change reads and opens before it has its turn, and relations that are read again while queries run.

Reading may take as long as a database likes, and a disk may not answer. So it is done while nobody waits;
when the change has its turn it is looked whether that is what it needs: another may have come before it.

A followed relation is looked at before each journal entry is cut. If its files are others than before it is
read again, whole, and becomes part of the next network version; entries name their version, so a replay sees
what the first run saw. When its tuples count, VALID says: a tuple of a stream is joined with the relation as
it was in the entry in which its instant was complete, and no result is retracted for a later change.

Cites: STAR 2.2
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.plan import Query, tables_needed
from seine.frontends.script.script import Declarations
from seine.intake.admission import Letter
from seine.intake.feed import Feed
from seine.intake.relations import check_relation, load_relation
from seine.lifecycle.view import View
from seine.network.network import Network
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.relation_watch import RelationWatch

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RelationsInUse:
    """The relations that running queries read: how many queries name each one, and the tuples of all."""

    uses: Counter[str] = field(default_factory=Counter)
    tuples: Mapping[str, pa.RecordBatch] = field(default_factory=dict)


def relations_of(queries: Iterable[Query], declared: Declarations) -> Counter[str]:
    """How many of these queries name each relation; searches that follow the schema name none."""
    known = declared.relations
    return Counter(name for query in queries if known for name in tables_needed(query) if name in known)


class LoadedRelation(NamedTuple):
    """The tuples of a relation as they were read, and its dead letters."""

    definition: RelationDef
    tuples: pa.RecordBatch
    dead: list[Letter]


@dataclass(frozen=True)
class NeededRelations:
    """The relations that a change declares, and those that come into use with it."""

    declared: tuple[RelationDef, ...]
    used: tuple[RelationDef, ...]


@dataclass
class RelationReads:
    """Relations that were read, or only looked at, by name."""

    _loaded: dict[str, LoadedRelation] = field(default_factory=dict)
    _checked: dict[str, RelationDef] = field(default_factory=dict)

    def suffice(self, needed: NeededRelations) -> bool:
        """Has everything been read that a change needs, as it is declared now?"""
        return all(map(self._has, needed.used)) and all(map(self._knows, needed.declared))

    def read(self, needed: NeededRelations) -> None:
        """Read what is missing; an error if it cannot be read."""
        for relation in _missing(needed.used, self._has):
            self._loaded[relation.name] = LoadedRelation(relation, *load_relation(relation))
        for relation in _missing(needed.declared, self._knows):
            check_relation(relation)
            self._checked[relation.name] = relation

    def loaded(self, relation: RelationDef) -> LoadedRelation:
        """What was read of a relation."""
        if not self._has(relation):
            raise LookupError(f"relation '{relation.name}' was not read")
        return self._loaded[relation.name]

    def _has(self, relation: RelationDef) -> bool:
        loaded = self._loaded.get(relation.name)
        return loaded is not None and loaded.definition == relation

    def _knows(self, relation: RelationDef) -> bool:
        return self._has(relation) or self._checked.get(relation.name) == relation


def _missing(relations: Iterable[RelationDef], known: Callable[[RelationDef], bool]) -> list[RelationDef]:
    return [relation for relation in relations if not known(relation)]


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
        standing = [declared[name] for name in relations.tuples if name in declared]
        return {relation.name: relation for relation in standing if relation.followed}

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


class OpenedFeeds:
    """Feeds by the name of their stream; `close` closes those that nobody took."""

    def __init__(self, open_feed: Callable[[StreamDef], Feed]) -> None:
        """`open_feed` refuses a stream that cannot be read, or is what we write."""
        self._open_feed = open_feed
        self._feeds: dict[str, Feed] = {}

    def suffice(self, needed: Iterable[StreamDef]) -> bool:
        """Has every stream been opened, as it is declared now?"""
        return all(map(self._has, needed))

    def open(self, needed: Iterable[StreamDef]) -> None:
        """Open what is missing; an error if that cannot be read."""
        for stream in needed:
            if not self._has(stream):
                self._close(stream.name)
                self._feeds[stream.name] = self._open_feed(stream)

    def of(self, needed: Iterable[StreamDef]) -> list[Feed]:
        """The feeds of these streams, which must have been opened."""
        return [self._feeds[stream.name] for stream in needed]

    def take(self, feeds: Sequence[Feed]) -> None:
        """Leave feeds to somebody who closes them."""
        for feed in feeds:
            del self._feeds[feed.stream.name]

    def close(self) -> None:
        """Close those that are left."""
        for name in [*self._feeds]:
            self._close(name)

    def _close(self, name: str) -> None:
        if name in self._feeds:
            self._feeds.pop(name).close()

    def _has(self, stream: StreamDef) -> bool:
        feed = self._feeds.get(stream.name)
        return feed is not None and feed.stream == stream
