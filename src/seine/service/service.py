"""A pipeline in a folder that goes on for ever: whoever hosts its tasks, queries come and go meanwhile."""

from __future__ import annotations

import os
import shutil
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import Condition, RLock
from typing import Any

from msgspec import to_builtins

from seine.catalog import Catalog
from seine.intake.intake import Intake
from seine.network.network import Network
from seine.network.plan.output_form import limit_of
from seine.runtime.driver import Driver
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import new_settings
from seine.runtime.output.sink import Sink
from seine.runtime.output.totals import exact_share
from seine.service.folder import ServiceFolder
from seine.service.present import Present, restore
from seine.service.registrar import Registrar, planned_depth

_LARGEST = 10  # queries that the status tells of
_RECENT_SECONDS = 10.0  # over which the pace is measured


@dataclass(frozen=True)
class ServiceOptions:
    """How to serve; `buckets` is fixed when a folder is new, and there are at least `depth` stages."""

    batch_rows: int | None = None
    buckets: int = 2
    depth: int = 4
    notice: Callable[[str], None] = field(default=lambda text: None)
    progress: Callable[[Sink], None] = field(default=lambda sink: None)


class Service:
    """Opens a folder and goes on where the last process left it, however that ended."""

    def __init__(self, folder: ServiceFolder, options: ServiceOptions) -> None:
        self.folder = folder
        self._lock = folder.lock()
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self._catalog = Catalog(f"sqlite:///{folder.catalog}")
            undo.callback(self._catalog.close)
            self._open(folder, options)
            undo.pop_all()

    def _open(self, folder: ServiceFolder, options: ServiceOptions) -> None:
        self.deployment = Deployment(folder.pipeline)
        self._prepare(options)
        with self._catalog.read() as snapshot:
            present = restore(snapshot, self.deployment)
        turn = RLock()
        self.registrar = Registrar(folder, self._catalog, self.deployment, present, turn)
        self._intake = self._open_intake(options, turn)
        self.sink = Sink(self.deployment, folder.results, folder.dead, _limits(present))
        _remind(self.sink, present, self.deployment)
        self.registrar.connect(self._intake, self.sink)
        self._progress = options.progress
        self._moved = Condition()
        self._closed = False
        self._paces: deque[tuple[float, int]] = deque([(time.monotonic(), self.sink.totals.input_rows)])
        if options.depth > planned_depth(self.deployment):
            self._intake.hand_over(options.depth)
        self.driver = Driver(
            self.deployment, lambda follow: self._intake, True, self.sink, lambda version: (), self._committed
        )

    def _prepare(self, options: ServiceOptions) -> None:
        """Make the folder of the pipeline; a crash in the middle of that leaves it to be made anew."""
        if self.deployment.exists():
            self.deployment.refuse_other_format()
            return
        self.deployment.refuse_foreign()
        self.deployment.versions.save(Network(live=True), [], {})
        self.deployment.create(new_settings(options.buckets, options.depth))

    def _open_intake(self, options: ServiceOptions, turn: RLock) -> Intake:
        present, last = self.registrar.present, self.deployment.journal.last()
        reached = last.number if last is not None else -1
        return Intake(
            list(present.declared.streams.values()),
            self.deployment.journal,
            batch_rows=options.batch_rows,
            follow=True,
            network=lambda: self.registrar.present.version,
            epoch=lambda: self.registrar.present.epoch,
            next_id=lambda: self.registrar.present.next_id,
            turn=turn,
            fresh=frozenset(name for name, entry in present.since.items() if entry > reached),
            notice=options.notice,
        )

    @property
    def present(self) -> Present:
        return self.registrar.present

    def stop(self) -> None:
        """End soon; whoever waits for results is told that there are no more."""
        self._closed = True
        self.driver.stop()
        with self._moved:
            self._moved.notify_all()

    def close(self) -> None:
        self.driver.close()
        self.sink.close()
        self._catalog.close()
        shutil.rmtree(self.deployment.settings.cache, ignore_errors=True)
        self._lock.release()

    def wait_beyond(self, length: int, seconds: float) -> int:
        """How much of the results is settled; waits for more than `length`, at most so long."""
        with self._moved:
            self._moved.wait_for(lambda: self._closed or self.sink.settled > length, seconds)
        return self.sink.settled

    def status(self) -> dict[str, Any]:
        """What the service is doing, in numbers."""
        present, totals = self.present, self.sink.totals
        last = self.deployment.journal.last()
        paused = sum(one.paused for one in present.standing.values())
        return {
            "folder": self.folder.path,
            "process": os.getpid(),
            "version": present.version,
            "entry": totals.entry,
            "written": last.number if last is not None else -1,
            "batches": totals.batches,
            "input_rows": totals.input_rows,
            "output_rows": totals.output_rows,
            "dead_letters": totals.dead_letters,
            "rows_per_second": round(self._pace(), 1),
            "state_rows": sum(totals.state_rows.values()),
            "shed": sum(account.shed for account in totals.memory.values()),
            "exact_share": exact_share(totals.memory.values()),
            "state_by_query": self._largest_states(),
            "streams": len(present.declared.streams),
            "relations": len(present.declared.relations),
            "queries": {"running": len(present.standing) - paused, "paused": paused},
            "nodes": present.nodes,
            "depth": {"used": present.depth, "stages": self.deployment.settings.depth},
        }

    def queries(self) -> list[dict[str, Any]]:
        """Every query with what it has delivered, in the order of registration."""
        return [self.query(key) for key in list(self.present.standing)]

    def query(self, name: str) -> dict[str, Any]:
        found = self.present.find(name)
        return {
            "query": found.query.name,
            "state": "paused" if found.paused else "running",
            "since": to_builtins(found.position),
            "outputs": self.sink.totals.outputs.get(found.query.name, 0),
            **self._given_up(found.query.name),
            "state_rows": self._state_of(found.query.name),
            "text": found.query.text,
        }

    def _largest_states(self) -> dict[str, dict[str, int]]:
        """The queries that hold most, and of which streams."""
        rows = self.sink.totals.state_rows
        names: dict[str, None] = {}
        for node in sorted(rows, key=lambda node: -rows[node]):
            names.update(dict.fromkeys(self.present.network.users(node)[:_LARGEST]))
            if len(names) >= _LARGEST:
                break
        states = {name: self._state_of(name) for name in names}
        largest = sorted(states, key=lambda name: -sum(states[name].values()))[:_LARGEST]
        return {name: states[name] for name in largest}

    def _state_of(self, query: str) -> dict[str, int]:
        """Rows held for the joins of a query, by the streams that they are of."""
        rows_at = self.sink.totals.rows_at
        places = self.present.network.state_places(query)
        return {", ".join(streams): sum(map(rows_at, holding)) for streams, holding in places.items()}

    def _given_up(self, name: str) -> dict[str, Any]:
        """What a query's results are worth, and what its memory has cost it so far."""
        totals, network = self.sink.totals, self.present.network
        node = network.limited_node(name) if name in network.queries else None
        account = None if node is None else totals.memory.get(node)
        return {
            "importance": None if name in totals.cut else totals.importance.get(name),
            "shed": account.shed if account else 0,
            "exact_share": exact_share([account]) if account else None,
        }

    def related(self, name: str) -> dict[str, Any]:
        """What a query has in common with those that run."""
        found = self.registrar.related(name)
        return {
            "query": self.present.find(name).query.name,
            "related": [one.to_json() for one in found],
        }

    def _committed(self, sink: Sink) -> None:
        entry = self.deployment.journal.load(sink.totals.entry)
        self.registrar.samples.add(entry, self.present.declared.streams)
        self.deployment.versions.discard_before(entry.network)
        now = time.monotonic()
        self._paces.append((now, sink.totals.input_rows))
        while len(self._paces) > 2 and self._paces[1][0] < now - _RECENT_SECONDS:
            self._paces.popleft()
        self._progress(sink)
        with self._moved:
            self._moved.notify_all()

    def _pace(self) -> float:
        """Rows a second, of late."""
        since, rows = self._paces[0]
        return (self.sink.totals.input_rows - rows) / max(time.monotonic() - since, 1e-9)


def _limits(present: Present) -> dict[str, int]:
    return {one.query.name: limit_of(one.query) for one in present.standing.values() if not one.paused}


def _remind(sink: Sink, present: Present, deployment: Deployment) -> None:
    """Announce again what the process before this one may have announced and not committed."""
    reached, last = sink.totals.entry, deployment.journal.last()
    running = [one for one in present.standing.values() if not one.paused]
    for one in running:
        if one.position.entry > reached:
            sink.roster.announce(one.position.entry, [], {one.query.name: limit_of(one.query)})
    gone = set(sink.totals.outputs) - {one.query.name for one in present.standing.values()}
    sink.roster.announce(last.number + 1 if last is not None else 0, gone, {})
