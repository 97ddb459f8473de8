"""The scene of a soak: a service, streams that go on, queries that stand, and what they must say."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.soak.feeds import Feed, FileFeed, TopicFeed
from tests.soak.query_kinds import QueryKind, every_row
from tests.soak.samples import Sampler, WaitWatch
from tests.soak.standing_query import StandingQuery
from tests.soak.truth import Truth
from tests.support.service_process import ServiceProcess

_TICK_SECONDS = 0.5
DRIVER_MEMORY = "1g"
KEPT = "8MB"
_OPTIONS = ("--master", "local[1]", "--buckets", "2", "--depth", "2", "--keep", KEPT)
_WATCHED = "watched"


class Scene:
    """Everything that takes part, in one folder; with `servers` one stream is a topic of that broker."""

    def __init__(self, folder: Path, seed: int, servers: str | None, most_rows: int) -> None:
        self.folder, self.rng, self._most_rows = folder, Random(seed), most_rows
        self.numbers = count(1)  # for names that are used once
        self.happened: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.compared: Counter[str] = Counter()  # rows, by kind of query
        self.checks = 0
        options = ("--sink-root", str(folder), *_brokers(servers), *_OPTIONS)
        self.service = ServiceProcess(folder, *options, SEINE_DRIVER_MEMORY=DRIVER_MEMORY)
        self.truth = Truth()
        self.feeds: dict[str, Feed] = {}
        self.queries: dict[str, StandingQuery] = {}
        self._past_rows = 0  # of streams that are gone
        self._turn = threading.RLock()  # held while something is written
        self._silent: set[str] = set()  # topics to which nothing is written now
        self._ids = count(1)
        self._instant = 0
        self._closed = threading.Event()
        for feed in self._first_feeds(servers):
            self.add_feed(feed)
        watched = self.register(every_row(self.feeds["g"]), _WATCHED)
        self.watch = WaitWatch(self.service.state, _WATCHED, watched.position)
        self.sampler = Sampler(self.service, lambda: self._past_rows + sum(map(_lines, self.feeds.values())))
        self._writer = threading.Thread(target=self._write, daemon=True)
        for thread in (self._writer, self.watch, self.sampler):
            thread.start()

    def _first_feeds(self, servers: str | None) -> list[Feed]:
        feeds: list[Feed] = [
            FileFeed(self.folder, "g", 40, 3, Random(self.rng.random())),
            FileFeed(self.folder, "h", 25, 0, Random(self.rng.random())),
        ]
        if servers is not None:
            feeds.append(TopicFeed(servers, "t", 30, Random(self.rng.random())))
        return feeds

    def _write(self) -> None:
        while not self._closed.wait(_TICK_SECONDS):
            with self._turn:
                self._instant += 1
                for feed in (one for one in self.feeds.values() if one.name not in self._silent):
                    written = feed.tick(self._instant, self._ids, self._most_rows)
                    if feed.name == "g":
                        self.watch.written.update(written)

    @property
    def instant(self) -> int:
        """The largest time that was written."""
        return self._instant

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Nothing is written within this."""
        with self._turn:
            yield

    def change(self, script: str) -> None:
        """Carry out a script."""
        self.service.change(script)

    def add_feed(self, feed: Feed) -> None:
        """Declare a stream and let it go on."""
        self.change(feed.script)
        with self._turn:
            self.truth.add(feed)
            self.feeds[feed.name] = feed

    def remove_feed(self, feed: FileFeed) -> None:
        """Drop a stream with all that reads it."""
        for query in [one for one in self.queries.values() if feed in one.kind.streams]:
            self.drop(query)
        with self._turn:
            del self.feeds[feed.name]
            self._past_rows += feed.lines
        self.change(f"DROP STREAM {feed.name};")
        feed.remove()
        self.truth.drop(feed)

    def register(self, kind: QueryKind, name: str | None = None) -> StandingQuery:
        """Register a query under a new name."""
        name = name or f"q{next(self.numbers)}"
        with self.birth([kind]):
            self.change(f"CREATE QUERY {name} {kind.text};")
            return self.follow(name, kind)

    @contextmanager
    def birth(self, kinds: Sequence[QueryKind]) -> Iterator[None]:
        """Within this queries begin; a topic that they read is silent, since its arrivals are not counted.

        It stays so until the entries that were cut before are done: these read what comes later, too.
        """
        topics = {feed.name for kind in kinds for feed in kind.streams if isinstance(feed, TopicFeed)}
        with self._turn:
            self._silent |= topics
        for name in topics:
            self._wait_for({name: self.feeds[name].lines})
        yield
        if topics:
            self._wait_for_delivery()
        self._silent -= topics

    def follow(self, name: str, kind: QueryKind) -> StandingQuery:
        """Compare a query that was registered or resumed from now on."""
        since = self.listed(name)["since"]
        topics = {feed.name: feed.admitted for feed in kind.streams if isinstance(feed, TopicFeed)}
        self.queries[name] = StandingQuery(name, kind, since["streams"] | topics, str(since["results"]))
        return self.queries[name]

    def drop(self, query: StandingQuery) -> None:
        """Drop a query; what it has said since the last check is not looked at."""
        self.change(f"DROP QUERY {query.name};")
        self.forget(query)

    def forget(self, query: StandingQuery) -> None:
        self.compared[query.kind.kind] += query.compared
        del self.queries[query.name]

    def listed(self, name: str) -> dict[str, Any]:
        """What the service says of a query."""
        queries = self.service.ask(lambda client: client.queries())
        return next(one for one in queries if one["query"] == name)

    def streams(self) -> dict[str, dict[str, Any]]:
        """What the service says of its streams."""
        return {one["stream"]: one for one in self.service.ask(lambda client: client.streams())}

    def settle(self) -> int:
        """Wait until all that is written is admitted and delivered; before which instant all is complete."""
        with self._turn:
            lines = {feed.name: feed.lines for feed in self.feeds.values()}
        self._wait_for(lines)
        streams = self.streams()
        marks = [one["watermark"] for name, one in streams.items() if name in lines]
        self._wait_for_delivery()
        return -1 if None in marks else min(marks)

    def _wait_for_delivery(self) -> None:
        """Wait until the entries that are written by now are done."""
        written = self.service.ask(lambda client: client.status())["written"]
        self.service.wait("all is delivered", lambda client: bool(client.status()["entry"] >= written))

    def _wait_for(self, lines: dict[str, int]) -> None:
        self.service.wait(
            f"{lines} lines are admitted",
            lambda client: all(_read(one) >= lines.get(one["stream"], 0) for one in client.streams()),
        )

    def check(self) -> None:
        """Compare what every query has said since the last time with what it must say."""
        high = self.settle()
        with self._turn:
            for feed in self.feeds.values():
                self.truth.follow(feed)
                assert high <= feed.watermark, (
                    f"{feed.name} is at {feed.watermark}, and the service at {high}"
                )
        for query in list(self.queries.values()):
            self.patiently(lambda query=query: query.read(self.service.state))  # type: ignore[misc]
            self.wrong += query.compare(self.truth, high)
        self.checks += 1

    def patiently(self, act: Callable[[], Any]) -> Any:
        """Do something over HTTP, if need be after the service has come back."""

        def ask(client: object) -> Any:
            try:
                return act()
            except ValueError as error:  # what a killed process had half written
                raise OSError(str(error)) from error

        return self.service.ask(ask)

    def tidy(self) -> None:
        """Put files aside that are being read, and delete records that were."""
        streams = self.streams()
        with self._turn:
            for feed in self.feeds.values():
                if isinstance(feed, FileFeed):
                    self.happened["rotated file"] += feed.rotate(_read(streams[feed.name]))
                elif isinstance(feed, TopicFeed):
                    feed.forget(_read(streams[feed.name]))

    def close(self) -> int:
        """End it in good order; the status of the service."""
        self.check()
        self._closed.set()
        self._writer.join()
        self.sampler.close()
        self.watch.close()
        for query in list(self.queries.values()):
            self.forget(query)
        failed = [
            one for one in self.service.ask(lambda client: client.queries()) if one["state"] == "failed"
        ]
        self.wrong += [f"{one['query']} failed: {one['failure']}" for one in failed]
        return self.service.stop()


def _brokers(servers: str | None) -> tuple[str, ...]:
    return () if servers is None else ("--source-host", servers)


def _read(stream: dict[str, Any]) -> int:
    """The lines of a stream that were admitted or refused."""
    return int(stream["position"]["arrivals"] + stream["refused"]["dead"])


def _lines(feed: Feed) -> int:
    return feed.lines
