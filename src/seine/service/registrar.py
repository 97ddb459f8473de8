"""Registers, drops, pauses and replaces: one change at a time, all of it or nothing.

Law: a change takes effect with one journal entry, for everybody. The entry before it has the old
network version and the old epoch, the entry after it the new ones; the queries that begin count tuples
of the new epoch.

The order of what becomes durable is what makes a crash harmless: first the files of the new
network version, which nobody reads yet, then the catalog, in one transaction, which names that version;
only then can an entry be cut that asks for it. Whatever a crash leaves half done has no name in
the catalog and is written over by the next change.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import pyarrow as pa

from seine.algebra.definitions import RelationDef
from seine.algebra.plan import Query
from seine.catalog import Catalog
from seine.catalog.index import Placement
from seine.errors import SeineError, TakenError
from seine.graph.snapshot import NetworkChange
from seine.intake.admission import Letter
from seine.intake.feed import StreamFeed
from seine.intake.intake import Intake
from seine.intake.relations import check_relation, load_relation
from seine.network.network import Network
from seine.network.plan.blocks import Blocks
from seine.network.plan.output_form import limit_of
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.sampling import StreamSamples
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.output.sink import Sink
from seine.safety.read_statements import read_statements
from seine.service.commit_edit import enter
from seine.service.edit import Edit, edit_of_drop, edit_of_pause, edit_of_resume, edit_of_script
from seine.service.folder import ServiceFolder
from seine.service.indexing import placements
from seine.service.place import StreamPositions
from seine.service.present import Present, RegisteredQuery, relations_of
from seine.service.related import MOST_QUERIES, Related, related

MOST_DEPTH = 24  # a stage costs time in every micro-batch, however small
_LONG = 1 << 17  # characters; a longer script makes so many objects that looking at all of them is in vain
_RARE = (1_000_000, 100, 1_000)
_MOST_ADDED_WHILE_ENTRIES_WAIT = (
    100  # so many queries are added while entries wait; more of them must not stop the stream
)


Computed = Mapping[str, list[Placement]]  # by query


@contextmanager
def rare_collections(wanted: bool) -> Iterator[None]:
    """Let garbage be looked for among the young, and hardly ever among objects that all stay."""
    usual = gc.get_threshold()
    if wanted:
        gc.set_threshold(*_RARE)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@dataclass(frozen=True)
class Outcome:
    """What a change did: from `entry` on, `version` of the network runs.

    `computes` is what the queries that begin compute; `related`, what they have in common with others,
    None if nobody has looked.
    """

    version: int
    entry: int
    registered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    computes: Computed = field(default_factory=dict)
    related: Mapping[str, list[Related]] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "entry": self.entry,
            "registered": list(self.registered),
            "dropped": list(self.dropped),
            "related": None if self.related is None else _related_to_json(self.related),
        }


class Registrar:
    """Changes what stands. Any thread may call it; changes take turns.

    `turn` is held by whoever cuts an entry, and here while a change becomes true.
    """

    def __init__(
        self,
        folder: ServiceFolder,
        catalog: Catalog,
        deployment: Deployment,
        present: Present,
        turn: AbstractContextManager[object],
    ) -> None:
        self.present = present
        self.samples = StreamSamples()
        self._folder = folder
        self._catalog = catalog
        self._deployment = deployment
        self._turn = turn
        self._one_at_a_time = Lock()

    def connect(self, intake: Intake, sink: Sink) -> None:
        """Name those who must hear of changes, before the first one."""
        self._intake = intake
        self._sink = sink

    def register(self, text: str, *, file: str, folder: str, replace: bool = False) -> Outcome:
        """Carry out a script; refused whole, with a position and a hint, it leaves no trace."""
        with self._one_at_a_time, rare_collections(len(text) > _LONG):
            script = read_statements(text, file, folder, self.present.declared, replace=replace)
            return self._carry_out(edit_of_script(script))

    def drop(self, name: str) -> Outcome:
        """Drop a query; what only it used is freed."""
        with self._one_at_a_time:
            return self._carry_out(edit_of_drop(self.present, self._key(name)))

    def pause(self, name: str) -> Outcome:
        """Take a query out of the network, but keep its declaration."""
        with self._one_at_a_time:
            return self._carry_out(edit_of_pause(self.present, self._key(name, paused=False)))

    def resume(self, name: str) -> Outcome:
        """Let a paused query run again; it counts from now on, like a new one."""
        with self._one_at_a_time:
            return self._carry_out(edit_of_resume(self.present, self._key(name, paused=True)))

    def related(self, name: str) -> list[Related]:
        """What a query has in common with the others, at this moment."""
        present = self.present
        one = present.find(name)
        plan = present.network.plan_of(one.query, one.born)
        with self._catalog.read() as snapshot:
            return related(snapshot, placements(one.query.name, plan, Blocks()))

    def relate(self, outcome: Outcome) -> Outcome:
        """Say of queries that begin what they have in common with others, if they are not too many.

        The change is true already, and the next one need not wait for this.
        """
        computes = outcome.computes
        if len(computes) > MOST_QUERIES:
            return outcome
        with self._catalog.read() as snapshot:
            return replace(outcome, related={name: related(snapshot, computes[name]) for name in computes})

    def _key(self, name: str, paused: bool | None = None) -> str:
        found = self.present.find(name)
        if paused is not None and found.paused != paused:
            raise TakenError(f"query {found.query.name} is {'not paused' if paused else 'paused already'}")
        return found.query.name.lower()

    def _carry_out(self, edit: Edit) -> Outcome:
        try:
            return self._try(edit)
        except _TooDeep as found:
            self._intake.hand_over(found.depth)
            return self._try(edit)

    def _try(self, edit: Edit) -> Outcome:
        with ExitStack() as undo:
            for relation in edit.relations(self.present):
                _refuse_followed(relation)
                check_relation(relation)
            feeds = self._open_feeds(edit, undo)
            few = len(edit.come) <= _MOST_ADDED_WHILE_ENTRIES_WAIT
            with self._turn if few else nullcontext():
                born = self._born(few)
                after, change, dead, computes = self._work_out(edit, born, undo)
                if change is not None:
                    streams = after.declared.streams.values()
                    versions = self._deployment.versions
                    versions.extend(after.network, change, streams, after.relations, dead)
                with self._turn:
                    outcome = self._become_true(edit, after, feeds, born, computes)
            undo.pop_all()
            return outcome

    def _open_feeds(self, edit: Edit, undo: ExitStack) -> list[StreamFeed]:
        """The streams that are to join; refuses those that cannot be read, or are what we write."""
        feeds = []
        for stream in edit.streams(self.present)[0]:
            if stream.source is not None:
                refuse_overwriting([self._folder.results, self._folder.dead], [stream.source.path])
            feeds.append(self._intake.open(stream))
            undo.callback(feeds[-1].close)
        return feeds

    def _restore_network(self) -> None:
        """The network as it was, from its files; a query that was refused by itself has not changed it."""
        standing = self.present.network
        if standing.version == self.present.version and not standing.changed:
            return
        network = self._deployment.versions.network(self.present.version, self.present.network.strategy)
        self.present = replace(self.present, network=network)

    def _born(self, held: bool) -> int:
        """The epoch of queries that begin: one that no entry has, nor will have before they run.

        While entries wait, that may be one that was announced and not used yet, so that
        queries that are registered one after the other between two entries are of one age.
        """
        last = self._deployment.journal.last()
        unused = last is None or last.epoch < self.present.epoch
        return self.present.epoch + (0 if held and unused else 1)

    def _work_out(
        self, edit: Edit, born: int, undo: ExitStack
    ) -> tuple[Present, NetworkChange | None, list[Letter], Computed]:
        """What will stand, but for positions; how the network changes; dead letters of relations; and
        what the queries that begin compute.
        """
        present = self.present
        begin, cease = edit.begin(present), edit.cease(present)
        uses = present.uses + relations_of(begin.values(), edit.declared)
        uses = uses - relations_of(cease.values(), present.declared)
        relations, dead = _read_relations(present, edit, uses)
        undo.callback(self._restore_network)
        computes = self._change_network(edit, list(cease.values()), begin, born)
        change = present.network.take_change()
        after = replace(
            present,
            declared=edit.declared,
            version=present.network.version,
            nodes=len(present.network.nodes),
            next_id=present.network.next_id,
            depth=present.network.depth,
            epoch=max(present.epoch, born) if begin else present.epoch,
            relations=relations,
            uses=uses,
        )
        return after, change, dead, computes

    def _change_network(self, edit: Edit, cease: list[Query], begin: dict[str, Query], born: int) -> Computed:
        """Take queries out and add others; the result is what these compute."""
        network = self.present.network
        computes = {}
        network.estimates = self.samples.estimates()
        network.room = planned_depth(self._deployment)
        for query in cease:
            network.remove(query.name)
        joining, leaving = edit.streams(self.present)
        for name in leaving:
            if name in network.watched:
                network.unwatch(name)
        for stream in joining:
            if stream.retractable and stream.window is not None:  # without a window it would grow for ever
                network.watch(stream)
        for key, query in begin.items():
            try:
                added = network.add(query, born)
            except SeineError as error:
                error.where = error.where or edit.positions.get(key)
                raise
            computes[query.name] = placements(query.name, added.plan, added.blocks)
        _refuse_deep(network, begin.values())
        if network.depth > planned_depth(self._deployment):
            raise _TooDeep(network.depth)
        return computes

    def _become_true(
        self, edit: Edit, after: Present, feeds: list[StreamFeed], born: int, computes: Computed
    ) -> Outcome:
        """Make a change durable and then true; `turn` is held, so no entry is cut meanwhile."""
        present = self.present
        begin, cease = edit.begin(present), edit.cease(present)
        place = StreamPositions.next(self._deployment.journal, self._sink.settled)
        standing = edit.standing(
            present, {q: RegisteredQuery(begin[q], born, place.of(begin[q])) for q in begin}
        )
        _, leaving = edit.streams(present)
        since = {name: entry for name, entry in present.since.items() if name in after.declared.streams}
        since.update({feed.stream.name: place.entry for feed in feeds})
        after = replace(after, standing=standing, since=since)
        enter(self._catalog, edit, present, after, [one for some in computes.values() for one in some])
        self.present = after
        self._intake.change(feeds, leaving)
        limits = {query.name: limit_of(query) for query in begin.values()}
        self._sink.roster.announce(place.entry, [query.name for query in cease.values()], limits)
        dropped = [present.standing[key].query.name for key in sorted(edit.go)]
        return Outcome(after.version, place.entry, tuple(limits), tuple(dropped), computes)


def _refuse_followed(relation: RelationDef) -> None:
    if relation.followed:
        message = f"relation {relation.name} cannot be followed in a service yet"
        raise SeineError(message, hint="leave the option follow out; seine run follows relations")


def _related_to_json(related: Mapping[str, list[Related]]) -> dict[str, Any]:
    return {name: [one.to_json() for one in found] for name, found in related.items()}


class _TooDeep(Exception):
    """The pipeline must get more stages before this can be."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth)
        self.depth = depth


def planned_depth(deployment: Deployment) -> int:
    """The stages that the pipeline has, or will have when it gets to the last entry."""
    waiting = [entry.handover for entry in deployment.journal.entries()]
    depth = deployment.settings.depth  # read last: entries that are gone left their mark here
    return max([depth, *waiting])


def _refuse_deep(network: Network, queries: Iterable[Query]) -> None:
    if network.depth > MOST_DEPTH:
        query = max(queries, key=lambda query: max(node.stage for node in network.beneath(query.name)))
        raise SeineError(
            f"query {query.name} needs {network.depth} stages above one another; the most is {MOST_DEPTH}",
            hint="split it",
        )


def _read_relations(
    present: Present, edit: Edit, uses: Counter[str]
) -> tuple[dict[str, pa.RecordBatch], list[Letter]]:
    """The tuples of every relation in use; one that comes into use is read now."""
    relations: dict[str, pa.RecordBatch] = {}
    dead: list[Letter] = []
    for name in uses:
        definition = edit.declared.relations[name]
        if name in present.relations and present.declared.relations[name] is definition:
            relations[name] = present.relations[name]
        else:
            relations[name], letters = load_relation(definition)
            dead += letters
    return relations, dead
