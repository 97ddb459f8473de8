"""What happens to a service at random: queries, streams, columns and sinks that come and go, kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from seine.errors import SeineError
from tests.soak.feeds import FileFeed
from tests.soak.query_kinds import some_query
from tests.soak.reading import Record
from tests.soak.scene import Scene
from tests.soak.standing_query import StandingQuery

_FEWEST_QUERIES, _MOST_QUERIES = 6, 20
_MOST_FEEDS = 4
_MOST_COLUMNS = 8
_MOST_SINKS = 2


@dataclass
class OpenSink:
    """A sink into a folder, and what its query has said since some time before it was created."""

    name: str
    folder: Path
    query: StandingQuery
    said: list[Record] = field(default_factory=list)
    created: int = 0  # records that the query had surely said when the sink was there


class Changes:
    """Makes one change after the other, chosen by chance."""

    def __init__(self, scene: Scene) -> None:
        self._scene, self._rng = scene, scene.rng
        self._paused: list[StandingQuery] = []
        self._sinks: list[OpenSink] = []
        self._choices: list[tuple[int, str, Callable[[], bool]]] = [
            (30, "registered queries", self._register),
            (22, "dropped query", self._drop),
            (6, "replaced query", self._replace),
            (8, "paused query", self._pause),
            (8, "resumed query", self._resume),
            (4, "new stream", self._new_stream),
            (4, "dropped stream", self._drop_stream),
            (4, "ALTER STREAM ADD COLUMN", self._add_column),
            (5, "new sink", self._new_sink),
            (5, "dropped sink", self._drop_sink),
        ]

    def one(self) -> None:
        """Make a change that is possible now."""
        weights = [weight for weight, _, _ in self._choices]
        _, name, act = self._rng.choices(self._choices, weights)[0]
        if act():
            self._scene.happened[name] += 1

    def close(self) -> None:
        """End what has to be compared at its end."""
        while self._sinks:
            self._drop_sink()

    def _register(self) -> bool:
        scene = self._scene
        if len(scene.queries) >= _MOST_QUERIES:
            return False
        kinds = [some_query(self._rng, list(scene.feeds.values())) for _ in range(self._rng.randint(1, 4))]
        names = [f"q{next(scene.numbers)}" for _ in kinds]
        named = dict(zip(names, kinds, strict=True))
        with scene.birth(kinds):
            scene.change("\n".join(f"CREATE QUERY {name} {kind.text};" for name, kind in named.items()))
            for name, kind in named.items():
                scene.follow(name, kind)
        return True

    def _free_query(self) -> StandingQuery | None:
        """A query that may go: none that latencies are measured by, or that a sink reads."""
        busy = {sink.query.name for sink in self._sinks} | {"watched"}
        free = [query for query in self._scene.queries.values() if query.name not in busy]
        return self._rng.choice(free) if len(free) > _FEWEST_QUERIES else None

    def _drop(self) -> bool:
        if (query := self._free_query()) is None:
            return False
        self._scene.drop(query)
        return True

    def _replace(self) -> bool:
        """Another query under the same name; records of the first that were on their way are not compared."""
        scene, query = self._scene, self._free_query()
        kind = some_query(self._rng, list(scene.feeds.values()))
        if query is None or query.kind.is_changelog or kind.is_changelog:
            return False
        script, folder = f"CREATE QUERY {query.name} {kind.text};", str(scene.folder)
        with scene.birth([kind]):
            scene.service.ask(lambda client: client.register(script, file="s", folder=folder, replace=True))
            scene.forget(query)
            begun = scene.follow(query.name, kind)
        begun.begin_at(scene.instant + 1)
        return True

    def _pause(self) -> bool:
        if (query := self._free_query()) is None:
            return False
        _though_done(lambda: self._scene.service.ask(lambda client: client.pause(query.name)))
        self._scene.forget(query)
        self._paused.append(query)
        return True

    def _resume(self) -> bool:
        if not self._paused:
            return False
        query = self._paused.pop(self._rng.randrange(len(self._paused)))
        if any(feed.name not in self._scene.feeds for feed in query.kind.streams):
            return False
        self._scene.settle()  # nothing of its first life is on its way any more
        with self._scene.birth([query.kind]):
            _though_done(lambda: self._scene.service.ask(lambda client: client.resume(query.name)))
            self._scene.follow(query.name, query.kind)
        return True

    def _new_stream(self) -> bool:
        scene = self._scene
        if len(scene.feeds) >= _MOST_FEEDS:
            return False
        name = f"x{next(scene.numbers)}"
        scene.add_feed(FileFeed(scene.folder, name, 20, self._rng.randrange(3), Random(self._rng.random())))
        for _ in range(2):
            scene.register(some_query(self._rng, [scene.feeds[name]]))
        return True

    def _drop_stream(self) -> bool:
        scene = self._scene
        feeds = [feed for name, feed in scene.feeds.items() if name.startswith("x")]
        if not feeds:
            return False
        feed = self._rng.choice(feeds)
        assert isinstance(feed, FileFeed)
        for sink in [one for one in self._sinks if feed in one.query.kind.streams]:
            self._end_sink(sink)
        for query in [one for one in self._paused if feed in one.kind.streams]:
            scene.change(f"DROP QUERY {query.name};")
            self._paused.remove(query)
        scene.remove_feed(feed)
        return True

    def _add_column(self) -> bool:
        scene = self._scene
        feeds = [feed for feed in scene.feeds.values() if isinstance(feed, FileFeed)]
        feed = self._rng.choice([*feeds, *(one for one in feeds if one.name.startswith("x"))])
        if len(feed.added) >= _MOST_COLUMNS:
            return False
        column = f"c{next(scene.numbers)}"
        scene.change(f"ALTER STREAM {feed.name} ADD COLUMN {column} BIGINT;")
        with scene.silent():
            scene.truth.follow(feed)
            scene.truth.add_column(feed, column)
            feed.added.append(column)
        return True

    def _new_sink(self) -> bool:
        scene, read = self._scene, {sink.query.name for sink in self._sinks}
        free = [one for one in scene.queries.values() if one.name not in read and one.name != "watched"]
        if len(self._sinks) >= _MOST_SINKS or not free:
            return False
        query, name = self._rng.choice(free), f"s{next(scene.numbers)}"
        sink = OpenSink(name, scene.folder / name, query)
        query.listener = sink.said
        scene.patiently(lambda: query.read(scene.service.state))
        scene.change(f"CREATE SINK {name} FROM {query.name} INTO '{name}';")
        scene.patiently(lambda: query.read(scene.service.state))
        sink.created = len(sink.said)
        self._sinks.append(sink)
        return True

    def _drop_sink(self) -> bool:
        if not self._sinks:
            return False
        self._end_sink(self._rng.choice(self._sinks))
        return True

    def _end_sink(self, sink: OpenSink) -> None:
        """Compare a sink's files with what its query said from the sink's creation on."""
        scene = self._scene
        scene.patiently(lambda: sink.query.read(scene.service.state))
        least = len(sink.said)
        scene.service.wait(f"{sink.name} is done", lambda client: _lag(client.status(), sink.name) == 0)
        scene.patiently(lambda: sink.query.read(scene.service.state))
        scene.change(f"DROP SINK {sink.name};")
        files = sorted(sink.folder.glob("part-*.jsonl"))
        written = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        scene.patiently(lambda: sink.query.read(scene.service.state))
        if not _is_part(written, sink.said, sink.created, least):
            counts = f"{len(written)} records, its query {len(sink.said)}, {sink.created} of them before it"
            scene.wrong.append(f"sink {sink.name} of {sink.query.script} has {counts}")
        scene.compared["sink"] += len(written)
        shutil.rmtree(sink.folder, ignore_errors=True)
        sink.query.listener = None
        self._sinks.remove(sink)


def _though_done(act: Callable[[], object]) -> None:
    """Do something whose answer may get lost, so that it may be done already."""
    try:
        act()
    except SeineError as error:
        if not any(words in error.message for words in ("not paused", "already")):
            raise


def _is_part(written: list[Record], said: list[Record], first: int, last: int) -> bool:
    """Whether records stand in a row among all, from `first` or before it on, to `last` or behind."""
    begins = range(max(last - len(written), 0), first + 1)
    return any(said[begin : begin + len(written)] == written for begin in begins)


def _lag(status: dict[str, object], name: str) -> int:
    sinks = status["sinks"]
    assert isinstance(sinks, list)
    return next(int(one["lag"]) for one in sinks if one["sink"] == name)


def kill(scene: Scene, rng: Random) -> None:
    """SIGKILL for the whole service, the JVM or a worker, whatever is being done."""
    what = rng.choice(["service", "service", "JVM", "worker"])
    scene.happened[f"SIGKILL of the {what}" if what != "worker" else "SIGKILL of a worker"] += 1
    service = scene.service
    if what == "service":
        with suppress(ProcessLookupError):
            service.send(signal.SIGKILL, group=True)
        return
    below = [one for one in service.below() if ("java" in one.command) == (what == "JVM")]
    for process in below[-1:]:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
