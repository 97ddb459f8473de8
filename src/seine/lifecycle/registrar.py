"""Registers, drops, pauses and replaces: one change at a time, all of it or nothing.

Law: a change takes effect with one journal entry, for everybody. The entry before it has the old
network version and the old epoch, the entry after it the new ones; the queries that begin count tuples
of the new epoch.

The order of what becomes durable is what makes a crash harmless: first the files of the new
network version, which nobody reads yet, then the record, in one step, which names that version;
only then can an entry be cut that asks for it, and only then is a view of it published. Whatever a crash
leaves half done has no name in the record and is written over by the next change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol, TypeVar

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Query
from seine.errors import TakenError
from seine.frontends.script.script import Script
from seine.graph.snapshot import NetworkChange
from seine.intake.admission import Letter
from seine.intake.feed import Feed
from seine.intake.intake import Intake
from seine.intake.retained_entries import RetainedEntries
from seine.lifecycle.change_inputs import FollowedRelations, OpenedFeeds, RelationReads, RelationsInUse
from seine.lifecycle.edit import (
    Asker,
    Computed,
    Edit,
    Notes,
    Outcome,
    RegisteredScript,
    edit_of_drop,
    edit_of_failures,
    edit_of_pause,
    edit_of_resume,
    edit_of_script,
)
from seine.lifecycle.edited_network import (
    EditedNetwork,
    TooDeepError,
    planned_depth,
    schema_change,
)
from seine.lifecycle.query_history import refuse_history, starts_of, with_history
from seine.lifecycle.record import Policy, Record, RecordedChange, Standing
from seine.lifecycle.settled_births import SettledBirths
from seine.lifecycle.view import RegisteredQuery, StreamPositions, View, frozen
from seine.network.network import Network, PreviewedQuery
from seine.network.plan.output_form import limit_of
from seine.rare_collections import rare_collections
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, withhold_gone
from seine.runtime.folder.sampling import StreamSamples
from seine.runtime.output.sink import Sink

_logger = logging.getLogger(__name__)

Reading = TypeVar("Reading")

_MOST_LOGGED_NAMES = 5  # of queries that begin or end in one change
_LONG_SCRIPT = 1 << 17  # characters; a longer one makes so many objects that looking at all is in vain
_MOST_SECONDS_FOR_A_TURN = 1.0  # that an entry waits for a change to be over, to look at relations
_MOST_ADDED_WHILE_ENTRIES_WAIT = 100  # queries; more of them must not stop the stream


class LivePipeline(Protocol):
    """The pipeline whose queries come and go: who must hear of changes, and what new ones need.

    `turn` is held by whoever cuts an entry. What is `retained` of the input is for queries with history.
    """

    @property
    def deployment(self) -> Deployment: ...

    @property
    def turn(self) -> AbstractContextManager[object]: ...

    @property
    def intake(self) -> Intake: ...

    @property
    def sink(self) -> Sink: ...

    @property
    def retained(self) -> RetainedEntries | None: ...

    def publish(self, view: View) -> None:
        """Let readers see what is registered from now on."""

    def leave_out(self, queries: Collection[str]) -> None:
        """These queries are to run no more."""

    def notice(self, text: str) -> None:
        """Tell people what they should know although nothing is wrong."""


class Registrar:
    """Changes what is registered. Any thread may call it; changes take turns.

    The pipeline's `turn` is held while a change becomes true. The `network` is changed in place, before it is
    known whether the change will be refused: only the thread whose turn it is may look at it. Everybody else
    reads `view`, or what was published.
    """

    def __init__(
        self,
        pipeline: LivePipeline,
        standing: Standing,
        record: Record,
        policy: Policy,
        samples: StreamSamples | None = None,
    ) -> None:
        """Plans are chosen by the `samples`, if there are any, else by the estimates of the network."""
        self.view, self.network, self.relations = standing
        self._pipeline, self._record, self._policy = pipeline, record, policy
        self._deployment, self._samples = pipeline.deployment, samples
        self._one_at_a_time = Lock()
        self._following = FollowedRelations(self._deployment, pipeline.notice)
        self._settled = SettledBirths()
        if self.network.live:
            self._settled.begin(self.view.registered.values(), self.view.nodes)

    def prepare_entry(self) -> None:
        """Take in what has changed in relations that are followed, for the entry that comes next, and let
        queries that have settled share what is equal to theirs.

        Who calls it keeps lines from being admitted, for which a change that makes the pipeline deeper waits:
        so it does not wait long for its turn, and an entry later will do.
        """
        followed = self._following.of(self.view, self.relations)
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
                with self._pipeline.turn:
                    after = self.view.moved(moved, self.network)
                    self._record.enter_moves(after, moved)
                    self.view = after
                    self._pipeline.publish(after)
                extra = {"version": after.version, "queries": _shown([*moved])}
                _logger.info("queries share groups of other births", extra=extra)
            undo.pop_all()

    def _renew_relations(self) -> None:
        with ExitStack() as undo:
            undo.callback(self._restore_network)
            changed = self._following.changed(self.view, self.relations, self.network)
            if changed is not None:
                with self._pipeline.turn:
                    self._record.save_version(self.network.version)
                    self.view, self.relations = replace(self.view, version=self.network.version), changed
                    self._pipeline.publish(self.view)
            undo.pop_all()

    def register(
        self,
        text: str,
        *,
        file: str,
        folder: str,
        replace: bool = False,
        by: Asker | None = None,
        notes: Notes = (),
    ) -> Outcome:
        """Carry out a script; refused whole, with a position and a hint, it leaves no trace."""
        script = RegisteredScript(text, folder, replace)

        def edit() -> Edit:
            return edit_of_script(self._policy.read(script, file, self.view.declared), script)

        return self._change(edit, by, notes, large=len(text) > _LONG_SCRIPT)

    def drop(self, name: str, by: Asker | None = None, notes: Notes = ()) -> Outcome:
        """Drop a query; what only it used is freed."""
        return self._change(lambda: edit_of_drop(self.view, self._key(name)), by, notes)

    def pause(self, name: str, by: Asker | None = None, notes: Notes = ()) -> Outcome:
        """Take a query out of the network, but keep its declaration."""
        return self._change(lambda: edit_of_pause(self.view, self._key(name, paused=False)), by, notes)

    def resume(self, name: str, by: Asker | None = None, notes: Notes = ()) -> Outcome:
        """Let a query that is paused, or failed, run again; it counts from now on, like a new one."""
        return self._change(lambda: edit_of_resume(self.view, self._key(name, paused=True)), by, notes)

    def still(self) -> AbstractContextManager[object]:
        """Within this nothing that is registered changes."""
        return self._one_at_a_time

    def close(self) -> None:
        """Look at relations no more."""
        self._following.close()

    def look(self, read: Callable[[Network], Reading]) -> Reading:
        """What somebody reads of the live network; changes wait meanwhile, so it must not take long."""
        with self._one_at_a_time:
            return read(self.network)

    def refuse_script(self, script: Script, by: Asker) -> None:
        """Refuse a script that somebody may not have carried out, as `register` would."""
        by.refuse(edit_of_script(script), self.view)

    def preview(self, query: Query) -> PreviewedQuery:
        """What a registration of a query would do; nothing changes."""
        with self._one_at_a_time:
            refuse_history(query, self._pipeline.retained)
            self._prepare_network()
            try:
                return self.network.preview(query, self.view.epoch + 1)
            finally:
                self._restore_network()

    def _prepare_network(self) -> None:
        """Let what is added be planned by what is known now, for the stages that there are."""
        if self._samples is not None:
            self.network.estimates = self._samples.estimates()
        self.network.stages = planned_depth(self._deployment)

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
        self, edit_now: Callable[[], Edit], by: Asker | None, notes: Notes, *, large: bool = False
    ) -> Outcome:
        """Carry out the edit that follows from what is registered when its turn comes.

        Relations are read and sources opened in between turns. If somebody else had a turn meanwhile the
        edit is worked out again after that.
        """
        by = by or self._policy.local
        reads, feeds = RelationReads(), OpenedFeeds(self._open_feed)
        seen: tuple[View, Edit] | None = None
        opener = self._pipeline.intake
        with closing(feeds), rare_collections(large):
            while True:
                with self._one_at_a_time:
                    if self._pipeline.intake is not opener:  # they would be read as its streams were
                        opener = self._pipeline.intake
                        feeds.close()
                    view = self.view
                    edit = seen[1] if seen is not None and seen[0] is view else edit_now()
                    seen = view, replace(edit, by=by.name, notes=tuple(notes))
                    self._policy.refuse(seen[1], view, by)
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
            self._pipeline.intake.hand_over(refusal.depth)
            return self._try(edit, reads, opened)

    def _try(self, edit: Edit, reads: RelationReads, opened: OpenedFeeds) -> Outcome:
        with (
            ExitStack() as undo,
            self._pipeline.intake.at_rest() if with_history(edit.come) else nullcontext(),
        ):
            feeds = opened.of(edit.streams(self.view)[0])
            few = len(edit.come) <= _MOST_ADDED_WHILE_ENTRIES_WAIT or edit.drops_edges(self.view)
            with self._pipeline.turn if few else nullcontext():
                birth_epoch = self._birth_epoch(few)
                planned = self._work_out(edit, reads, birth_epoch, undo)
                if planned.change is not None:
                    streams = edit.declared.streams.values()
                    tuples, dead = planned.relations.tuples, planned.dead
                    self._deployment.versions.extend(self.network, planned.change, streams, tuples, dead)
                with self._pipeline.turn:
                    outcome = self._become_true(edit, planned, feeds)
                    opened.take(feeds)
            undo.pop_all()
            return outcome

    def _open_feed(self, stream: StreamDef) -> Feed:
        """A stream that is to join; refuses one that cannot be read, or is what we write."""
        self._policy.refuse_stream(stream)
        return self._pipeline.intake.open(stream)

    def _restore_network(self) -> None:
        """The network as it was, from its files; a query that was refused by itself has not changed it."""
        network, version = self.network, self.view.version
        if network.version != version or network.changed:
            self.network = self._deployment.versions.network(version, network.strategy)
            self.network.estimates = network.estimates

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
        self._prepare_network()
        edited = self._edited(edit)
        last, retained = self._deployment.journal.last(), self._pipeline.retained
        computes = edited.carry_out(
            birth_epoch, schema_change(edit, birth_epoch, last), retained, self._record.describe
        )
        self._policy.refuse_network(edit, view, self.network)
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
            next_id=self.network.next_id if self.network.live else 0,
            depth=self.network.depth,
            epoch=max(view.epoch, birth_epoch) if begin or edit.changes_schema(view) else view.epoch,
            estimates=self.network.estimates,
        )
        return _PlannedChange(after, birth_epoch, change, relations, dead, computes)

    def _become_true(self, edit: Edit, planned: _PlannedChange, feeds: list[Feed]) -> Outcome:
        """Make a change durable and then true; `turn` is held, so no entry is cut meanwhile."""
        view, birth_epoch, computes = self.view, planned.birth_epoch, planned.computes
        begin, cease = edit.begin(view), edit.cease(view)
        positions = StreamPositions.next(self._deployment.journal, self._pipeline.sink.settled)
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
        histories = edit.histories(
            view, starts_of(replayed, self._pipeline.retained, since, positions.entry, last)
        )
        after = replace(planned.view, registered=edit.registered(view, begun), since=frozen(since))
        sinks = edit.sinks(view, positions.results, self._policy.refuse_sink)
        after = replace(after, failures=edit.failures(view), histories=histories, sinks=sinks)
        dropped = tuple(view.registered[key].query.name for key in sorted(edit.go))
        declared, names = tuple(edit.changed_declarations(view)), tuple(one.name for one in begin.values())
        outcome = Outcome(after.version, positions.entry, names, dropped, computes, declared)
        self._record.enter(RecordedChange(edit, view, after, outcome))
        self.view, self.relations = after, planned.relations
        if self.network.live:
            self._settled.begin(begun.values(), after.nodes)
        self._pipeline.publish(after)
        self._pipeline.intake.change(feeds, leaving)
        self._pipeline.intake.alter([edit.declared.streams[name] for name in sorted(edit.altered)])
        limits = {query.name: limit_of(query) for query in begin.values()}
        ended = [query.name for query in cease.values()]
        gone = [query.name for key, query in cease.items() if key not in edit.fail]  # failed ones keep counts
        self._pipeline.sink.roster.announce(positions.entry, gone, limits)
        self._pipeline.leave_out(ended)
        _logger.info(
            "network changed",
            extra={
                "version": after.version,
                "entry": positions.entry,
                "begin": _shown(list(limits)),
                "end": _shown(ended),
            },
        )
        return outcome


@dataclass(frozen=True)
class _PlannedChange:
    """A change that the network has undergone and that is not true yet.

    `view` lacks the queries that begin, whose positions are known when it becomes true. `change` is
    None if the network is the same; `dead` are dead letters of relations that were read for it.
    """

    view: View
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
