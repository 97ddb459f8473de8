"""The life cycle of a pipeline: what is registered, the driver that feeds it, and those who get its results.

    begin     what is registered is restored, and what the last process left half done is done
    change    the registrar carries it out, and sinks follow what is declared
    fail      a query leaves the network; entries that are written go on without it
    close     the sources first, then sinks and results

A run and a service are pipelines. They differ in where they keep what is registered and in who may change it
(`record.py`), in what they read, and in whom they tell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING

from seine.graph.node import Holding
from seine.intake.alignment import Components
from seine.intake.fed_pipeline import NetworkMoment
from seine.intake.intake import Intake
from seine.intake.journal import ReplayDraft
from seine.intake.retained_entries import RetainedEntries
from seine.lifecycle.registrar import Registrar
from seine.lifecycle.view import View
from seine.network.plan.output_form import limit_of
from seine.runtime.driver import Driver
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_report import TaskReport

if TYPE_CHECKING:  # what has no sinks need not wait for the clients of their targets
    from seine.sinks.sink_threads import SinkStatus, SinkThreads


class Pipeline(ABC):
    """A folder at work; whoever opens one gives it its `registrar`, `intake` and `sink`, and lets it `begin`.

    `turn` is held while a change becomes true, and by whoever cuts an entry.
    """

    registrar: Registrar
    intake: Intake
    sink: Sink
    driver: Driver
    threads: SinkThreads | None = None  # that deliver for sinks
    retained: RetainedEntries | None = None  # of the input that is done, for queries with history

    def __init__(self, deployment: Deployment, notice: Callable[[str], None]) -> None:
        """`notice` hears what people should know although nothing is wrong."""
        self.deployment, self.notice = deployment, notice
        self.turn = RLock()

    @property
    def limits(self) -> dict[str, int]:
        """How many records each query may deliver."""
        queries = (one.query for one in self.registrar.view.registered.values())
        return {query.name: limit_of(query) for query in queries}

    def begin(self, follow: bool) -> None:
        """Drive from where the last process stopped, however that ended."""
        self._remind()
        self.driver = Driver(self, follow)
        if self.threads is not None:
            self.threads.clear(self.registrar.view.sinks)
            self.follow_sinks()
        view, network = self.registrar.view, self.registrar.network
        failing = {name: failure for name, failure in view.failed.items() if name in network.queries}
        if failing:  # that was known, and no more
            self.registrar.quarantine(failing)
        self.registrar.withhold_failed()
        self.registrar.withhold_gone(self.sink.totals.entry)

    def _remind(self) -> None:
        """Announce again what the process before this one may have announced and not committed."""
        view, roster, last = self.registrar.view, self.sink.roster, self.deployment.journal.last()
        begun: dict[int, dict[str, int]] = {}
        for one in view.registered.values():
            if not one.paused and one.position.entry > self.sink.totals.entry:
                begun.setdefault(one.position.entry, {})[one.query.name] = limit_of(one.query)
        for entry, limits in sorted(begun.items()):
            roster.announce(entry, [], limits)
        gone = {*self.sink.totals.outputs} - {*view.names}
        roster.announce(last.number + 1 if last is not None else 0, gone, {})

    @property
    def failures(self) -> Mapping[str, Failure]:
        """The queries that failed."""
        return self.registrar.view.failed

    # ---- what intake asks

    @property
    def components(self) -> Components | None:
        return self.registrar.view.stream_components

    def moment(self) -> NetworkMoment:
        view = self.registrar.view
        return NetworkMoment(view.version, view.epoch, view.next_id)

    def before_entry(self) -> None:
        self.registrar.prepare_entry()

    def replays(self, advance: bool) -> Sequence[ReplayDraft]:
        return ()

    # ---- what the driver and the registrar ask and tell

    @abstractmethod
    def open_intake(self, follow: bool) -> Intake: ...

    @abstractmethod
    def publish(self, view: View) -> None:
        """Let readers see what is registered from now on."""

    @abstractmethod
    def committed(self) -> None: ...

    @property
    def holdings(self) -> Collection[Holding]:
        return ()

    def judge(self, entry: int, reports: Sequence[TaskReport]) -> Collection[str]:
        return ()

    def quarantine(self, failures: Mapping[str, Failure]) -> None:
        self.registrar.quarantine(failures)

    def withhold_gone(self, first: int, ceased: bool) -> None:
        self.registrar.withhold_gone(first, ceased)

    def leave_out(self, queries: Collection[str]) -> None:
        self.driver.leave_out(queries)

    def follow_sinks(self) -> None:
        """Let sinks hear of what is registered and delivered."""
        view = self.registrar.view
        if self.threads is not None:
            self.threads.follow(view.sinks, lambda name: view.find(name).query)

    def sink_states(self) -> list[SinkStatus]:
        """What each sink is doing; none of a pipeline that is not read is known to deliver."""
        return [] if self.threads is None else self.threads.states()

    def close(self) -> None:
        """End, so that the next process goes on from there."""
        self.driver.close()
        if self.threads is not None:
            self.threads.close()
        self.sink.close()
        self.registrar.close()
        self.deployment.remove_cache()
