"""Queries that begin with history: each reports what one does that was fed with these tuples from the start.

The service is run by hand. Some queries want the tuples that windows still hold, others all that is retained,
and others nothing of the past. The service is closed, or left in the middle of a replay, and opened again.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.errors import SeineError
from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE
from tests.support.seeds import seeds

WINDOWS = {"s": 8, "t": 5, "n": 9}
STREAMS = {
    name: f"CREATE STREAM {name} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {window}"
    f"{' RETRACTABLE' if name == 'n' else ''} FROM '{name}.jsonl';"
    for name, window in WINDOWS.items()
}
END = 1000  # a line of this time at the end of every stream makes all before it final
PLENTY = RetentionLimit(bytes=1 << 40)

QUERIES = (
    ("s", "SELECT k, v FROM s WHERE v > {d}"),
    ("st", "SELECT s.v AS a, t.v AS b FROM s, t WHERE s.k = t.k AND s.v > {d}"),
    ("s", "SELECT a.ts AS x, b.ts AS y FROM s a, s b WHERE a.k = b.k AND a.ts < b.ts"),
    ("s", "SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top FROM s GROUP BY k"),
    ("st", "SELECT COUNT(*) AS n FROM s, t WHERE s.k = t.k"),
    ("s", "SELECT DISTINCT k FROM s WHERE v > {d}"),
    ("st", "SELECT k FROM s WHERE v > {d} UNION SELECT k FROM t"),
    ("st", "SELECT k FROM s EXCEPT SELECT k FROM t WHERE v > {d}"),
    ("n", "SELECT k, v FROM n"),
    ("n", "SELECT k, COUNT(*) AS c, MIN(v) AS least FROM n GROUP BY k"),
    ("ns", "SELECT n.v AS a, s.v AS b FROM n, s WHERE n.k = s.k"),
)


@dataclass(frozen=True)
class Life:
    """A query: the streams that it reads, what it began with, and the lines that had been admitted."""

    streams: str
    sql: str
    history: str
    before: dict[str, int]


@dataclass
class Story:
    """A service and all that happened to it."""

    folder: Path
    batch_rows: int | None = None
    lines: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in STREAMS})
    lives: dict[str, Life] = field(default_factory=dict)
    clock: int = 1
    restarts: int = 0

    def __post_init__(self) -> None:
        for name in STREAMS:
            (self.folder / f"{name}.jsonl").touch()
        self.open()
        self.host = LocalHost(self.service.deployment)
        self.register("".join(STREAMS.values()))

    def open(self) -> None:
        options = ServiceOptions(
            batch_rows=self.batch_rows, buckets=2, depth=3, retain=PLENTY, reach=EVERYWHERE
        )
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)

    def restart(self) -> None:
        """Close the service and open it again; the state of its tasks outlives that."""
        self.service.close()
        self.open()
        self.host._deployment = self.service.deployment
        self.restarts += 1

    def register(self, text: str) -> None:
        self.service.registrar.register(text, file="x.sql", folder=str(self.folder))

    def begin(self, streams: str, sql: str, history: str) -> None:
        name = f"q{len(self.lives)}"
        wish = f" WITH (history = '{history}')" if history else ""
        self.register(f"CREATE QUERY {name}{wish} AS {sql};")
        position = self.service.registrar.view.registered[name].position
        self.lives[name] = Life(streams, sql, history, dict(position.streams))

    def feed(self, stream: str, lines: list[str]) -> None:
        self.lines[stream] += lines
        with (self.folder / f"{stream}.jsonl").open("a") as file:
            file.writelines(lines)

    def run(self, most: int = 1 << 30) -> None:
        while most and self.service.driver.run_some(self.host.run):
            most -= 1

    def end(self) -> None:
        for stream in STREAMS:
            self.feed(stream, [_line(-1, 0, END)])
        self.run()

    def records(self, name: str) -> Counter[str]:
        """What a query reported of the time before the end."""
        page = read_records(self.service.sink.index, name, 0, 1 << 30)
        parsed = [json.loads(line) for line in page.lines.splitlines()]
        return Counter(_whole(record) for record in parsed if (record["t_start"] or 0) < END)


@seeds(6)
def test_queries_begin_with_their_history(seed: int) -> None:
    rng = Random(seed)
    pool = rng.sample(QUERIES, 4)
    with tempfile.TemporaryDirectory() as name:
        story = Story(Path(name), rng.choice([None, 2, 7]))
        for _ in range(rng.randint(12, 20)):
            _step(story, rng, pool)
        story.end()
        got = {one: story.records(one) for one in story.lives}
        story.service.close()
        expected = {one: _fresh(story, one) for one in story.lives}
    for one, life in story.lives.items():
        assert got[one] == expected[one], (one, life, got[one] - expected[one], expected[one] - got[one])
    assert any(expected.values()) and story.restarts


def _step(story: Story, rng: Random, pool: list[tuple[str, str]]) -> None:
    what = rng.random()
    if what < 0.3:
        streams, sql = rng.choice(pool)
        story.begin(
            streams, sql.format(d=rng.randint(0, 2)), rng.choice(["", "window", "window", "retained"])
        )
        if rng.random() < 0.5:
            story.run(rng.randint(0, 2))  # and perhaps it is left in the middle
            story.restart()
    elif what < 0.4:
        story.restart()
    else:
        for _ in range(rng.randint(1, 6)):
            story.clock += rng.randint(0, 2)
            _feed_one(story, rng)
        if rng.random() < 0.8:
            story.run()


def _feed_one(story: Story, rng: Random) -> None:
    stream = rng.choice(list(STREAMS))
    line = _line(rng.randrange(3), rng.randrange(4), story.clock)
    if stream == "n" and story.lines["n"] and rng.random() < 0.4:
        gone = json.loads(rng.choice(story.lines["n"]))
        line = json.dumps({"@op": "-", **{k: gone[k] for k in "kv"}, "ts": story.clock}) + "\n"
    story.feed(stream, [line])


def _fresh(story: Story, name: str) -> Counter[str]:
    """What the query reports that was there from the start and was fed with these lines alone."""
    life = story.lives[name]
    with tempfile.TemporaryDirectory() as folder:
        alone = Story(Path(folder))
        alone.begin(life.streams, life.sql, "")
        for stream in life.streams:
            alone.feed(stream, _counting(story, life, stream))
        alone.run()
        got = alone.records("q0")
        alone.service.close()
        return got


def _counting(story: Story, life: Life, stream: str) -> list[str]:
    """The lines of a stream that count for a query."""
    lines, before = story.lines[stream], life.before.get(stream, 0)
    past, later = lines[:before], lines[before:]
    if life.history == "retained":
        return lines
    alive, gone = _lives(past, WINDOWS[stream]), _instant(story, life)
    kept = [] if life.history == "" else [i for i, end in alive.items() if end > gone]
    negative = [i for i, line in enumerate(past) if "@op" in line and json.loads(line)["ts"] > gone]
    if life.history == "window":
        return [past[i] for i in sorted([*kept, *negative])] + later
    # from its registration on: what is meant for a tuple from before ends no younger one
    targets = _targets(lines, WINDOWS[stream])
    return [line for i, line in enumerate(lines) if i >= before and targets.get(i, before) >= before]


def _instant(story: Story, life: Life) -> float:
    """Up to where all streams of a query had come."""
    times = [[json.loads(x)["ts"] for x in story.lines[s][: life.before.get(s, 0)]] for s in life.streams]
    return min(max(one, default=float("-inf")) for one in times)


def _targets(lines: list[str], window: int) -> dict[int, int]:
    """Which line each deletion is meant for: the oldest that equals it and is alive; -1 for none."""
    targets: dict[int, int] = {}
    for i, line in enumerate(lines):
        tuple_ = json.loads(line)
        if tuple_.get("@op") != "-":
            continue
        fits = [
            j
            for j, other in enumerate(lines[:i])
            if "@op" not in other and j not in targets.values() and _equal(json.loads(other), tuple_, window)
        ]
        targets[i] = fits[0] if fits else -1
    return targets


def _equal(one: dict[str, Any], deletion: dict[str, Any], window: int) -> bool:
    return all(one[k] == deletion[k] for k in "kv") and deletion["ts"] < one["ts"] + window


def _lives(lines: list[str], window: int) -> dict[int, int]:
    """When the life of each tuple ends, by its line."""
    ends = {i: json.loads(x)["ts"] + window for i, x in enumerate(lines) if "@op" not in x}
    for i, target in _targets(lines, window).items():
        if target >= 0:
            ends[target] = json.loads(lines[i])["ts"]
    return ends


def _line(key: int, value: int, ts: int) -> str:
    return json.dumps({"k": key, "v": value, "ts": ts}) + "\n"


def _whole(record: dict[str, Any]) -> str:
    return json.dumps([record["op"], record["t_start"], record["t_end"], record["row"]], sort_keys=True)


def test_history_is_refused_where_there_is_none(tmp_path: Path) -> None:
    story = Story(tmp_path)
    story.register("CREATE STREAM u (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';")
    with pytest.raises(SeineError, match="stream u has no window"):
        story.begin("u", "SELECT k FROM u", "window")
    story.service.close()
    nothing = Service(
        ServiceFolder(str(tmp_path / "state")), ServiceOptions(buckets=2, depth=3, reach=EVERYWHERE)
    )
    text = "CREATE QUERY q WITH (history = 'window') AS SELECT k FROM s;"
    with pytest.raises(SeineError, match="this service retains nothing"):
        nothing.registrar.register(text, file="x.sql", folder=str(tmp_path))
    assert not nothing.registrar.view.registered
    nothing.close()
