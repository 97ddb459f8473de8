"""What an edit does to the network and needs of relations, and how many stages that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from seine.algebra.plan import Query
from seine.errors import SeineError
from seine.intake.admission import Letter
from seine.intake.journal import Entry
from seine.intake.retained_entries import RetainedEntries
from seine.intake.spark_feed import PipelineShape
from seine.lifecycle.change_inputs import NeededRelations, RelationReads, RelationsInUse, relations_of
from seine.lifecycle.edit import Computed, Edit
from seine.lifecycle.query_history import history_of, refuse_history
from seine.lifecycle.view import View
from seine.network.network import AddedQuery, Network
from seine.network.searches.schema_change import SchemaChange
from seine.runtime.folder.deployment import Deployment

if TYPE_CHECKING:
    from seine.catalog.index import Placement


Describe: TypeAlias = "Callable[[Query, AddedQuery], list[Placement]]"


@dataclass(frozen=True)
class EditedNetwork:
    """An edit of what is registered, and the network and relations that it changes."""

    edit: Edit
    view: View
    network: Network
    relations: RelationsInUse

    def carry_out(
        self, birth_epoch: int, schema: SchemaChange, retained: RetainedEntries | None, describe: Describe
    ) -> Computed:
        """Take queries out and add others; the result is what these compute, as it is described."""
        edit, network = self.edit, self.network
        begin = edit.begin(self.view)
        for query in edit.cease(self.view).values():
            network.remove(query.name)
        self._change_streams(schema)
        computes = self._add(begin, birth_epoch, retained, describe)
        if any(query.plan.follows_schema for query in begin.values()):
            network.follow_schema(schema)
        refuse_deep(network, begin.values())
        return computes

    def _change_streams(self, schema: SchemaChange) -> None:
        """Let streams, relations and join edges come and go."""
        edit, network = self.edit, self.network
        joining, leaving = edit.streams(self.view)
        forgotten = edit.forgotten(self.view)
        if forgotten:
            network.follow_schema(schema.without(forgotten))
        for name in leaving:
            if name in network.watched:
                network.unwatch(name)
        for stream in joining:
            if stream.retractable and stream.window is not None:  # without a window it would grow for ever
                network.watch(stream)
        if edit.changes_schema(self.view):
            network.follow_schema(schema)

    def _add(
        self,
        begin: Mapping[str, Query],
        birth_epoch: int,
        retained: RetainedEntries | None,
        describe: Describe,
    ) -> Computed:
        """Add queries; a refusal says where its query is."""
        computes = {}
        for key, query in begin.items():
            replayed = key in self.edit.come and history_of(query) is not None
            try:
                refuse_history(query, retained)
                added = self.network.add(query, 0 if replayed else birth_epoch, replayed=replayed)
            except SeineError as error:
                error.where = error.where or self.edit.positions.get(key)
                raise
            computes[query.name] = describe(query, added)
        return computes

    def needed_relations(self) -> NeededRelations:
        """What must be read before the edit can be carried out."""
        edit = self.edit
        declared = edit.relations(self.view)
        begin = edit.begin(self.view).values()
        names = {*self._read(begin), *(edit.joined_relations() if self._follows(begin) else ())}
        used = [edit.declared.relations[name] for name in sorted(names) if not self._in_use(name)]
        return NeededRelations(tuple(declared), tuple(used))

    def _follows(self, begin: Iterable[Query]) -> bool:
        return self.network.follows_schema or any(query.plan.follows_schema for query in begin)

    def _read(self, queries: Iterable[Query]) -> Counter[str]:
        return relations_of(queries, self.edit.declared)

    def relations_in_use(self, reads: RelationReads) -> tuple[RelationsInUse, list[Letter]]:
        """The tuples of every relation in use, and dead letters of those that were read for this.

        A dropped one is in use while searches may find trees that were there before.
        """
        edit, view = self.edit, self.view
        uses = self.relations.uses + self._read(edit.begin(view).values())
        uses = uses - relations_of(edit.cease(view).values(), view.declared)
        tuples: dict[str, pa.RecordBatch] = {}
        dead: list[Letter] = []
        for name in sorted({*uses, *self.network.searched_relations}):
            if self._in_use(name):
                tuples[name] = self.relations.tuples[name]
            else:
                _, tuples[name], letters = reads.loaded(edit.declared.relations[name])
                dead += letters
        return RelationsInUse(uses, tuples), dead

    def _in_use(self, name: str) -> bool:
        """Whether the tuples of a relation that the edit speaks of are at hand."""
        before = self.view.declared.relations.get(name)
        after = self.edit.declared.relations.get(name)
        return name in self.relations.tuples and (after is None or after is before)


def schema_change(edit: Edit, epoch: int, last: Entry | None) -> SchemaChange:
    """What is declared after an edit, from an epoch on; `last` is the last entry before it."""
    declared = edit.declared
    change = SchemaChange(declared.streams, declared.relations, declared.edges, epoch)
    if last is None:
        return change
    progress = {stream: last.clock.progress([stream]) for stream in last.clock.watermarks}
    return replace(change, latest=max(last.clock.now.values(), default=0), progress=progress)


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


def refuse_deep(network: Network, queries: Collection[Query]) -> None:
    """Refuse queries with which the network needs more stages than a pipeline may have."""
    if queries and network.depth > MOST_DEPTH:
        query = max(queries, key=lambda query: max(node.stage for node in network.beneath(query.name)))
        raise SeineError(
            f"query {query.name} needs {network.depth} stages above one another; the most is {MOST_DEPTH}",
            hint="split it",
        )
