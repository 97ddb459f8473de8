"""Registers, drops, pauses and replaces: one change at a time, all of it or nothing.

Law: a change takes effect with one journal entry, for everybody. The entry before it has the old
network version and the old epoch, the entry after it the new ones; the queries that begin count tuples
of the new epoch.

The order of what becomes durable is what makes a crash harmless: first the files of the new
network version, which nobody reads yet, then the catalog, in one transaction, which names that version;
only then can an entry be cut that asks for it, and only then is a view of it published. Whatever a crash
leaves half done has no name in the catalog and is written over by the next change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.catalog import Catalog
from seine.errors import TakenError
from seine.frontends.script.script import Script
from seine.graph.snapshot import NetworkChange
from seine.intake.admission import Letter
from seine.intake.feed import StreamFeed
from seine.intake.intake import Intake
from seine.intake.retained_entries import RetainedEntries
from seine.network.network import Network, PreviewedQuery
from seine.network.plan.output_form import limit_of
from seine.network.plan.running_plan import running_plan
from seine.optimizer.block import Blocks
from seine.rare_collections import rare_collections
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, withhold_gone
from seine.runtime.folder.sample_files import SampleFiles
from seine.runtime.folder.sampling import StreamSamples
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.sink import Sink
from seine.safety.verdict import read_statements
from seine.service.access.allow_list import confine
from seine.service.access.principal import LOCAL, Principal, changed_declarations, refuse_forbidden
from seine.service.access.quotas import Quota
from seine.service.answers import MOST_QUERIES
from seine.service.commit_edit import enter, enter_moves
from seine.service.edit import (
    Edit,
    Notes,
    edit_of_drop,
    edit_of_failures,
    edit_of_pause,
    edit_of_resume,
    edit_of_script,
)
from seine.service.edited_network import (
    EditedNetwork,
    RelationReads,
    TooDeepError,
    planned_depth,
    schema_change,
)
from seine.service.folder import ServiceFolder
from seine.service.indexing import placements
from seine.service.opened_feeds import OpenedFeeds
from seine.service.outcome import Computed, Outcome
from seine.service.published_state import Publisher
from seine.service.published_view import RegisteredQuery, ServiceView, frozen
from seine.service.query_history import refuse_history, starts_of, with_history
from seine.service.related import Related, related
from seine.service.relation_following import RelationFollowing
from seine.service.restore import RelationsInUse
from seine.service.settled_births import SettledBirths
from seine.service.source_gate import SourceGate
from seine.service.standing_sinks import standing_sinks
from seine.service.stream_positions import StreamPositions

_logger = logging.getLogger(__name__)

Reading = TypeVar("Reading")

_MOST_LOGGED_NAMES = 5  # of queries that begin or end in one change
_LONG_SCRIPT = 1 << 17  # characters; a longer one makes so many objects that looking at all is in vain
_MOST_SECONDS_FOR_A_TURN = 1.0  # that an entry waits for a change to be over, to look at relations
_MOST_ADDED_WHILE_ENTRIES_WAIT = 100  # queries; more of them must not stop the stream


class Registrar:
    """Changes what is registered. Any thread may call it; changes take turns.

    `turn` is held by whoever cuts an entry, and here while a change becomes true. The `network` is changed
    in place, before it is known whether the change will be refused: only the thread whose turn it is may look
    at it. Everybody else reads `view`, or what was published.
    """

    def __init__(
        self,
        folder: ServiceFolder,
        catalog: Catalog,
        deployment: Deployment,
        restored: tuple[ServiceView, Network, RelationsInUse],
        turn: AbstractContextManager[object],
        sources: SourceGate,
        notice: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.view, self.network, self.relations = restored
        self.samples = StreamSamples()
        self.sample_files = SampleFiles(folder.samples)
        self.sample_files.load(self.samples, self.view.declared.streams)
        self._folder = folder
        self._sources = sources
        self._catalog = catalog
        self._deployment = deployment
        self._turn = turn
        self._one_at_a_time = Lock()
        self._following = RelationFollowing(catalog, deployment, notice)
        self._settled = SettledBirths()
        self._settled.begin(self.view.registered.values(), self.view.nodes)

    def prepare_entry(self) -> None:
        """Take in what has changed in relations that are followed, for the entry that comes next, and let
        queries that have settled share what is equal to theirs.

        Who calls it keeps lines from being admitted, for which a change that makes the pipeline deeper waits:
        so it does not wait long for its turn, and an entry later will do.
        """
        followed = self._following.followed(self.view, self.relations)
        if not followed and not self._settled.is_due(self._deployment.journal.last()):
            return
        if not self._one_at_a_time.acquire(timeout=_MOST_SECONDS_FOR_A_TURN):
            return
        try:
            if followed:
                self._renew_relations()
            self._join_settled()
        finally:
            self._one_at_a_time.release()

    def _join_settled(self) -> None:
        """Let queries go on with groups of other births where these are equal; see `settled_births`."""
        last = self._deployment.journal.last()
        with ExitStack() as undo:
            undo.callback(self._restore_network)
            moved = self._settled.join(self.view, self.network, last)
            change = self.network.take_change()
            if change is not None:
                streams = self.view.declared.streams.values()
                self._deployment.versions.extend(self.network, change, streams, self.relations.tuples, [])
                with self._turn:
                    after = self.view.moved(moved, self.network)
                    enter_moves(self._catalog, after, moved)
                    self.view = after
                    self._publisher.publish_view(after)
                extra = {"version": after.version, "queries": _shown([*moved])}
                _logger.info("queries share groups of other births", extra=extra)
            undo.pop_all()

    def _renew_relations(self) -> None:
        with ExitStack() as undo:
            undo.callback(self._restore_network)
            changed = self._following.changed(self.view, self.relations, self.network)
            if changed is not None:
                with self._turn:
                    self.view = self._following.name(self.view, self.network)
                    self.relations = changed
                    self._publisher.publish_view(self.view)
            undo.pop_all()

    def connect(
        self,
        intake: Intake,
        sink: Sink,
        publisher: Publisher,
        retained: RetainedEntries | None,
        secrets: OptionSecrets,
        quota: Quota,
        leave_out: Callable[[Collection[str]], None] = lambda queries: None,
    ) -> None:
        """Name those who must hear of changes, before the first one, and what new ones may need.

        `leave_out` is told which queries are to run no more.
        """
        self._leave_out = leave_out
        self._retained, self._secrets, self._quota = retained, secrets, quota
        self._intake, self._sink, self._publisher = intake, sink, publisher

    def register(
        self,
        text: str,
        *,
        file: str,
        folder: str,
        replace: bool = False,
        by: Principal = LOCAL,
        notes: Notes = (),
    ) -> Outcome:
        """Carry out a script; refused whole, with a position and a hint, it leaves no trace."""

        def edit() -> Edit:
            known, pushed, roots = self.view.declared, self._folder.pushed, self.source_roots
            script = read_statements(text, file, folder, known, replace=replace, pushed=pushed, within=roots)
            confine(script.declarations, known, roots)
            return edit_of_script(script)

        return self._change(edit, by, notes, large=len(text) > _LONG_SCRIPT)

    def drop(self, name: str, by: Principal = LOCAL, notes: Notes = ()) -> Outcome:
        """Drop a query; what only it used is freed."""
        return self._change(lambda: edit_of_drop(self.view, self._key(name)), by, notes)

    def pause(self, name: str, by: Principal = LOCAL, notes: Notes = ()) -> Outcome:
        """Take a query out of the network, but keep its declaration."""
        return self._change(lambda: edit_of_pause(self.view, self._key(name, paused=False)), by, notes)

    def resume(self, name: str, by: Principal = LOCAL, notes: Notes = ()) -> Outcome:
        """Let a query that is paused, or failed, run again; it counts from now on, like a new one."""
        return self._change(lambda: edit_of_resume(self.view, self._key(name, paused=True)), by, notes)

    @property
    def source_roots(self) -> tuple[str, ...]:
        """The folders in which files are read."""
        return self._sources.roots

    def close(self) -> None:
        """Look at relations no more."""
        self._following.close()

    def look(self, read: Callable[[Network], Reading]) -> Reading:
        """What somebody reads of the live network; changes wait meanwhile, so it must not take long."""
        with self._one_at_a_time:
            return read(self.network)

    def refuse_script(self, script: Script, by: Principal) -> None:
        """Refuse a script that somebody may not have carried out, as `register` would."""
        refuse_forbidden(edit_of_script(script), self.view, by)

    def preview(self, query: Query) -> tuple[PreviewedQuery, list[Related]]:
        """What a registration of a query would do, and what it has in common with others; nothing changes."""
        with self._one_at_a_time:
            refuse_history(query, self._retained)
            network, stages = self.network, planned_depth(self._deployment)
            network.estimates, network.stages = self.samples.estimates(), stages
            try:
                previewed = network.preview(query, self.view.epoch + 1)
            finally:
                self._restore_network()
        placed = placements(query.name, previewed.added.plan, previewed.added.blocks)
        with self._catalog.read() as snapshot:
            return previewed, related(snapshot, placed)

    def related(self, name: str) -> tuple[Query, list[Related]]:
        """A query, and what it has in common with the others at this moment."""
        view = self.view
        registered = view.find(name)
        if isinstance(registered.query.plan, Search | DocumentQuery):  # they enter nothing
            return registered.query, []
        plan = running_plan(registered.query, registered.birth_epoch, view.estimates)
        with self._catalog.read() as snapshot:
            placed = placements(registered.query.name, plan, Blocks())
            return registered.query, related(snapshot, placed)

    def relate(self, outcome: Outcome) -> Outcome:
        """Say of queries that begin what they have in common with others, if they are not too many.

        The change is true already, and the next one need not wait for this.
        """
        computes = outcome.computes
        if len(computes) > MOST_QUERIES:
            return outcome
        with self._catalog.read() as snapshot:
            return replace(outcome, related={name: related(snapshot, computes[name]) for name in computes})

    def quarantine(self, failures: Mapping[str, Failure], notes: Notes = ()) -> None:
        """Let queries fail: in no network from now on, and what is written and not done goes on without them.

        A name may by now be that of another query, or of none: then only entries from before are withheld.
        """
        with self._one_at_a_time:
            blamed = {name.lower(): failure for name, failure in failures.items()}
            standing = {key: self.view.registered[key] for key in blamed if key in self.view.registered}
            ending = {
                key: blamed[key]
                for key, one in standing.items()
                if not one.paused and one.position.entry <= blamed[key].entry
            }
            if ending:
                edit = replace(edit_of_failures(self.view, ending), notes=tuple(notes))
                self._carry_out(edit, RelationReads(), OpenedFeeds(self._open_feed))
            for name, failure in failures.items():
                another = standing.get(name.lower())
                end = another.position.entry if another and name.lower() not in ending else None
                self._withhold(name, failure.entry, None if another and another.paused else end)

    def withhold_failed(self) -> None:
        """Withhold from failed queries what was written before they failed; most often that is done."""
        for key, failure in self.view.failures.items():
            self._withhold(self.view.registered[key].query.name, failure.entry)

    def withhold_gone(self, first: int, ceased: bool = False) -> None:
        """Let entries from one on go on without queries that do not stand; to be called when nothing runs."""
        withhold_gone(self._deployment, first, self.view.version, self.view.standing(ceased))

    def _withhold(self, name: str, first: int, end: int | None = None) -> None:
        """Let the entries from one on, up to another one, run without a query."""
        for number in self._deployment.journal.numbers():
            if first <= number and (end is None or number < end):
                self._deployment.journal.withhold(number, [name])

    def _key(self, name: str, paused: bool | None = None) -> str:
        registered = self.view.find(name)
        if paused is not None and registered.paused != paused:
            state = "not paused" if paused else f"{self.view.state(registered)} already"
            raise TakenError(f"query {registered.query.name} is {state}")
        return registered.query.name.lower()

    def _change(
        self, edit_now: Callable[[], Edit], by: Principal, notes: Notes, *, large: bool = False
    ) -> Outcome:
        """Carry out the edit that follows from what is registered when its turn comes.

        Relations are read and sources opened in between turns. If somebody else had a turn meanwhile the
        edit is worked out again after that.
        """
        reads, feeds = RelationReads(), OpenedFeeds(self._open_feed)
        seen: tuple[ServiceView, Edit] | None = None
        with closing(feeds), rare_collections(large):
            while True:
                with self._one_at_a_time:
                    view = self.view
                    edit = seen[1] if seen is not None and seen[0] is view else edit_now()
                    refuse_forbidden(edit, view, by)
                    self._sources.refuse_out_of_reach(edit, view)
                    seen = view, replace(edit, by=by.name, notes=tuple(notes))
                    self._quota.refuse_queries(seen[1], view)
                    needed, joining = self._edited(edit).needed_relations(), edit.streams(view)[0]
                    if reads.suffice(needed) and feeds.suffice(joining):
                        return self._carry_out(seen[1], reads, feeds)
                reads.read(needed)
                feeds.open(joining)

    def _carry_out(self, edit: Edit, reads: RelationReads, opened: OpenedFeeds) -> Outcome:
        try:
            return self._try(edit, reads, opened)
        except TooDeepError as refusal:
            _logger.info("the pipeline gets more stages", extra={"stages": refusal.depth})
            self._intake.hand_over(refusal.depth)
            return self._try(edit, reads, opened)

    def _try(self, edit: Edit, reads: RelationReads, opened: OpenedFeeds) -> Outcome:
        with ExitStack() as undo, self._intake.at_rest() if with_history(edit.come) else nullcontext():
            feeds = opened.of(edit.streams(self.view)[0])
            few = len(edit.come) <= _MOST_ADDED_WHILE_ENTRIES_WAIT or edit.drops_edges(self.view)
            with self._turn if few else nullcontext():
                birth_epoch = self._birth_epoch(few)
                planned = self._work_out(edit, reads, birth_epoch, undo)
                if planned.change is not None:
                    streams = edit.declared.streams.values()
                    tuples, dead = planned.relations.tuples, planned.dead
                    self._deployment.versions.extend(self.network, planned.change, streams, tuples, dead)
                with self._turn:
                    outcome = self._become_true(edit, planned, feeds)
                    opened.take(feeds)
            undo.pop_all()
            return outcome

    def _open_feed(self, stream: StreamDef) -> StreamFeed:
        """A stream that is to join; refuses one that cannot be read, or is what we write."""
        self._sources.refuse(stream)
        return self._intake.open(stream)

    def _restore_network(self) -> None:
        """The network as it was, from its files; a query that was refused by itself has not changed it."""
        network, version = self.network, self.view.version
        if network.version != version or network.changed:
            self.network = self._deployment.versions.network(version, network.strategy)

    def _edited(self, edit: Edit) -> EditedNetwork:
        return EditedNetwork(edit, self.view, self.network, self.relations)

    def _birth_epoch(self, held: bool) -> int:
        """The epoch of queries that begin: one that no entry has, nor will have before they run.

        While entries wait, that may be one that was announced and not used yet, so that
        queries that are registered one after the other between two entries are of one age.
        """
        last = self._deployment.journal.last()
        unused = last is None or last.epoch < self.view.epoch
        return self.view.epoch + (0 if held and unused else 1)

    def _work_out(
        self, edit: Edit, reads: RelationReads, birth_epoch: int, undo: ExitStack
    ) -> _PlannedChange:
        """Change the network in place, and work out what will be true if nothing refuses that."""
        view = self.view
        begin = edit.begin(view)
        undo.callback(self._restore_network)
        self.network.estimates = self.samples.estimates()
        self.network.stages = planned_depth(self._deployment)
        edited = self._edited(edit)
        last = self._deployment.journal.last()
        computes = edited.carry_out(birth_epoch, schema_change(edit, birth_epoch, last), self._retained)
        self._quota.refuse_joins(edit, view, self.network)
        if self.network.depth > planned_depth(self._deployment):
            raise TooDeepError(self.network.depth)
        relations, dead = edited.relations_in_use(reads)
        change = self.network.take_change()
        redefines = edit.moves_spark_streams(view) or bool(edit.altered)
        if change is None and redefines:  # tasks read the definitions of streams in the version
            change = self.network.renew()
        after = replace(
            view,
            declared=edit.declared,
            version=self.network.version,
            nodes=view.nodes if change is None else frozen(self.network.nodes),
            next_id=self.network.next_id,
            depth=self.network.depth,
            epoch=max(view.epoch, birth_epoch) if begin or edit.changes_schema(view) else view.epoch,
            estimates=self.network.estimates,
        )
        return _PlannedChange(after, birth_epoch, change, relations, dead, computes)

    def _become_true(self, edit: Edit, planned: _PlannedChange, feeds: list[StreamFeed]) -> Outcome:
        """Make a change durable and then true; `turn` is held, so no entry is cut meanwhile."""
        view, birth_epoch, computes = self.view, planned.birth_epoch, planned.computes
        begin, cease = edit.begin(view), edit.cease(view)
        positions = StreamPositions.next(self._deployment.journal, self._sink.settled)
        replayed = with_history(edit.come)
        begun = {
            key: RegisteredQuery(
                query,
                0 if key in replayed else birth_epoch,
                positions.of(query),
                nodes=self.network.used_nodes(query.name),
                owner=edit.owner(view, key),
            )
            for key, query in begin.items()
        }
        _, leaving = edit.streams(view)
        since = {name: entry for name, entry in view.since.items() if name in edit.declared.streams}
        since.update({feed.stream.name: positions.entry for feed in feeds})
        last = self._deployment.journal.last()
        histories = edit.histories(view, starts_of(replayed, self._retained, since, positions.entry, last))
        after = replace(planned.view, registered=edit.registered(view, begun), since=frozen(since))
        sinks = standing_sinks(edit.declared, view, self._folder, positions.results, self._secrets)
        after = replace(after, failures=edit.failures(view), histories=histories, sinks=sinks)
        entered = [one for placed in computes.values() for one in placed]
        dropped = tuple(view.registered[key].query.name for key in sorted(edit.go))
        declared, names = tuple(changed_declarations(view, edit)), tuple(one.name for one in begin.values())
        outcome = Outcome(after.version, positions.entry, names, dropped, computes, declared=declared)
        lines = [note.line(**outcome.facts) for note in edit.notes]
        owed = edit.notes[0].owed() if edit.notes else []
        enter(self._catalog, edit, view, after, entered, [*owed, *lines])
        self.view, self.relations = after, planned.relations
        self._settled.begin(begun.values(), after.nodes)
        self._publisher.publish_view(after)
        self._intake.change(feeds, leaving)
        self._intake.alter([edit.declared.streams[name] for name in sorted(edit.altered)])
        limits = {query.name: limit_of(query) for query in begin.values()}
        ended = [query.name for query in cease.values()]
        self._sink.roster.announce(positions.entry, ended, limits)
        self._leave_out(ended)
        _logger.info(
            "network changed",
            extra={
                "version": after.version,
                "entry": positions.entry,
                "begin": _shown(list(limits)),
                "end": _shown(ended),
            },
        )
        for note, line in zip(edit.notes, lines, strict=True):
            note.append(line)
        return outcome


@dataclass(frozen=True)
class _PlannedChange:
    """A change that the network has undergone and that is not true yet.

    `view` lacks the queries that begin, whose positions are known when it becomes true. `change` is
    None if the network is the same; `dead` are dead letters of relations that were read for it.
    """

    view: ServiceView
    birth_epoch: int
    change: NetworkChange | None
    relations: RelationsInUse
    dead: list[Letter]
    computes: Computed


def _shown(queries: list[str]) -> str:
    """Queries as the log has them: the first few by name.

    >>> _shown(["a", "b"]), _shown([f"q{i}" for i in range(1000)])
    ('a, b', 'q0, q1, q2, q3, q4 and 995 more')
    """
    more = len(queries) - _MOST_LOGGED_NAMES
    return ", ".join(queries[:_MOST_LOGGED_NAMES]) + (f" and {more:,} more" if more > 0 else "")
